"""Traces on a Spark cluster that already exists: a Python data source (PySpark 4 and later), and statistics.

.. code-block:: python

    from trackway.spark import TraceSource
    spark.dataSource.register(TraceSource)
    frame = spark.read.format("trackway").option("elf", "program.elf").option("table", "memory").load("traces/*.zstf")

Options: ``elf`` and ``config`` (as for :func:`trackway.open`; several ELF files are separated by commas), ``format``,
``source``, ``table``, ``columns`` (separated by commas; PySpark hands none down), ``parts`` (of each trace; by its size
without it), ``integers`` (``signed`` or ``decimal``), ``filters``.

Spark has no unsigned numbers: 64-bit columns are bigint with the same bits, so that an address of 2⁶³ or more is
negative, or decimal(20, 0) with ``integers=decimal``.

``filters=true`` drops rows in the executors by simple comparisons of the query. Spark must allow it with
``spark.sql.python.filterPushdown.enabled``, otherwise every read fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema

from ._errors import UsageError
from ._items import count_item, merge_counts, plan
from ._trace import read_item, schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

def _split(text: str | None) -> list[str] | None:
    return [word.strip() for word in text.split(",")] if text else None


@dataclass
class Item(InputPartition):  # type: ignore[misc]
    """A partition: a work item."""

    item: str


class TraceSource(DataSource):  # type: ignore[misc]
    """The data source ``trackway``."""

    @classmethod
    def name(cls) -> str:
        return "trackway"

    def _asked(self) -> dict[str, Any]:
        integers = self.options.get("integers", "signed")
        if integers not in ("signed", "decimal"):
            raise UsageError(f"{integers}: integers are signed or decimal, Spark has no unsigned ones")
        table = self.options.get("table", "instructions")
        return {"table": table, "columns": _split(self.options.get("columns")), "integers": integers}

    def schema(self) -> StructType:
        return from_arrow_schema(schema(**self._asked()))

    def reader(self, schema: StructType) -> DataSourceReader:
        filters = self.options.get("filters", "false").lower() == "true"
        return (FilteringReader if filters else TraceReader)(self.options, self._asked())


class TraceReader(DataSourceReader):  # type: ignore[misc]
    """Reads work items."""

    def __init__(self, options: Mapping[str, str], asked: dict[str, Any]) -> None:
        self._options = dict(options)
        self._asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        given = self._options
        if "path" not in given:
            raise UsageError("load() needs the path of a trace, or a pattern")
        names = {name: given[name] for name in ("config", "format", "source") if name in given}
        parts = int(given["parts"]) if "parts" in given else None
        items = plan(given["path"], parts, elf=_split(given.get("elf")), **names)
        return [Item(item) for item in items]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Item)
        yield from read_item(partition.item, **self._asked)


#: Comparisons that executors make.
_COMPARED: dict[type[Filter], Any] = {
    EqualTo: pc.equal,
    GreaterThan: pc.greater,
    GreaterThanOrEqual: pc.greater_equal,
    LessThan: pc.less,
    LessThanOrEqual: pc.less_equal,
    IsNull: lambda column, _: pc.is_null(column),
    IsNotNull: lambda column, _: pc.is_valid(column),
}


class FilteringReader(TraceReader):
    """Reads work items, and drops rows that the query does not want."""

    def __init__(self, options: Mapping[str, str], asked: dict[str, Any]) -> None:
        super().__init__(options, asked)
        self._filters: list[tuple[type[Filter], str, Any]] = []

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        for one in filters:
            # Decimals are left to Spark.
            if type(one) in _COMPARED and len(one.attribute) == 1 and self._asked["integers"] == "signed":
                self._filters.append((type(one), one.attribute[0], getattr(one, "value", None)))
            else:
                yield one

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in super().read(partition):
            for kind, column, value in self._filters:
                batch = batch.filter(_COMPARED[kind](batch[column], value))
            if batch.num_rows:
                yield batch


def items(spark: SparkSession, path: str, parts: int | None = None, **options: Any) -> DataFrame:
    """The work items of :func:`plan` as a data frame with the column ``item``, one partition each."""
    planned = plan(path, parts, **options)
    frame = spark.createDataFrame([(item,) for item in planned], "item string")
    return frame.repartition(max(1, len(planned)))


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The counts of work items, on an executor."""
    for batch in batches:
        counted = [count_item(item) for item in batch["item"].to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(counted, pa.string())], ["part"])


def stats(frame: DataFrame) -> dict[str, bytes]:
    """The statistics of every trace whose work items are in the column ``item``: the bytes of ``trackway stats --json``
    on one machine, by the name of the trace. Executors count, the driver adds up."""
    parts: dict[str, list[str]] = {}
    for row in frame.select("item").mapInArrow(_count, "part string").collect():
        parts.setdefault(json.loads(row.part)["item"]["file"], []).append(row.part)
    return {file: merge_counts(counted) for file, counted in sorted(parts.items())}
