"""Methods of a trace, errors, interrupts, threads."""

import doctest
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import trackway


@pytest.mark.parametrize("name", ["trackway", "trackway._trace", "trackway._sql", "trackway._items"])
def test_examples_of_docstrings(name):
    module = importlib.import_module(name)
    globs = {"trackway": trackway, "Path": Path}
    options = doctest.NORMALIZE_WHITESPACE
    if not has_parquet():
        # The example of export needs it.
        trackway.Trace.export.__doc__ = ""
    failed, tried = doctest.testmod(module, extraglobs=globs, optionflags=options)
    assert tried > 0 and failed == 0


def has_parquet():
    try:
        trackway.open("testdata/stf/sort/trace.stf").export("/dev/null/x.parquet")
    except trackway.UsageError:
        return False
    except trackway.TraceError:
        return True
    return True


def test_types():
    mypy = pytest.importorskip("mypy.api")
    package = Path(__file__).resolve().parents[1]
    config = (package / "pyproject.toml").as_posix()
    out, err, code = mypy.run(["--config-file", config, (package / "python/trackway").as_posix()])
    assert code == 0, out + err


def program():
    """The program, where it is built: results are compared with its output."""
    path = os.environ.get("TRACKWAY_PROGRAM", "target/debug/trackway")
    return Path(path) if Path(path).exists() else None


@pytest.mark.parametrize("command", ["info", "stats", "state", "verify", "diff"])
def test_results_are_those_of_the_program(sort, command):
    if program() is None:
        pytest.skip("the program is not built: set TRACKWAY_PROGRAM")
    words = {"state": ["--at", "20"], "diff": ["testdata/tandem/sort/trace.tv"]}.get(command, [])
    elf = "--elf-a" if command == "diff" else "--elf"
    line = [program(), command, sort.path, *words, elf, "programs/riscv/sort.elf", "--json", "-q"]
    theirs = json.loads(subprocess.run(line, capture_output=True, check=False).stdout)
    theirs.pop("trackway")
    ours = {
        "info": lambda: sort.info,
        "stats": lambda: sort.stats(),
        "state": lambda: sort.state(20),
        "verify": lambda: sort.verify(),
        "diff": lambda: sort.diff("testdata/tandem/sort/trace.tv"),
    }[command]()
    assert ours == theirs


def test_convert_and_diff(sort, tmp_path):
    done = sort.convert(tmp_path / "sort.tv", prove=True)
    assert done["proved"] is True
    assert {"fate": "kept", "what": "instructions", "count": 297} in done["ledger"]
    found = sort.diff(tmp_path / "sort.tv")
    assert found["counts"] == {"changed": 0, "inserted": 0, "deleted": 0}
    with pytest.raises(trackway.StrictError):
        trackway.open(sort.path, strict=True).convert(tmp_path / "strict.tv")
    assert not (tmp_path / "strict.tv").exists()


def test_slice(sort, tmp_path):
    done = sort.slice(tmp_path / "part.stf", 100, "end-100")
    assert trackway.open(done["outputs"][0]).info["instructions"] == 97


def test_export_for_a_simulator_and_in_parts(sort, tmp_path):
    done = sort.export(tmp_path / "sort.champsim", shape="champsim")
    assert done["records"] == 296 and (tmp_path / "sort.champsim").stat().st_size == 296 * 64
    assert any(entry["fate"] == "dropped" for entry in done["ledger"])
    sort.export(f"{tmp_path}/sort/", tables="gaps", shape="csv", parts=2)
    assert [path.name for path in (tmp_path / "sort/gaps").iterdir()] == ["source-0-part-00001.csv"]
    with pytest.raises(trackway.UsageError):
        sort.export(tmp_path / "sort.csv", parts=2)


def test_errors_have_their_place(sort, tmp_path):
    cut = tmp_path / "cut.stf"
    cut.write_bytes(Path(sort.path).read_bytes()[:-3])
    trace = trackway.open(cut)
    rows = []
    with pytest.raises(trackway.TraceError) as caught:
        rows.extend(trace.batches())
    # The rows before it came first.
    assert sum(batch.num_rows for batch in rows) > 250
    assert caught.value.offset is not None and caught.value.item and "cut.stf" in str(caught.value)
    with pytest.raises(trackway.TraceError) as caught:
        trace.stats()
    assert caught.value.offset is not None and caught.value.hint
    assert caught.value.result["instructions"]["total"] > 250
    with pytest.raises(trackway.TraceError):
        list(trace)


