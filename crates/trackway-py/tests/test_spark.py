"""Spark with two executors, each a process of its own."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import trackway
from conftest import TWO_HARTS

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("there is no java", allow_module_level=True)


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    # Workers find the package where this process found it.
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("trackway")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.executor.memory", "768m")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    from trackway.spark import TraceSource

    session.dataSource.register(TraceSource)
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path, root):
    """Traces of three formats."""
    for name, path in {"a.stf": "stf/sort/trace.stf", "b.tv": "tandem/sort/trace.tv", "c.spike": "spike/mix.spike"}.items():
        shutil.copy(root / "testdata" / path, tmp_path / name)
    (tmp_path / "d.spike").write_text(TWO_HARTS)
    return tmp_path


def one_machine(folder, table, column):
    sums = 0, 0
    for path in sorted(folder.iterdir()):
        rows = trackway.open(path).to_arrow(table, [column], integers="signed")[column].to_pylist()
        sums = sums[0] + len(rows), sums[1] + sum(row or 0 for row in rows)
    return sums


@pytest.mark.parametrize(("table", "column"), [("instructions", "pc"), ("memory", "address"), ("registers", "value")])
def test_sums_are_those_of_one_machine(spark, folder, table, column):
    frame = spark.read.format("trackway").option("table", table).option("parts", 2).load(f"{folder}/*")
    count = frame.count()
    # Exact, also where 64 bits overflow.
    total = frame.selectExpr(f"sum(cast({column} as decimal(38, 0))) as n").collect()[0].n
    assert (count, int(total)) == one_machine(folder, table, column)


def test_columns_and_types(spark, folder):
    read = spark.read.format("trackway").option("columns", "number,pc,mnemonic,gap_before")
    frame = read.load(f"{folder}/a.stf")
    assert frame.dtypes == [("number", "bigint"), ("pc", "bigint"), ("mnemonic", "string"), ("gap_before", "boolean")]
    assert frame.count() == 297
    decimal = read.option("integers", "decimal").load(f"{folder}/d.spike")
    assert dict(decimal.dtypes)["pc"] == "decimal(20,0)"
    assert int(decimal.agg({"pc": "max"}).collect()[0][0]) == 0xFFFF_FFFF_8000_0008


def test_upper_half(spark, folder):
    frame = spark.read.format("trackway").option("table", "memory").load(f"{folder}/d.spike")
    assert [row.hex for row in frame.where("address < 0").selectExpr("hex(address) as hex").collect()] == [
        "FFFFFFFF80001000"
    ]


def test_filters(spark, folder):
    frame = spark.read.format("trackway").option("filters", "true").load(f"{folder}/a.stf")
    rows = frame.where("number >= 100 and class = 'load'").select("number", "mnemonic").collect()
    sort = trackway.open(folder / "a.stf")
    theirs = [row for row in sort.to_arrow(columns=["number", "class"]).to_pylist() if row["class"] == "load"]
    assert len(rows) == sum(row["number"] >= 100 for row in theirs) > 0


def test_statistics_are_the_bytes_of_the_program(spark, folder):
    from trackway import spark as ours

    counted = ours.stats(ours.items(spark, f"{folder}/*", 3))
    assert sorted(counted) == sorted(path.as_posix() for path in folder.iterdir())
    from trackway._ask import run

    for file, line in counted.items():
        whole, _ = run("stats", file, "--json", "--quiet")
        assert line == f"{whole[-1]}\n".encode()
        program = os.environ.get("TRACKWAY_PROGRAM")
        if program:
            assert subprocess.run([program, "stats", file, "--json"], capture_output=True).stdout == line


def executors():
    """Process ids of the executors of this session: descendants of this process that run Spark's executor."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                lines[int(entry.name)] = (entry / "cmdline").read_text()
            except OSError:
                continue

    def is_ours(pid):
        while pid in parents:
            if pid == os.getpid():
                return True
            pid = parents[pid]
        return False

    return [pid for pid, line in lines.items() if "CoarseGrainedExecutorBackend" in line and is_ours(pid)]


def test_an_executor_that_is_killed_changes_nothing(spark, folder):
    frame = spark.read.format("trackway").option("parts", 3).load(f"{folder}/*")
    whole = one_machine(folder, "instructions", "pc")
    victims = executors()
    assert len(victims) == 2

    def slow(batches):
        # Long enough to be killed in the middle.
        for batch in batches:
            time.sleep(2)
            yield batch

    killed = []

    def kill():
        time.sleep(3)
        os.kill(victims[0], signal.SIGKILL)
        killed.append(victims[0])

    killer = threading.Thread(target=kill)
    killer.start()
    rows = frame.select("pc").mapInArrow(slow, "pc long").collect()
    killer.join()
    assert killed
    assert (len(rows), sum(row.pc or 0 for row in rows)) == whole
