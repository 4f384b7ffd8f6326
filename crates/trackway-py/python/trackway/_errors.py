"""Exceptions of the package."""

from __future__ import annotations

from typing import Any


class TraceError(Exception):
    """A trace cannot be read, or an output cannot be written.

    ``offset`` is the byte of the decompressed trace, ``instruction`` the number of instructions before it, ``item``,
    ``field`` and ``section`` name the place in the words of the specification, ``hint`` is the next thing to try. Each
    is None where it is not known. ``result`` has what was found before the error, where a method returns a result.
    """

    def __init__(
        self,
        message: str,
        *,
        offset: int | None = None,
        instruction: int | None = None,
        item: str | None = None,
        field: str | None = None,
        section: str | None = None,
        hint: str | None = None,
        result: Any = None,
    ) -> None:
        super().__init__(message)
        self.offset = offset
        self.instruction = instruction
        self.item = item
        self.field = field
        self.section = section
        self.hint = hint
        self.result = result


class UsageError(TraceError, ValueError):
    """Arguments that make no sense: an unknown table, a format that cannot hold it, several sources."""


class StrictError(TraceError):
    """Damage, a gap or a loss that ``strict`` refuses."""


class TraceWarning(UserWarning):
    """Damage after which reading continued, a program that does not fit the trace."""
