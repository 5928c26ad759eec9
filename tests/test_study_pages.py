"""The studies' pages: made anew they are byte for byte the committed ones, and short enough."""

import importlib
import re
from pathlib import Path

import pytest

from samples.kit.drawing import save
from samples.kit.page import RULE
from samples.kit.significance import Verdict

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "study": "abstraction_study",
    "thesis": "thesis",
    "lenet": "lenet",
    "cross_layer": "cross_layer",
    "advisor": "advisor",
}
MOST_WORDS = 1500
MOST_WORDS_OF_DETAILS = 1800
WIDEST_ROW = 200
BEFORE_THE_PICTURE = 150
"""Words that a screen holds above the first picture."""
WORDS = set(Verdict)


# The advisor's page searches for plans again, which takes as long as all others together; the other
# three take 3 to 6 s each, and have tests of their own.
LONG = {"advisor", "thesis", "cross_layer", "study"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "study",
    [pytest.param(s, marks=pytest.mark.exhaustive) if s in LONG else s for s in PAGES],
)
def test_the_page_is_that_of_the_captures(study: str, tmp_path: Path) -> None:
    """Charts too are byte for byte the same, where the font is that they are drawn for."""
    text, details, charts, tables = importlib.import_module(f"samples.{study}.analyse").make()
    page = ROOT / f"docs/{PAGES[study]}.md"
    assert page.read_text() == text
    assert (page.with_suffix("") / "details.md").read_text() == details
    beside = {file.stem: file.read_text() for file in page.with_suffix("").glob("*.csv")}
    assert beside == tables
    kept = {file.stem: file.read_bytes() for file in page.with_suffix("").glob("*.svg")}
    assert set(charts) == set(kept)
    save(charts, tmp_path)
    drawn = {file.stem: file.read_bytes() for file in tmp_path.glob("*.svg")}
    assert sorted(name for name in drawn if drawn[name] != kept[name]) == []


@pytest.mark.parametrize("name", PAGES.values())
def test_a_page_is_short_and_begins_with_answer_and_picture(name: str) -> None:
    text, details = ((ROOT / f"docs/{name}{end}").read_text() for end in (".md", "/details.md"))
    assert len(text.split()) <= MOST_WORDS
    assert len(details.split()) <= MOST_WORDS_OF_DETAILS
    assert [
        line[:60]
        for line in [*text.splitlines(), *details.splitlines()]
        if line[:1] == "|" and len(line) > WIDEST_ROW
    ] == []
    opening = text[: text.index("\n![")]
    assert len(opening.split()) <= BEFORE_THE_PICTURE
    assert opening.split("-->\n\n", 1)[1].startswith("**")
    parts = ("\n![", "\n## Verdicts", "\n## Not testable here", "\n## Run it again")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "\n## Methods" in details
    assert not re.search(r"\b(nan|None|inf|no longer)\b", text + details)


@pytest.mark.parametrize("name", PAGES.values())
def test_every_page_judges_by_one_rule_and_five_words(name: str) -> None:
    assert RULE in (ROOT / "docs/studies.md").read_text()
    text = (ROOT / f"docs/{name}.md").read_text()
    assert "(studies.md#how-a-verdict-is-reached)" in text
    tables = text[text.index("| claim | section | here |") : text.index("\n## Not testable here")]
    rows = [line for line in tables.splitlines() if line.startswith("| ")]
    verdicts = [line.split(" | ")[-1].rstrip(" |") for line in rows]
    assert set(verdicts) - {"verdict", "---"} <= WORDS - {Verdict.UNTESTABLE}
    assert len(set(verdicts)) > 2


@pytest.mark.parametrize("name", PAGES.values())
def test_every_chart_of_a_page_is_there_and_for_one_font(name: str) -> None:
    page = ROOT / f"docs/{name}.md"
    folder = page.with_suffix("")
    shown = set(re.findall(rf"\]\({name}/(\w+\.\w+)\)", page.read_text()))
    shown |= set(re.findall(r"\]\((\w+\.\w+)\)", (folder / "details.md").read_text()))
    assert shown == {file.name for file in folder.iterdir()}
    for chart in (file for file in shown if file.endswith(".svg")):
        drawn = (folder / chart).read_text()
        assert drawn.startswith("<svg")
        assert set(re.findall(r'font-family="([^"]+)"', drawn)) == {
            "DejaVu Sans, Verdana, sans-serif"
        }
        height = re.search(r'viewBox="0 0 \d+ (\d+)"', drawn)
        assert height
        assert int(height[1]) <= 1200
