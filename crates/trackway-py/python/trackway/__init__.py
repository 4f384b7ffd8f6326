"""Processor execution traces: STF, ASTF, E-Trace, tandem, ETE, logs and perf.data, as tables and as results.

>>> import trackway
>>> trace = trackway.open("testdata/stf/sort/trace.stf", elf="programs/riscv/sort.elf")
>>> trace.to_arrow(columns=["pc", "mnemonic"]).num_rows
297

``docs/data.md`` describes the tables, ``docs/json.md`` the results of the analyses.
"""

from ._errors import StrictError, TraceError, TraceWarning, UsageError
from ._items import count_item, merge_counts, plan
from ._sql import TraceDataset, sql
from ._trace import Batches, Trace, open, read_item, schema, tables
from ._trackway import Access, Instruction, Register

__all__ = [
    "Access",
    "Batches",
    "Instruction",
    "Register",
    "StrictError",
    "Trace",
    "TraceDataset",
    "TraceError",
    "TraceWarning",
    "UsageError",
    "count_item",
    "merge_counts",
    "open",
    "plan",
    "read_item",
    "schema",
    "sql",
    "tables",
]
