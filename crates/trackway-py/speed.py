"""Speed and memory of the package, beside the same walk in Rust and beside text.

    python speed.py TRACE [--elf PROGRAM] [--program PATH/TO/trackway]

Times are the best of three, in seconds; ratios count on a machine that is used by others too.
"""

import argparse
import resource
import subprocess
import sys
import time

import pandas
import pyarrow.csv
import trackway

#: Instructions that are read as JSON lines: the whole would take minutes.
LINES = 200_000
COLUMNS = ["number", "pc", "class", "function", "taken"]


def best(work, passes=3):
    times = []
    for _ in range(passes):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    given = argparse.ArgumentParser()
    given.add_argument("trace")
    given.add_argument("--elf")
    given.add_argument("--program")
    given = given.parse_args()
    trace = trackway.open(given.trace, elf=given.elf)
    rows = trace.count()
    print(f"{rows} instructions")
    in_rust = best(lambda: trace.count(columns=COLUMNS))
    print(f"walk in Rust: {in_rust:.2f} s, {rows / in_rust / 1e6:.1f} M rows/s")
    batches = best(lambda: [None for _ in trace.batches(columns=COLUMNS)])
    print(f"batches in Python: {batches:.2f} s, {batches / in_rust:.2f} times the walk in Rust")
    print(f"memory so far: {megabytes():.0f} MB")
    frame = trace.to_pandas(columns=COLUMNS)
    group = best(lambda: frame.groupby("class", observed=True)["pc"].agg(["size", "nunique"]))
    whole = best(lambda: trace.to_pandas(columns=COLUMNS), 1)
    print(f"pandas: frame {whole:.2f} s, group-by {group:.2f} s")
    if given.program:
        line = [given.program, "export", given.trace, "-", "--as", "csv", "-q", "--max-size", "100000"]
        line += ["--columns", ",".join(COLUMNS), *(["--elf", given.elf] if given.elf else [])]

        def csv():
            with subprocess.Popen(line, stdout=subprocess.PIPE) as child:
                pyarrow.csv.read_csv(child.stdout)

        text = best(csv, 1)
        print(f"CSV through a pipe: {text:.2f} s, {text / whole:.1f} times")
        line = [given.program, "dump", given.trace, "--jsonl", "-q", "--to", str(min(LINES, rows))]
        line += ["--elf", given.elf] if given.elf else []

        def jsonl():
            with subprocess.Popen(line, stdout=subprocess.PIPE) as child:
                pandas.read_json(child.stdout, lines=True)

        text = best(jsonl, 1) / min(LINES, rows)
        print(f"dump --jsonl into pandas: {text * 1e6:.1f} s per million, {text * rows / whole:.1f} times")
    return 0


sys.exit(main())
