"""Every table, by every reader, against the events."""

import random
import warnings

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset as ds
import pytest

import trackway
from conftest import corpus

#: Tables with one row per event of a kind, as `stats` counts them.
COUNTED = {"traps": "trap", "contexts": "context", "times": "time", "marks": "mark", "gaps": "gap"}


def steps(trace):
    """The instructions one by one: another way through the library than the tables."""
    try:
        return list(trace)
    except trackway.TraceError as error:
        # Flow formats without their program.
        assert "no program" in str(error)
        return None


def test_tables_equal_the_events(golden):
    compare_with_events(golden)


def compare_with_events(trace):
    counts = trace.stats()
    events = counts["events"]
    for table, name in COUNTED.items():
        assert trace.to_arrow(table).num_rows == events.get(name, 0), table
    walked = steps(trace)
    if walked is None:
        return
    rows = trace.to_arrow("instructions")
    assert rows.num_rows == len(walked) == counts["instructions"]["total"]
    assert sum(pc or 0 for pc in rows["pc"].to_pylist()) == sum(step.pc or 0 for step in walked)
    accesses = [(step, access) for step in walked for access in step.memory]
    memory = trace.to_arrow("memory")
    memory = memory.filter(pa.compute.invert(memory["state"]))
    assert memory.num_rows == len(accesses)
    assert sum(memory["size"].to_pylist()) == sum(access.size for _, access in accesses)
    known = {(step.source, step.number): step for step in walked}
    pick = random.Random(1)
    for n in pick.sample(range(rows.num_rows), min(200, rows.num_rows)):
        row = {name: rows[name][n].as_py() for name in ("source", "number", "pc", "retired", "byte_offset")}
        step = known[row["source"], row["number"]]
        assert (step.pc, step.retired, step.byte_offset) == (row["pc"], row["retired"], row["byte_offset"])
    for n in pick.sample(range(len(accesses)), min(200, len(accesses))):
        step, access = accesses[n]
        row = {name: memory[name][n].as_py() for name in memory.column_names}
        assert (row["source"], row["number"]) == (step.source, step.number)
        data = row["data"] if row["wide"] is None else row["wide"]
        assert (row["kind"], row["address"], row["data"] if data is None else data) == (
            access.kind,
            access.address,
            access.data,
        )
    # State between instructions does not belong to a step.
    registers = trace.to_arrow("registers")
    registers = registers.filter(pa.compute.not_equal(registers["role"], "state"))
    written = [entry for step in walked for entry in step.registers if entry.role != "state"]
    assert registers.num_rows == len(written)
    for n in pick.sample(range(len(written)), min(200, len(written))):
        value = registers["value"][n].as_py()
        value = registers["wide"][n].as_py() if value is None else value
        assert (registers["register"][n].as_py(), value) == (written[n].name, written[n].value)


def plain(rows):
    """A table with text instead of dictionaries, which readers make as they like."""
    fields = [
        pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in rows.schema
    ]
    return rows.cast(pa.schema(fields)).combine_chunks()


def by_all_readers(trace, folder):
    """Every table as Parquet, read back by pyarrow, DuckDB and Polars."""
    out = folder / "out"
    trace.export(out.as_posix() + "/")
    for table in trackway.tables():
        ours = plain(trace.to_arrow(table))
        pattern = (out / table / "*.parquet").as_posix()
        theirs = plain(ds.dataset(out / table, format="parquet").to_table())
        assert ours.equals(theirs.cast(ours.schema)), table
        sql = duckdb.sql(f"select * from read_parquet('{pattern}')").to_arrow_table()
        assert ours.num_rows == sql.num_rows and same(ours, sql), table
        frame = polars.read_parquet(pattern)
        assert frame.height == ours.num_rows and same(ours, frame.to_arrow()), table


def same(ours, theirs):
    """Equal values; the types of texts and bytes have variants."""
    return all(
        ours[name].to_pylist() == [value for value in theirs[name].to_pylist()] for name in ours.column_names
    )


