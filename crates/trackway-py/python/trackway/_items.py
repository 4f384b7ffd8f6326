"""Work items: stretches of traces that any worker reads on its own."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ._ask import run
from ._errors import UsageError
from ._trace import Trace

#: Bytes of a trace in each part, where their number is not given.
PART = 8 << 20


def _files(path: str) -> list[str]:
    found = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    # Settings beside a trace are a part of it, and an index too.
    found = [one for one in found if not one.endswith((".toml", ".twx"))]
    if not found:
        raise UsageError(f"{path}: there is no such file")
    return found


def plan(
    path: str,
    parts: int | None = None,
    *,
    elf: Sequence[str] | None = None,
    config: str | None = None,
    format: str | None = None,
    source: str | None = None,
) -> list[str]:
    """The work items of all traces that a pattern names, each in ``parts`` parts, by its size without it.

    They are those of ``trackway split --plan``, as texts of JSON. Planning reads every trace once.

    >>> items = trackway.plan("testdata/stf/sort/*.stf", 2, elf=["programs/riscv/sort.elf"])
    >>> counted = trackway.merge_counts([trackway.count_item(item) for item in items])
    >>> counted.startswith(b'{"trackway":{"kind":"stats"')
    True
    """
    items: list[str] = []
    for file in _files(path):
        trace = Trace(file, elf=elf, config=config, format=format, source=source)
        size = Path(file).stat().st_size
        items += trace.plan(parts or max(1, size // PART))
    return items


def count_item(item: str) -> str:
    """The counts of a work item, for :func:`merge_counts`: the same as ``trackway stats --item``."""
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder, "item.json"), Path(folder, "part.json")
        path.write_text(item, encoding="utf-8")
        run("stats", "--item", path, "-o", part, "--jobs", "1")
        return part.read_text(encoding="utf-8")


def merge_counts(parts: Sequence[str]) -> bytes:
    """The statistics of a trace from the counts of all of its items: the bytes of ``trackway stats --json``."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{n}.json") for n in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            path.write_text(part, encoding="utf-8")
        lines, _ = run("stats", "--json", "--quiet", "--merge", *paths)
        return f"{lines[-1]}\n".encode()
