"""Traces."""

from __future__ import annotations

import functools
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from . import _trackway
from ._ask import ask, run
from ._errors import TraceWarning, UsageError

if TYPE_CHECKING:
    import pandas
    import polars

PathLike = str | os.PathLike[str]
Paths = PathLike | Iterable[PathLike] | None
Position = int | str | None
Integers = Literal["unsigned", "signed", "decimal"]


def _list(value: Any) -> list[str]:
    """One or several, as a list of texts."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, int)):
        return [str(value)]
    return [str(one) for one in value]


def _columns(columns: str | Iterable[str] | None) -> list[str] | None:
    return None if columns is None else _list(columns)


def _words(name: str, value: Any) -> list[str]:
    """An option of the command line, once for each value."""
    if value is True:
        return [f"--{name}"]
    return [word for one in _list(None if value is False else value) for word in (f"--{name}", one)]


class Batches:
    """Record batches of a table, read while they are iterated over.

    Iterating yields ``pyarrow.RecordBatch``. The object also has the Arrow PyCapsule interface
    (``__arrow_c_stream__``), so that Polars, DuckDB, pandas and others take it as it is. It can be read once.
    """

    def __init__(self, native: _trackway.Batches, columns: list[str] | None) -> None:
        self._native = native
        schema = pa.schema(native)
        # In the order asked for.
        self._order = columns if columns and columns != schema.names else None
        self.schema: pa.Schema = self._ordered(schema)

    def _ordered(self, rows: Any) -> Any:
        if self._order is None:
            return rows
        if isinstance(rows, pa.Schema):
            return pa.schema([rows.field(name) for name in self._order], metadata=rows.metadata)
        return rows.select(self._order)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._native:
            yield self._ordered(pa.record_batch(batch))
        for error in self._native.passed:
            warnings.warn(error, TraceWarning, stacklevel=2)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._order is None:
            return self._native.__arrow_c_stream__(requested_schema)
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> pa.RecordBatchReader:
        """The same as a ``pyarrow.RecordBatchReader``."""
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_arrow(self) -> pa.Table:
        """All of it as a ``pyarrow.Table``."""
        return pa.Table.from_batches(list(self), schema=self.schema)


class Trace:
    """A trace, by its path and the options that open it; see :func:`trackway.open`.

    Its methods read it anew each time: none of it is kept in memory, and many threads may use one object.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        elf: Paths = None,
        image: Paths = None,
        config: PathLike | None = None,
        format: str | None = None,
        source: str | int | None = None,
        threads: int | None = None,
        strict: bool = False,
        force: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        elf, image = _list(elf), _list(image)
        config = None if config is None else os.fspath(config)
        source = None if source is None else str(source)
        self._opening = _trackway.Opening(
            self.path, elf, image, config, format, source, threads, strict, force
        )
        # As the command line has them.
        given: dict[str, Any] = {"elf": elf, "image": image, "config": config, "format": format, "source": source}
        given |= {"jobs": threads, "strict": strict, "force": force}
        self._options = [word for name, value in given.items() for word in _words(name, value)]
        (self.format, self.title, self.version, self.isa, self.sources) = self._opening.describe()

    def __repr__(self) -> str:
        return f"<Trace {self.path!r}: {self.title}, {self.isa}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a trace cannot be pickled: send its path, or the items of plan()")

    # Tables

    def batches(
        self,
        table: str = "instructions",
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
        *,
        integers: Integers = "unsigned",
    ) -> Batches:
        """Rows of a table, as Arrow record batches that are read while you iterate.

        ``start`` and ``stop`` are positions as everywhere in Trackway: the number of an instruction, ``"pc:0x1000"``,
        ``"sym:main"``, ``"end-100"`` and so on. ``integers="signed"`` is for engines without unsigned numbers.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf", elf="programs/riscv/sort.elf")
        >>> sum(batch.num_rows for batch in trace.batches("memory", ["address", "size"]))
        104
        >>> [batch.num_rows for batch in trace.batches("instructions", start=10, stop="end-10")]
        [277]
        """
        names = _columns(columns)
        bounds = [None if place is None else str(place) for place in (start, stop)]
        native = _trackway.Batches(self._opening, table, names, bounds[0], bounds[1], integers)
        return Batches(native, names)

    def to_arrow(
        self,
        table: str = "instructions",
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
        *,
        integers: Integers = "unsigned",
    ) -> pa.Table:
        """A table as a ``pyarrow.Table``, with the arguments of :meth:`batches`.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> trace.to_arrow("instructions", ["number", "pc"]).num_rows
        297
        """
        return self.batches(table, columns, start, stop, integers=integers).to_arrow()

    def to_pandas(
        self,
        table: str = "instructions",
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
        *,
        exact: bool = False,
    ) -> pandas.DataFrame:
        """A table as a data frame of pandas, with the arguments of :meth:`batches`.

        Where a column of numbers has nulls, pandas makes it floating point, and addresses above 2⁵³ are rounded:
        ``exact=True`` uses its nullable types instead, which are slower.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf", elf="programs/riscv/sort.elf")
        >>> frame = trace.to_pandas(columns=["function", "pc"])
        >>> int((frame.function == "_start").sum()) > 0
        True
        """
        found = self.to_arrow(table, columns, start, stop)
        if not exact:
            return found.to_pandas()
        import pandas

        types = {
            pa.uint8(): pandas.UInt8Dtype(),
            pa.uint32(): pandas.UInt32Dtype(),
            pa.uint64(): pandas.UInt64Dtype(),
            pa.bool_(): pandas.BooleanDtype(),
        }
        return found.to_pandas(types_mapper=types.get)

    def to_polars(
        self,
        table: str = "instructions",
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
    ) -> polars.DataFrame:
        """A table as a data frame of Polars, with the arguments of :meth:`batches`.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> trace.to_polars("registers", ["register", "value"]).width
        2
        """
        import polars

        frame = polars.from_arrow(self.to_arrow(table, columns, start, stop))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def count(
        self,
        table: str = "instructions",
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
    ) -> int:
        """The number of rows of a table: all of it is read, none of it comes to Python.

        >>> trackway.open("testdata/stf/sort/trace.stf").count("memory")
        104
        """
        names = ["number"] if columns is None and table != "meta" else _columns(columns)
        bounds = [None if place is None else str(place) for place in (start, stop)]
        return _trackway.count(self._opening, table, names, bounds[0], bounds[1])

    def __iter__(self) -> Iterator[_trackway.Instruction]:
        """Its instructions, one by one. A loop in Python is slow: tables are a hundred times faster.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> first = next(iter(trace))
        >>> hex(first.pc), first.text
        ('0x100e8', 'auipc a0,0x1')
        """
        return iter(_trackway.Steps(self._opening))

    # Analyses

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """What the trace is, as ``trackway info --json`` has it.

        >>> info = trackway.open("testdata/stf/sort/trace.stf").info
        >>> info["format"], info["instructions"], info["complete"]
        ('stf', 297, True)
        """
        return ask("info", self.path, *self._options)

    def stats(
        self, *, by: str | Iterable[str] | None = None, top: int = 10, analyses: str | Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Counts of what is in it, as ``trackway stats --json`` has them.

        ``by`` is function, line, context or source; ``analyses`` are those of ``--with``: predictors, loops,
        dependences, reuse, strides, sharing, or all.

        >>> trackway.open("testdata/stf/sort/trace.stf").stats()["instructions"]["total"]
        297
        """
        words = ["--top", str(top), *_words("by", by), *_words("with", analyses)]
        return ask("stats", self.path, *self._options, *words)

    def flame(self, output: PathLike | None = None, *, against: PathLike | None = None) -> str:
        """The flame graph as SVG, also written to ``output`` if that is given.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf", elf="programs/riscv/sort.elf")
        >>> trace.flame().startswith("<svg")
        True
        """
        words = ["flame", self.path, *self._options, *_words("against", against)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "flame.svg") if output is None else Path(output)
            run(*words, "--quiet", "-o", path)
            return path.read_text(encoding="utf-8")

    def diff(
        self,
        other: Trace | PathLike,
        *,
        only: str | Iterable[str] | None = None,
        ignore: str | Iterable[str] | None = None,
        tolerate: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
        limit: int = 1000,
    ) -> dict[str, Any]:
        """The comparison with another trace, as ``trackway diff --json`` has it: ``equal``, ``verdict``, ``differences``.

        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> trace.diff("testdata/stf/sort/trace.stf")["equal"]
        True
        """
        theirs = other if isinstance(other, Trace) else Trace(other)
        sides = []
        for side, letter in ((self, "a"), (theirs, "b")):
            given = side._opening
            if given.image:
                raise UsageError("diff takes programs as elf=, not as image=")
            for name in ("elf", "config", "format", "source"):
                sides += _words(f"{name}-{letter}", getattr(given, name))
        words = _words("strict", self._opening.strict) + _words("limit", limit)
        for name, value in (("only", only), ("ignore", ignore), ("tolerate", tolerate)):
            words += _words(name, value)
        words += _words("from", start if start is None else str(start))
        words += _words("to", stop if stop is None else str(stop))
        return ask("diff", self.path, theirs.path, *sides, *words)

    def state(
        self, at: int | str, *, registers: str | Iterable[str] | None = None, memory: str | Iterable[str] | None = None
    ) -> dict[str, Any]:
        """What the trace shows at a point: pc, context, calls, registers, memory (``"ADDR:LEN"``).

        >>> state = trackway.open("testdata/stf/sort/trace.stf").state(20, registers="sp")
        >>> [entry["register"] for entry in state["registers"]]
        ['x2']
        """
        words = [*_words("reg", registers), *_words("mem", memory)]
        return ask("state", self.path, "--at", str(at), *self._options, *words)

    def verify(
        self, *, core: str | None = None, isa: str | None = None, coverage: bool = False, allow_gaps: int = 0
    ) -> dict[str, Any]:
        """The comparison with the golden model, as ``trackway verify --json`` has it: ``passed``, ``mismatches``.

        >>> trackway.open("testdata/tandem/sort/trace.tv", elf="programs/riscv/sort.elf").verify()["passed"]
        True
        """
        words = [*_words("core", core), *_words("isa", isa), *_words("coverage", coverage)]
        return ask("verify", self.path, *self._options, *words, "--allow-gaps", str(allow_gaps))

    # Traces from it

    def convert(
        self, output: PathLike, *, into: str | None = None, prove: bool | None = None, config: PathLike | None = None
    ) -> dict[str, Any]:
        """Writes it in another format: ``ledger``, ``proved``, ``outputs``, ``warnings``.

        >>> import tempfile
        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = trace.convert(folder + "/sort.tv")
        >>> sorted({entry["fate"] for entry in done["ledger"]} - {"derived", "invented"})
        ['dropped', 'kept']
        """
        return self._write("convert", output, into, prove, config, [])

    def slice(
        self,
        output: PathLike,
        start: Position | Sequence[int | str] = None,
        stop: Position | Sequence[int | str] = None,
        *,
        every: int | None = None,
        length: int | None = None,
        context: str | Iterable[str] | None = None,
        into: str | None = None,
        prove: bool | None = None,
    ) -> dict[str, Any]:
        """Writes a part of it as a trace of its own, with the ledger of :meth:`convert`.

        >>> import tempfile
        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = trace.slice(folder + "/part.stf", 100, 200)
        ...     trackway.open(done["outputs"][0]).info["instructions"]
        100
        """
        words = [*_words("from", _list(start)), *_words("to", _list(stop)), *_words("context", context)]
        words += [*_words("every", every), *_words("length", length)]
        return self._write("slice", output, into, prove, None, words)

    def _write(
        self,
        command: str,
        output: PathLike,
        into: str | None,
        prove: bool | None,
        config: PathLike | None,
        words: list[str],
    ) -> dict[str, Any]:
        proof = {True: ["--prove"], False: ["--no-prove"], None: []}[prove]
        more = [*_words("into", into), *_words("config", config), *proof, *words]
        return ask(command, self.path, os.fspath(output), *self._options, *more)

    def export(
        self,
        output: PathLike,
        *,
        tables: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        start: Position = None,
        stop: Position = None,
        integers: Integers = "unsigned",
        shape: str | None = None,
        parts: int | None = None,
    ) -> dict[str, Any]:
        """Writes tables as ``OUT.parquet``, ``OUT.arrow``, ``OUT.csv``, ``OUT.jsonl`` or ``DIR/``.

        ``shape`` overrides the name; ``"champsim"`` and ``"champsim-cloudsuite"`` write a trace for that simulator, and
        return its ``ledger``. ``parts`` are those of each table in a folder.

        >>> import tempfile
        >>> trace = trackway.open("testdata/stf/sort/trace.stf")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = trace.export(folder + "/sort.parquet", columns=["number", "pc"])
        ...     Path(folder, "sort.parquet").stat().st_size > 0
        True
        """
        words = ["--integers", integers]
        for name, value in (("tables", tables), ("columns", columns)):
            words += [f"--{name}", ",".join(_list(value))] if value else []
        words += _words("from", start if start is None else str(start))
        words += _words("to", stop if stop is None else str(stop))
        words += [*_words("as", shape), *_words("parts", parts)]
        return ask("export", self.path, os.fspath(output), *self._options, *words)

    # Work items

    def plan(self, parts: int) -> list[str]:
        """About that many work items, as texts of JSON, for workers anywhere: see :func:`trackway.read_item`.

        >>> items = trackway.open("testdata/stf/sort/trace.stf").plan(2)
        >>> sum(batch.num_rows for item in items for batch in trackway.read_item(item))
        297
        """
        return _trackway.plan(self._opening, parts)


def open(path: PathLike, **options: Any) -> Trace:
    """Opens a trace. The format is recognised by content, also inside gzip, xz and zstd.

    ``elf`` and ``image`` name the program that ran (``PATH`` or ``PATH@ADDR``, one or several), ``config`` the settings
    that the trace does not carry, ``format`` overrides detection, ``source`` picks one of several sources, ``threads``
    are those of analyses, ``strict`` refuses damage and losses, ``force`` tries unsupported versions.

    >>> trackway.open("testdata/stf/sort/trace.stf")
    <Trace 'testdata/stf/sort/trace.stf': STF, Simple Trace Format, rv64>
    """
    return Trace(path, **options)


def read_item(
    item: str,
    table: str = "instructions",
    columns: str | Iterable[str] | None = None,
    *,
    integers: Integers = "unsigned",
) -> Batches:
    """The rows of a work item of :meth:`Trace.plan`; those of all items are those of the trace."""
    names = _columns(columns)
    return Batches(_trackway.batches_of_item(item, table, names, integers), names)


def schema(
    table: str = "instructions", columns: str | Iterable[str] | None = None, *, integers: Integers = "unsigned"
) -> pa.Schema:
    """The columns of a table and their types.

    >>> trackway.schema("gaps").names[:3]
    ['source', 'number', 'reason']
    """
    return pa.schema(_trackway.schema(table, _columns(columns), integers))


def tables() -> list[str]:
    """The names of all tables.

    >>> len(trackway.tables())
    10
    """
    return _trackway.tables()
