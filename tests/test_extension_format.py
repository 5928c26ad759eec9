"""A format is its module, its test and one line: a toy is added to a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracelens.views.formats import FORMATS

ROOT = Path(__file__).resolve().parents[1]
REGISTRY = Path("tracelens/views/formats/__init__.py")
SOURCE = ROOT / "samples/planted/captures/copy_pinned.pt.trace.json.gz"
MODULE = '''
"""The names of a report's sections, a line each."""

from tracelens.report import Report
from tracelens.views.formats.format import Format, Screen


def to_toy(report: Report, screen: Screen) -> str:
    """The names, as many as rows are asked for."""
    return "".join(f"{section.analysis.name}\\n" for section in report.sections[: screen.rows])


FORMAT = Format("toy", (".toy",), to_toy, rows=2)
'''
LINE = "from tracelens.views.formats.toy import FORMAT as TOY\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that has one module and one line more."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "tracelens", folder / "tracelens", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / REGISTRY).with_name("toy.py").write_text(MODULE.lstrip())
    first = "from tracelens.views.formats.csv import"
    registry = (ROOT / REGISTRY).read_text()
    assert registry.count(first) == 1
    (folder / REGISTRY).write_text(registry.replace(first, LINE + first))
    return folder


def run(copy: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the copy's command line in the copy's folder."""
    environment = os.environ | {"PYTHONPATH": str(copy), "COLUMNS": "300"}
    command = [sys.executable, "-m", "tracelens", *map(str, words)]
    return subprocess.run(
        command, env=environment, cwd=copy, capture_output=True, text=True, check=False
    )


def test_a_module_and_one_line_add_a_format(copy: Path) -> None:
    done = run(copy, "report", SOURCE, "--format", "toy")
    assert (done.returncode, done.stdout) == (0, "verdict\nchanges\n")
    done = run(copy, "report", SOURCE, "--out", "names.TOY", "--rows", "1")
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (0, "", "wrote names.TOY")
    assert (copy / "names.TOY").read_text() == "verdict\n"


@pytest.mark.exhaustive  # both say the list of formats, which the test above adds to
def test_help_and_errors_name_it(copy: Path) -> None:
    said = re.sub(r"\s+", " ", run(copy, "report", "--help").stdout)
    assert "toy|csv|html" in said.lower()
    assert "2 in toy" in said
    done = run(copy, "report", SOURCE, "--out", "x.xlsx")
    assert done.returncode == 2
    assert ".parquet, .toy, .txt" in done.stderr
    done = run(copy, "report", SOURCE, "--format", "xlsx")
    assert done.returncode == 2
    assert "the formats are" in done.stderr
    assert "toy" in done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_but_its_module_and_one_line_tells_of_a_format(name: str) -> None:
    # Text and HTML have their parts of the command line: what is printed if nothing is asked
    # for, and `--html`.
    told = [
        line
        for folder in ("cli", "views/formats")
        for file in (ROOT / "tracelens" / folder).rglob("*.py")
        if file.name != f"{name}.py"
        for line in file.read_text().splitlines()
        if re.search(rf"formats\.{name} import FORMAT|\"{name}\"", line)
    ]
    assert len([line for line in told if "import FORMAT" in line]) == 1
    assert name in {"text", "html"} or len(told) == 1