def test_wrong_arguments(sort, tmp_path):
    for wrong in (
        lambda: sort.batches("instruction"),
        lambda: sort.batches(columns=["adress"]),
        lambda: sort.batches(integers="roman"),
        lambda: sort.stats(by="colour"),
        lambda: sort.convert(tmp_path / "x.unknown"),
        lambda: trackway.open(sort.path, format="stff"),
        lambda: trackway.read_item("{}"),
        lambda: trackway.schema("nothing"),
    ):
        with pytest.raises(trackway.UsageError):
            wrong()
    with pytest.raises(trackway.TraceError):
        trackway.open("not/there.stf")
    with pytest.raises(trackway.TraceError):
        trackway.open("Cargo.toml")


def test_two_sources(two_harts):
    assert two_harts.sources == ["core 0", "core 1"]
    assert two_harts.to_arrow(columns=["source"])["source"].to_pylist() == [0, 0, 0, 1, 1, 1]
    one = trackway.open(two_harts.path, source="core 1")
    assert one.to_arrow().num_rows == 3
    with pytest.raises(trackway.UsageError):
        list(two_harts.batches(start=1))


def test_instructions(sort):
    walked = list(sort)
    assert len(walked) == 297 and walked[0].number == 0
    load = next(step for step in walked if step.memory)
    assert load.memory[0].kind == "read" and load.memory[0].size == 8
    assert any(register.role == "destination" for register in load.registers)
    assert "Instruction" in repr(load)


def test_a_reader_that_is_dropped_ends_its_thread(sort):
    before = threading.active_count(), len(os.listdir("/proc/self/task")) if Path("/proc/self/task").exists() else 0
    for _ in range(50):
        next(iter(sort.batches("registers")))
    for _ in range(100):
        if not before[1] or len(os.listdir("/proc/self/task")) <= before[1] + 1:
            return
        time.sleep(0.05)
    raise AssertionError("threads are left")


def test_many_threads_use_one_trace(sort):
    sums = []
    work = [threading.Thread(target=lambda: sums.append(sort.stats()["instructions"]["total"])) for _ in range(4)]
    [thread.start() for thread in work]
    [thread.join() for thread in work]
    assert sums == [297] * 4


CTRL_C = """
import os, signal, sys, threading, trackway
trace = trackway.open(sys.argv[1])
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        CALL
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("call", ["list(trace.batches())", "list(trace)", "trace.stats()", "trace.state('end')"])
def test_ctrl_c(sort, call):
    code = CTRL_C.replace("CALL", call)
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code, sort.path], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr
    assert time.monotonic() - begun < 60


def test_ctrl_c_ends_a_long_run():
    """In the middle of one call, which would take much longer."""
    folder = os.environ.get("TRACKWAY_CORPUS")
    if not folder:
        pytest.skip("TRACKWAY_CORPUS is not set")
    trace = trackway.open(Path(folder) / "stf/dhry_riscv.zstf")
    begun = time.monotonic()
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            trace.stats(analyses="all")
    assert time.monotonic() - begun < 60


def test_the_lock_is_free_while_decoding():
    """Another thread of Python runs while a trace is read."""
    folder = os.environ.get("TRACKWAY_CORPUS")
    if not folder:
        pytest.skip("TRACKWAY_CORPUS is not set")
    trace = trackway.open(Path(folder) / "stf/dhry_riscv.zstf")
    turns, ended = [0], threading.Event()

    def spin():
        while not ended.is_set():
            turns[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=spin)
    other.start()
    begun = time.monotonic()
    trace.stats()
    seconds = time.monotonic() - begun
    ended.set()
    other.join()
    assert turns[0] > 20 * seconds


def test_sql(sort, tmp_path):
    query = "select class, count(*) as n from x group by class order by n desc, class"
    rows = trackway.sql(query, x=sort).fetchall()
    frame = sort.to_pandas(columns=["class"])
    assert dict(rows) == frame["class"].value_counts().to_dict()
    joined = """
        select x.mnemonic, sum(m.size) from x join x_memory m using (source, number)
        where m.kind = 'read' and x.number >= 100 group by all order by all
    """
    [(mnemonic, size)] = trackway.sql(joined, x=sort.path).fetchall()
    memory = sort.to_pandas("memory", exact=True)
    assert (mnemonic, size) == ("ld", int(memory[(memory.kind == "read") & (memory.number >= 100)]["size"].sum()))
    assert trackway.sql("select count(*) from x where taken is null", x=sort).fetchall()[0][0] > 0


def test_sql_reads_only_what_it_needs(sort, monkeypatch):
    asked = []
    whole = trackway.Trace.batches
    monkeypatch.setattr(
        trackway.Trace,
        "batches",
        lambda self, table, columns, **more: asked.append(columns) or whole(self, table, columns, **more),
    )
    trackway.sql("select max(pc) from x where number > 10", x=sort).fetchall()
    assert sorted(asked[0]) == ["number", "pc"]
