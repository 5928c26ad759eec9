"""The HTML page as a whole: what it may load, and how it fares in a real browser."""

import base64
import hashlib
import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from jinja2 import UndefinedError

from tests.cases import make_trace
from tests.sample_reports import ESCAPES, ROWS, SCRIPT, TOP_KERNELS, VERDICT, report, section, trace
from tracelens.report import Report, build_report
from tracelens.schemas import TABLES
from tracelens.storage.table import Table
from tracelens.trace import Trace
from tracelens.views.page import _code, _environment, to_html

CHROMIUM = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(report())


class Tags(HTMLParser):
    """Every element with its attributes, the code of scripts and styles, and all other text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.code: list[tuple[str, dict[str, str | None], str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep the code of a script or style, and text apart."""
        tag, attributes = self.found[-1] if self.found else ("", {})
        if tag in {"script", "style"} and self.cdata_elem == tag:
            self.code.append((tag, attributes, data))
        else:
            self.text.append(data)


def tags_of(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    return parser


def test_the_page_refers_to_nothing_outside_itself(page: str) -> None:
    for tag, attributes in tags_of(page).found:
        assert tag not in {"img", "link", "iframe", "object", "base", "form"}
        assert not {"src", "srcset", "style", "onerror", "onclick", "onload"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")


def test_only_the_code_of_the_page_may_run(page: str) -> None:
    tags = tags_of(page)
    policy = next(a["content"] for t, a in tags.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, attributes, code in tags.code:
        if attributes.get("type") != "application/json":
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy, tag
    assert [tag for tag, a, _ in tags.code if a.get("type") != "application/json"] == ["style", "script", "script"]


def test_headings_captions_and_language_are_there_and_links_lead_somewhere(page: str) -> None:
    tags = tags_of(page)
    assert ("html", {"lang": "en"}) in tags.found
    names = [tag for tag, _ in tags.found]
    assert names.count("h1") == 1
    assert names.count("table") == names.count("caption")
    places = {a["id"] for _, a in tags.found if "id" in a}
    links = {(a["href"] or "").removeprefix("#") for tag, a in tags.found if tag == "a"}
    assert links <= places
    assert len([a for _, a in tags.found if "id" in a]) == len(places)


def test_the_page_counts_the_rows_that_it_leaves_out_and_says_what_was_dropped() -> None:
    short = to_html(report(section(TOP_KERNELS, ROWS)), rows=2)
    assert "The first 2 of 3 rows; --format csv has all." in short
    assert "Nothing was dropped." in short
    incomplete = to_html(Report(trace(complete=False), None, []))
    assert "This capture is incomplete" in incomplete


def test_each_rank_has_its_card() -> None:
    rows = [{"rank": r, "step": None, "bound": b, "evidence": f"evidence {r}", "value": 0.5, "unit": "1"}
            for r, b in enumerate(("launch", "copy"))]  # fmt: skip
    page = to_html(report(section(VERDICT, rows)))
    assert '<div class="card launch"><p class="where">rank 0</p><p class="bound">launch-bound</p>' in page
    assert '<p class="value">50.0 %</p><p>evidence 1</p>' in page


def test_what_has_no_answer_is_no_section_of_the_page() -> None:
    page = to_html(build_report(make_trace(timings=[{"method": "e2e"}])))
    navigation = page[page.index("<nav") : page.index("</nav>")]
    assert re.findall(r">([^<>]+)</a>", navigation) == ["timing methods", "data quality", "unanswered", "sources"]
    alone = to_html(build_report(make_trace(timings=[{"method": "e2e"}]), names=["timing_methods"]))
    navigation = alone[alone.index("<nav") : alone.index("</nav>")]
    assert re.findall(r">([^<>]+)</a>", navigation) == ["timing methods", "sources"]


def test_the_template_escapes_and_spells_out_text_and_attributes_but_not_itself() -> None:
    fill = _environment().from_string
    assert fill('<p title="{{ a }}">{{ b }}</p>').render(a="\"'&", b=SCRIPT) == (
        '<p title="&#34;&#39;&amp;">&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</p>'
    )
    assert fill("{{ a }}").render(a=ESCAPES) == r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|"
    assert fill("{% macro b(c) %}<b>{{ c }}</b>{% endmacro %}{{ b(a) }}").render(a="<") == "<b>&lt;</b>"
    with pytest.raises(UndefinedError):
        fill("{{ a }}").render()


def test_code_that_would_end_its_element_is_refused() -> None:
    assert _code("script", "a < b") == "a < b"
    for code in (f"'{SCRIPT}'", "</SCRIPT >", "<!--"):
        with pytest.raises(ValueError, match="end tag"):
            _code("script", code)


def test_data_for_scripts_cannot_end_its_element() -> None:
    data = {"name": SCRIPT + "\u2028&<!--"}
    written = _environment().from_string("{{ data | tojson }}").render(data=data)
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == data
    with pytest.raises(ValueError, match="JSON compliant"):
        _environment().from_string("{{ data | tojson }}").render(data=math.nan)


def test_whatever_is_hostile_stays_text(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = f'{SCRIPT}"{ESCAPES}'
    table = Table("top_kernels", bad, tuple(replace(column, doc=bad) for column in TOP_KERNELS))
    verdict = {"rank": 0, "step": None, "bound": bad, "evidence": bad, "value": 1.0, "unit": bad}
    sections = [section(VERDICT, [verdict], bad), section(table, [ROWS[0] | {"name": bad}], bad)]
    odd = replace(table, name=bad)
    sections += [section(odd, [ROWS[0]]), section(odd, [], missing=bad)]
    sections = [replace(one, analysis=replace(one.analysis, question=bad)) for one in sections]
    lost = pl.DataFrame([dict.fromkeys(TABLES["diagnostics"].names, bad) | {"rank": 0, "count": 1}])
    kept = trace(
        sources=[{"name": bad, "kind": bad, "size_bytes": 1, "sha256": bad}], tracelens_version=bad, time_base=bad
    )
    monkeypatch.setattr(Trace, "frame", lambda *_: lost)
    for is_asked in (False, True):
        tags = tags_of(to_html(Report(kept, kept, sections, is_asked)))
        assert "img" not in {tag for tag, _ in tags.found}
        said = [*tags.text, *(value or "" for _, found in tags.found for value in found.values())]
        assert sum("onerror" in text for text in said) > 20
        assert [text for text in said if not text.strip("\n").isprintable()] == []
        assert not {name for _, found in tags.found for name in found if name.startswith("on")}
        assert [json.loads(code) for _, about, code in tags.code if about.get("type") == "application/json"]


def browse(page: Path, profile: Path, *more: str) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and the lines of its console."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={profile}",
            "--enable-logging=stderr", "--v=0", "--virtual-time-budget=10000", *more, "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_chromium
@pytest.mark.parametrize("window", ["--window-size=1400,1000", "--window-size=380,800"])
def test_charts_are_drawn_without_a_complaint_and_hostile_names_stay_text(tmp_path: Path, window: str) -> None:
    (tmp_path / "r.html").write_text(to_html(report()))
    dom, console = browse(tmp_path / "r.html", tmp_path / "profile", window)
    assert console == []
    charts = re.findall(r'<div[^>]*data-chart="[^"]+"[^>]*>(.*?)</figure>', dom, flags=re.DOTALL)
    assert len(charts) == 1
    assert "<svg" in charts[0]
    assert "img" not in {tag for tag, _ in tags_of(dom).found}
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in charts[0]


@needs_chromium
def test_the_browser_enforces_the_policy(tmp_path: Path) -> None:
    page = to_html(report()).replace("</body>", "<script>document.title = 'ran'</script></body>")
    (tmp_path / "r.html").write_text(page)
    dom, console = browse(tmp_path / "r.html", tmp_path / "profile")
    assert "<title>run.json.gz - tracelens</title>" in dom
    assert any("Content Security Policy" in line for line in console)
