"""Every table, by every reader, against the events."""

import random
import shutil
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


def by_sums(trace, folder):
    """Every table as Parquet: counts and sums by three readers, and some instructions, are those of the events."""
    out = folder / "out"
    trace.export(out.as_posix() + "/")
    for table in trackway.tables():
        pattern = (out / table / "*.parquet").as_posix()
        frame, files = polars.scan_parquet(pattern), ds.dataset(out / table, format="parquet")
        schema = files.schema
        names = [field.name for field in schema if pa.types.is_unsigned_integer(field.type)]
        # Rows, and for each column the values that are known and their sum.
        events = [0] * (1 + 2 * len(names))
        arrow = list(events)
        for total, batches in ((events, trace.batches(table, names)), (arrow, files.to_batches(columns=names))):
            for batch in batches:
                total[0] += batch.num_rows
                for n, name in enumerate(names):
                    column = pa.compute.drop_null(pa.array(batch[name])).cast(pa.uint64())
                    total[1 + 2 * n] += len(column)
                    high = pa.compute.sum(pa.compute.shift_right(column, pa.scalar(32, pa.uint64()))).as_py() or 0
                    low = pa.compute.bit_wise_and(column, pa.scalar(0xFFFF_FFFF, pa.uint64()))
                    total[2 + 2 * n] += (high << 32) + (pa.compute.sum(low).as_py() or 0)
        assert arrow == events, table
        asked = "".join(f", count({name}), sum({name})" for name in names)
        [row] = duckdb.sql(f"select count(*){asked} from read_parquet('{pattern}')").fetchall()
        assert [int(value or 0) for value in row] == events, table
        wide = [polars.col(name).cast(polars.UInt64) for name in names]
        asked = [polars.len().alias("rows")]
        for n, column in enumerate(wide):
            asked += [column.count().alias(f"c{n}"), (column // 2**32).sum().alias(f"h{n}")]
            asked += [(column % 2**32).sum().alias(f"l{n}")]
        row = frame.select(asked).collect().row(0, named=True)
        sums = [(row[f"c{n}"], (row[f"h{n}"] << 32) + row[f"l{n}"]) for n in range(len(names))]
        assert [row["rows"], *(value for pair in sums for value in pair)] == events, table
    # Numbers count per source.
    count = trace.count() if len(trace.info.get("sources", [])) < 2 else 0
    for n in random.Random(1).sample(range(count), min(5, count)):
        # The instruction after it says where an indirect jump went.
        ours = plain(trace.to_arrow(start=n, stop=n + 2)).to_pylist()[0]
        read = f"select * from read_parquet('{(out / 'instructions' / '*.parquet').as_posix()}') where number = {n}"
        assert plain(duckdb.sql(read).to_arrow_table()).to_pylist() == [ours]


def test_corpus(sort, tmp_path):
    traces = corpus()
    if not traces:
        pytest.skip("TRACKWAY_CORPUS is not set")
    files = has_columns(sort, tmp_path)
    compared, formats = 0, set()
    for n, trace in enumerate(traces):
        folder = tmp_path / str(n)
        folder.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", trackway.TraceWarning)
            try:
                # A loop in Python over more takes minutes: those are compared by their counts and sums.
                if trace.info["instructions"] <= 500_000:
                    compare_with_events(trace)
                if files:
                    by_sums(trace, folder)
            except trackway.TraceError:
                # It ends in damage.
                continue
        shutil.rmtree(folder)
        compared += 1
        formats.add(trace.info["format"])
    print(f"{compared} of {len(traces)} traces of the corpus compared: {sorted(formats)}")
    assert compared > 50 and len(formats) >= 7


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
