"""What the tests share: the repository, traces of every format, the corpus."""

import os
from pathlib import Path

import pytest

import trackway

ROOT = Path(__file__).resolve().parents[3]

#: Traces of the repository, with the options that open them.
GOLDEN = [
    ("testdata/stf/sort/trace.stf", {"elf": "programs/riscv/sort.elf"}),
    ("testdata/stf/everything/trace.stf", {}),
    ("testdata/astf/levels.astf", {}),
    ("testdata/tandem/sort/trace.tv", {}),
    ("testdata/ete/count", {}),
    ("testdata/etrace/v2-every-mode/input", {"config": "testdata/etrace/v2-every-mode/config.toml"}),
    ("testdata/spike/mix.spike", {}),
    ("testdata/rvfi-vcd/mix.vcd", {}),
    ("testdata/tarmac/loop-es/trace.tarmac", {}),
    ("testdata/tarmac/two-cores/trace.tarmac", {}),
]

#: Two harts that share a line of 64 bytes, and an address in the upper half.
TWO_HARTS = """\
core   0: 3 0x0000000080000000 (0x0000b503) x10 0x0000000000000001 mem 0x0000000080001000
core   1: 3 0x0000000080000000 (0x0000b503) x10 0x0000000000000001 mem 0x0000000080001000
core   0: 3 0x0000000080000004 (0x00a0b423) mem 0x0000000080001008 0x0000000000000001
core   1: 3 0x0000000080000004 (0x00a0b423) mem 0x0000000080001048 0x0000000000000001
core   1: 3 0x0000000080000008 (0x00a0b023) mem 0x0000000080001000 0x0000000000000002
core   0: 3 0xffffffff80000008 (0x0000b503) x10 0x0000000000000002 mem 0xffffffff80001000
"""


@pytest.fixture(autouse=True)
def root(monkeypatch):
    """Tests run in the root of the repository."""
    monkeypatch.chdir(ROOT)
    return ROOT


@pytest.fixture(params=GOLDEN, ids=[path for path, _ in GOLDEN])
def golden(request):
    """Each trace of the repository."""
    path, options = request.param
    return trackway.open(path, **options)


@pytest.fixture
def sort():
    """A sorting program."""
    return trackway.open("testdata/stf/sort/trace.stf", elf="programs/riscv/sort.elf")


@pytest.fixture
def two_harts(tmp_path):
    """Two harts."""
    path = tmp_path / "two.spike"
    path.write_text(TWO_HARTS)
    return trackway.open(path)


def corpus():
    """Every trace of the corpus; none where there is no corpus."""
    folder = os.environ.get("TRACKWAY_CORPUS")
    if not folder:
        return []
    root = Path(folder)
    found = [
        trackway.open(path, config=path.with_name("params.toml")) for path in sorted(root.glob("etrace/*/trace.bin"))
    ]
    for path in sorted([*root.glob("*/*"), *root.glob("logs/*/*"), *root.glob("tandem/*/*")]):
        try:
            found.append(trackway.open(path))
        except trackway.TraceError:
            # Programs, pages, and folders that are not snapshots.
            continue
    return found
