"""The documentation as a site: links lead to files, the navigation to pages, causes to captures."""

import re
from pathlib import Path

import pytest

from tools.site import ANSWER, GALLERY, LINK, ROOT, files, linked, unfolded

ALL = [file for file in files() if file.suffix == ".md"]


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    assert _lost_links(page, page.read_text(encoding="utf-8")) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "[there](LICENSE), [gone](docs/gone.md), `[code](gone.md)`, [far](https://example.org)"
    assert _lost_links(ROOT / "README.md", text) == ["docs/gone.md"]


def _lost_links(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead neither to a file nor to a folder of ours."""
    links = [link for _, link, _ in LINK.findall(_without_code(text))]
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    return [
        link for link in local if linked(page, link) is None and not (page.parent / link).is_dir()
    ]


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_places_that_links_name_are_headings(page: Path) -> None:
    """As GitHub and MkDocs name them; a page that is no text of ours is not looked at."""
    lost = []
    for _, link, place in LINK.findall(_without_code(page.read_text(encoding="utf-8"))):
        target = page.parent / link
        if place and target.suffix == ".md" and target.is_file():
            names = _names_of_headings(target.read_text(encoding="utf-8"))
            lost += [f"{link}{place}"] if place.removeprefix("#") not in names else []
    assert lost == []


def _names_of_headings(text: str) -> set[str]:
    """Return the names that headings get: small letters, words joined by hyphens."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)
    words = (re.sub(r"\]\([^)]*\)", "", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in words}


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def test_the_navigation_names_each_page_of_the_site_once() -> None:
    named = re.findall(r": ((?:README|docs/\S+)\.md)$", _navigation(), re.MULTILINE)
    assert len(named) == len({*named})
    assert all((ROOT / name).is_file() for name in named)
    pages = {str(page.relative_to(ROOT)) for page in ROOT.glob("docs/site/*.md")}
    assert pages <= {*named}


def _navigation() -> str:
    return (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]


def test_what_is_folded_on_a_page_is_rendered() -> None:
    assert unfolded("<details><summary>a</summary>") == (
        '<details markdown="1"><summary>a</summary>'
    )
    extensions = re.search(
        r"^markdown_extensions: \[(.+)\]$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
    )
    assert extensions
    assert "md_in_html" in extensions[1].split(", ")


def test_each_report_and_each_answer_has_a_capture() -> None:
    texts = [page.read_text(encoding="utf-8") for page in ALL]
    answers = [source for text in texts for pair in ANSWER.findall(text) for source in pair]
    captures = [*GALLERY.values(), *filter(None, answers)]
    assert [source for source in captures if not (ROOT / source).exists()] == []


def test_a_link_to_a_folder_leads_to_its_page() -> None:
    page = ROOT / "docs" / "guide.md"
    assert linked(page, "../samples/") == ROOT / "samples" / "README.md"
    assert linked(page, "https://example.org/x") is None
    assert linked(page, "../../outside") is None
