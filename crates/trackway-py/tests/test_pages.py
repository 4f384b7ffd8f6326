"""The notebook and the recipes of the pages run."""

import re
import shutil

import pytest

import trackway

#: Packages of recipes; those that are not installed are skipped.
OPTIONAL = {"dask": "Dask", "ray": "Ray", "pyspark": "Spark"}


def blocks(page):
    """The blocks of Python of a page, with the heading before each."""
    found = []
    heading = ""
    for text in re.split(r"^(#+ [^\n]*|```python\n.*?^```)$", page, flags=re.M | re.S):
        if text.startswith("#"):
            heading = text
        elif text.startswith("```python\n"):
            found.append((heading, text.removeprefix("```python\n").removesuffix("```")))
    return found


def test_recipes(root, tmp_path, monkeypatch):
    found = blocks((root / "docs/data.md").read_text())
    assert len(found) >= 5
    shutil.copytree(root / "testdata", tmp_path / "testdata")
    shutil.copytree(root / "programs/riscv", tmp_path / "programs/riscv")
    monkeypatch.chdir(tmp_path)
    names = {}
    for heading, code in found:
        missing = [name for name in OPTIONAL if re.search(rf"^(import|from) {name}\b", code, flags=re.M)]
        missing = [name for name in missing if not installed(name)]
        # A cluster is started by the tests of Spark; a package for developing may have no Parquet.
        if missing or "pyspark" in code or (".export(" in code and not has_parquet()):
            print(f"SKIPPED: {heading}")
            continue
        exec(compile(code, heading, "exec"), names)


def has_parquet():
    try:
        trackway.open("testdata/stf/sort/trace.stf").export("probe.parquet")
    except trackway.UsageError:
        return False
    return True


def installed(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def test_notebook(root):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    path = root / "docs/notebook.ipynb"
    book = nbformat.read(path, as_version=4)
    questions = [cell for cell in book.cells if cell.cell_type == "markdown" and cell.source.startswith("## ")]
    assert len(questions) >= 5
    before = [texts(cell) for cell in book.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": root.as_posix()}}).execute()
    after = [texts(cell) for cell in book.cells if cell.cell_type == "code"]
    # The outputs of the page are those of this run.
    assert before == after


def texts(cell):
    return ["".join(output.get("data", {}).get("text/plain", "") or output.get("text", "")) for output in cell.outputs]
