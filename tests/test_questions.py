"""The scripts of docs/questions print what their page says; DuckDB reads a trace as it says."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

from tests.selection import every

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "questions" / "README.md").read_text()
PRINTED = re.findall(r"\]\((\w+\.py)\) prints\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_every_script() -> None:
    assert sorted(name for name, _ in PRINTED) == sorted(
        file.name for file in (ROOT / "docs/questions").glob("*.py")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "printed"), every(3, [pytest.param(*one, id=one[0]) for one in PRINTED])
)
def test_a_script_prints_what_the_page_says(
    name: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "docs" / "questions" / name))
    assert capsys.readouterr().out == printed


def test_duckdb_reads_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="needs the package duckdb")
    monkeypatch.chdir(ROOT)
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "questions", "README.md", 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert (failed, tried) == (0, 2)
