"""Import the scripts that write docs/accuracy.md, and look for rows on the pages they wrote."""

import importlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
ROWS = ROOT / "docs" / "accuracy"
CONSTRUCTED = ROOT / "samples" / "planted" / "constructed"


def script(name: str) -> Any:
    """Import a script of samples/accuracy or of samples/planted."""
    folder = "planted" if name == "construct" else "accuracy"
    return importlib.import_module(f"samples.{folder}.{name}")


def page_lines() -> list[str]:
    """Rows of the page's tables of verdicts on captures, in order."""
    text = (ROWS / "verdicts.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [line for line in rows if not line.startswith(("| Capture ", "| --- "))]


def check_rows(rows: list[Any]) -> None:
    """Check that each row is on the page, and is listed as known to be wrong exactly if it is."""
    page, known = page_lines(), script("accuracy_page").KNOWN_WRONG
    assert rows
    for row in rows:
        assert row.line in page, f"a verdict changed: `make accuracy` ({row.line})"
        assert (row.name in known) == (row.grade != "right"), (
            f"{row.name} is {row.grade}: samples/accuracy/known_wrong.json says otherwise"
        )
