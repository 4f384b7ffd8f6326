"""SQL through DuckDB, without a file in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from ._trace import PathLike, Trace, schema, tables

if TYPE_CHECKING:
    import duckdb


class TraceDataset(ds.Dataset):  # type: ignore[misc]
    """A table of a trace as a dataset of pyarrow: only the columns that a query needs are read.

    >>> trace = trackway.open("testdata/stf/sort/trace.stf")
    >>> data = trackway.TraceDataset(trace, "memory")
    >>> import pyarrow.compute as pc
    >>> data.to_table(columns=["address"], filter=pc.field("size") == 8).num_rows > 0
    True
    """

    def __init__(self, trace: Trace, table: str = "instructions") -> None:
        self._trace = trace
        self._table = table
        self._schema = schema(table)

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self._schema

    def scanner(
        self, columns: list[str] | None = None, filter: Any = None, **options: Any
    ) -> ds.Scanner:
        """Reads the columns that are asked for, and the rows that pass the filter."""
        wanted = self._schema.names if columns is None else list(columns)
        # Columns of the filter are read too, and dropped after it. Any column serves to count rows.
        named = set(re.findall(r"\w+", "" if filter is None else str(filter)))
        needed = [name for name in self._schema.names if name in named or name in wanted]
        needed = needed or self._schema.names[:1]
        batches = self._trace.batches(self._table, needed)
        return ds.Scanner.from_batches(
            iter(batches), schema=batches.schema, columns=wanted, filter=filter, **options
        )

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows as batches, with the arguments of :meth:`scanner`."""
        return self.scanner(**options).to_batches()  # type: ignore[no-any-return]

    def to_table(self, **options: Any) -> pa.Table:
        """The rows as a table, with the arguments of :meth:`scanner`."""
        return self.scanner(**options).to_table()


def sql(
    query: str, connection: duckdb.DuckDBPyConnection | None = None, /, **traces: Trace | PathLike
) -> duckdb.DuckDBPyRelation:
    """The result of a query over traces, through DuckDB.

    A trace that is called ``x`` is the table of its instructions; ``x_memory``, ``x_traps`` and so on are its other
    tables. Each mention of a table reads the trace once, and only the columns that the query needs.

    >>> query = "select class, count(*) as n from x group by class order by n desc, class limit 1"
    >>> trackway.sql(query, x="testdata/stf/sort/trace.stf").fetchall()[0][0]
    'integer'
    """
    import duckdb

    if connection is None:
        connection = duckdb.connect()
    for name, trace in traces.items():
        opened = trace if isinstance(trace, Trace) else Trace(trace)
        for table in tables():
            view = name if table == "instructions" else f"{name}_{table}"
            connection.register(view, TraceDataset(opened, table))
    return connection.sql(query)
