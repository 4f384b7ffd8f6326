"""Commands of the program, run in this process; their JSON objects are the results."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

from . import _trackway
from ._errors import StrictError, TraceError, TraceWarning, UsageError

USAGE, UNREADABLE, STRICT, INTERRUPTED = 2, 3, 4, 130


def run(*words: str | os.PathLike[str]) -> tuple[list[str], int]:
    """Runs a command: the lines that it printed, and its exit code."""
    lines, messages, code, failure = _trackway.ask([os.fspath(word) for word in words])
    if failure is None and code != UNREADABLE:
        for message in messages:
            warnings.warn(message, TraceWarning, stacklevel=4)
        return lines, code
    result = json.loads(lines[-1]) if lines else None
    if failure is None:
        # The path could be followed nowhere: the object has the reason.
        error = (result or {}).get("errors", [{}])[-1]
        raise TraceError(error.get("message", "the trace cannot be read"), result=result)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    kind: type[TraceError] = {USAGE: UsageError, STRICT: StrictError}.get(code, TraceError)
    place = json.loads(failure)
    raise kind(place.pop("message"), result=result, **place)


def ask(*words: str | os.PathLike[str]) -> dict[str, Any]:
    """Runs a command that prints one JSON object."""
    lines, _ = run(*words, "--json", "--quiet")
    answer: dict[str, Any] = json.loads(lines[-1])
    answer.pop("trackway", None)
    return answer
