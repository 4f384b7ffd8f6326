"""The native part of the package."""

import os
from collections.abc import Iterator, Sequence

class Opening:
    @property
    def elf(self) -> list[str]: ...
    @property
    def image(self) -> list[str]: ...
    @property
    def config(self) -> str | None: ...
    @property
    def format(self) -> str | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def strict(self) -> bool: ...
    def __init__(
        self,
        path: str,
        elf: Sequence[str],
        image: Sequence[str],
        config: str | None,
        format: str | None,
        source: str | None,
        threads: int | None,
        strict: bool,
        force: bool,
    ) -> None: ...
    def describe(self) -> tuple[str, str, str, str, list[str]]: ...

class Batch:
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class Batches:
    def __init__(
        self,
        opening: Opening,
        table: str,
        columns: Sequence[str] | None,
        start: str | None,
        stop: str | None,
        integers: str,
    ) -> None: ...
    @property
    def passed(self) -> list[str]: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Schema:
    def __arrow_c_schema__(self) -> object: ...

class Access:
    """A memory access."""

    @property
    def kind(self) -> str:
        """Effect: read, write, read-write, …"""
    @property
    def address(self) -> int | None:
        """Virtual address."""
    @property
    def size(self) -> int:
        """Bytes."""
    @property
    def data(self) -> int | bytes | None:
        """Data; bytes, little-endian, where it is wider than 64 bits."""

class Register:
    """A register access."""

    @property
    def name(self) -> str:
        """Name: x10, f0, …"""
    @property
    def role(self) -> str:
        """Why it is there: source, destination, …"""
    @property
    def value(self) -> int | bytes | None:
        """Value; bytes, little-endian, where it is wider than 64 bits."""

class Instruction:
    """An instruction of a trace."""

    @property
    def source(self) -> int:
        """Number of its source."""
    @property
    def number(self) -> int:
        """Number in its source, from 0, attempted instructions included."""
    @property
    def pc(self) -> int | None:
        """Address."""
    @property
    def encoding(self) -> int:
        """Instruction word; 0 where it is not known."""
    @property
    def retired(self) -> bool:
        """It completed."""
    @property
    def taken(self) -> bool | None:
        """Outcome of a branch, where known."""
    @property
    def byte_offset(self) -> int:
        """Byte offset of the item that recorded it."""
    @property
    def memory(self) -> list[Access]:
        """Memory accesses, in order."""
    @property
    def registers(self) -> list[Register]:
        """Register accesses, in order."""
    @property
    def text(self) -> str:
        """Disassembly."""

class Steps:
    def __init__(self, opening: Opening) -> None: ...
    def __iter__(self) -> Iterator[Instruction]: ...
    def __next__(self) -> Instruction: ...

def ask(words: Sequence[str | os.PathLike[str]]) -> tuple[list[str], list[str], int, str | None]: ...
def count(
    opening: Opening, table: str, columns: Sequence[str] | None, start: str | None, stop: str | None
) -> int: ...
def plan(opening: Opening, parts: int) -> list[str]: ...
def batches_of_item(item: str, table: str, columns: Sequence[str] | None, integers: str) -> Batches: ...
def schema(table: str, columns: Sequence[str] | None, integers: str) -> Schema: ...
def tables() -> list[str]: ...