def has_columns(sort, folder):
    """Was the package built with Parquet?"""
    try:
        sort.export(folder / "probe.parquet")
    except trackway.UsageError:
        return False
    return True


def test_parquet_by_pyarrow_duckdb_and_polars(golden, sort, tmp_path):
    if not has_columns(sort, tmp_path):
        pytest.skip("built without Parquet")
    by_all_readers(golden, tmp_path)


def test_corpus(sort, tmp_path):
    traces = corpus()
    if not traces:
        pytest.skip("TRACKWAY_CORPUS is not set")
    files = has_columns(sort, tmp_path)
    compared = 0
    for n, trace in enumerate(traces):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", trackway.TraceWarning)
            try:
                count = trace.info["instructions"]
            except trackway.TraceError:
                continue
            # A loop in Python over more takes minutes: those are compared by their counts below.
            if count > 500_000:
                total = sum(batch.num_rows for batch in trace.batches(columns=["number"]))
                assert total in (0, count) or trace.isa.startswith("a")
                continue
            try:
                compare_with_events(trace)
            except trackway.TraceError:
                continue
            if files and count < 100_000:
                folder = tmp_path / str(n)
                folder.mkdir()
                by_all_readers(trace, folder)
        compared += 1
    print(f"{compared} of {len(traces)} traces of the corpus compared")
    assert compared > 20


def test_upper_half_of_the_address_space(two_harts):
    high = 0xFFFF_FFFF_8000_1000
    rows = two_harts.to_arrow("memory", ["address"])["address"].to_pylist()
    assert high in rows
    signed = two_harts.to_arrow("memory", ["address"], integers="signed")["address"].to_pylist()
    assert high - (1 << 64) in signed
    assert high in two_harts.to_arrow("memory", ["address"], integers="decimal")["address"].to_pylist()
    assert high in two_harts.to_polars("memory", ["address"])["address"].to_list()
    assert high in two_harts.to_pandas("memory", ["address"], exact=True)["address"].tolist()
    found = trackway.sql("select max(address) from x_memory", x=two_harts).fetchall()
    assert found == [(high,)]


def test_columns_come_in_the_order_asked_for(sort):
    rows = sort.to_arrow(columns=["pc", "number"])
    assert rows.column_names == ["pc", "number"]
    assert sort.batches(columns=["pc", "number"]).reader().read_all().column_names == ["pc", "number"]
    assert polars.DataFrame(sort.batches(columns=["pc", "number"])).columns == ["pc", "number"]


def test_numbers_are_not_copied(sort):
    """The buffer of a column is the one that Rust filled: aligned for Arrow, and shared with the batch."""
    native = next(iter(sort.batches(columns=["number"])._native))
    one, other = pa.record_batch(native), pa.record_batch(native)
    assert one["number"].buffers()[1].address == other["number"].buffers()[1].address


def test_positions(sort):
    whole = sort.to_arrow(columns=["number", "pc"])
    part = sort.to_arrow(columns=["number", "pc"], start=100, stop=200)
    assert part.equals(whole.slice(100, 100).combine_chunks()) or part.to_pylist() == whole.slice(100, 100).to_pylist()
    assert sort.to_arrow(start="end-5").num_rows == 5


def test_items_are_the_trace(golden):
    for table in ("instructions", "memory", "traps", "meta"):
        items = golden.plan(3)
        rows = [row for item in items for batch in trackway.read_item(item, table) for row in batch.to_pylist()]
        key = str
        assert sorted(rows, key=key) == sorted(golden.to_arrow(table).to_pylist(), key=key)


def test_schema_is_that_of_the_page(root):
    page = (root / "docs/data.md").read_text()
    for table in trackway.tables():
        for name in trackway.schema(table).names:
            assert f"| `{name}` |" in page.split(f"### `{table}`")[1].split("### `")[0]
