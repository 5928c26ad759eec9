"""The HTML page as text: its parts, tables and data, and that hostile names stay text."""

import base64
import hashlib
import json
import math
import re
import sys
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from jinja2 import UndefinedError
from msgspec.structs import replace

from tests.cases import make_trace
from tests.html_pages import tables_of, tags_of
from tests.sample_reports import (
    ESCAPES,
    LONG_KERNEL,
    ROWS,
    SCRIPT,
    TOP_KERNELS,
    VERDICT,
    report,
    section,
    trace,
)
from tracelens import collect
from tracelens.cli.io import _hidden
from tracelens.derive.rank_ranges import merge_ranks
from tracelens.derive.time.model import time_model
from tracelens.report import Report, build_report
from tracelens.schemas import TABLES
from tracelens.storage.table import Table
from tracelens.trace import Trace
from tracelens.views.first_screen import card
from tracelens.views.page import _code, _environment, to_html
from tracelens.views.values import shorten_apart


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(report())


@pytest.mark.slow
def test_the_page_refers_to_nothing_outside_itself(page: str) -> None:
    for tag, attributes in tags_of(page).found:
        assert tag not in {"img", "link", "iframe", "object", "base", "form"}
        assert not {"src", "srcset", "style", "onerror", "onclick", "onload"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")


def test_only_the_code_of_the_page_may_run(page: str) -> None:
    tags = tags_of(page)
    policy = next(
        a["content"] for t, a in tags.found if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, attributes, code in tags.code:
        if "type" not in attributes:
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy, tag
    assert [tag for tag, a, _ in tags.code if "type" not in a] == ["style", "script", "script"]


def test_headings_captions_language_and_links(page: str) -> None:
    tags = tags_of(page)
    assert ("html", {"lang": "en"}) in tags.found
    names = [tag for tag, _ in tags.found]
    assert names.count("h1") == 1
    assert names.count("table") == names.count("caption")
    places = {a["id"] for _, a in tags.found if "id" in a}
    links = {(a["href"] or "").removeprefix("#") for tag, a in tags.found if tag == "a"}
    assert links <= places
    assert len([a for _, a in tags.found if "id" in a]) == len(places)


def test_a_table_is_embedded_with_numbers_as_stored() -> None:
    (table,) = tables_of(
        to_html(report(section(TOP_KERNELS, [*ROWS, ROWS[0] | {"size_bytes": 2**53 + 1}])))
    )
    columns = {column["name"]: column for column in table["columns"]}
    assert (table["name"], table["height"], table["tree"]) == ("top_kernels", 4, None)
    assert columns["duration_total_ns"]["values"] == [2_500_000, 7_000, 1_000, 2_500_000]
    assert columns["size_bytes"]["values"] == [19_267_584, None, 0, str(2**53 + 1)]
    assert columns["share_frac"]["values"] == [0.25, None, 0.0, 0.25]
    assert columns["bandwidth_bytes_per_s"]["values"] == [12.5e9, "inf", None, 12.5e9]
    assert columns["name"]["words"] == [
        LONG_KERNEL,
        SCRIPT,
        r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|",
    ]
    assert columns["name"]["at"] == [0, 1, 2, 0]


def test_tables_over_the_budget_are_cut_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = [
        ROWS[0] | {"name": hashlib.sha256(bytes([i % 256, i // 256])).hexdigest()}
        for i in range(500)
    ]
    sections = [section(TOP_KERNELS, large), section(replace(TOP_KERNELS, name="small"), ROWS)]
    assert [table["height"] for table in tables_of(to_html(report(*sections)))] == [500, 3]
    monkeypatch.setattr("tracelens.views.embedding.BUDGET", 10_000)
    page = to_html(report(*sections))
    first, second = tables_of(page)
    assert 0 < first["height"] < 500
    assert second["height"] == 3
    assert f"The page holds the first {first['height']} of 500 rows; --format csv has all." in page
    monkeypatch.undo()
    monkeypatch.setattr("tracelens.views.embedding.MOST_ROWS", 100)
    assert [table["height"] for table in tables_of(to_html(report(*sections)))] == [100, 3]


def test_long_names_keep_what_differs() -> None:
    names = [f"gemm<{'x' * 80}{i}{'y' * 80}>" for i in range(3)]
    forms = shorten_apart([*names, "short"], 60)
    assert all(str(i) in forms[name] and len(forms[name]) <= 64 for i, name in enumerate(names))
    assert len({*forms.values()}) == 3
    assert "short" not in forms


def test_a_megabyte_of_template_is_cut_in_its_middle() -> None:
    name = "f<" + "std::tuple<" * 100_000 + ">" * 100_001
    made = report(section(TOP_KERNELS, [ROWS[0] | {"name": name}], f"Most time is {name}."))
    assert len(to_html(made)) < len(to_html(report())) + 30_000


def test_the_page_opens_with_what_was_captured() -> None:
    steps = [
        {"step": i, "start_ns": i * 10, "duration_ns": ns}
        for i, ns in enumerate((10_000, 30_000, 20_000))
    ]
    made = make_trace(
        steps=steps, kernels=[{"device_id": 3}], devices=[{"device_id": 3, "name": "H200"}]
    )
    source = {"rank": 0, "producer": "torch.profiler", "versions": {"torch": "2.11"}}
    cost = {"unprofiled_step_ns": {"median": 16_000}, "profiled_step_ns": {"mean": 20_000}}
    made.manifest.sources = [source | {"settings": cost}]
    assert dict(card(time_model(made))) == {
        "program": "unnamed",
        "captured by": "torch.profiler",
        "GPU": "H200",
        "versions": "torch 2.11",
        "steps": "3",
        "step time": "20.0 µs in the median; 10.0 to 30.0 µs",
        "profiler's cost": "25% of a step: 16.0 µs without it",
    }
    page = to_html(Report(made, None, []))
    assert "<dt>GPU</dt><dd>H200</dd>" in page
    assert "Nothing was dropped." in page
    assert "This capture is incomplete" in to_html(Report(trace(complete=False), None, []))


def test_sentences_lead_to_the_sections_that_they_name() -> None:
    page = to_html(
        report(
            section(TOP_KERNELS, ROWS, "Launch fewer kernels (see idle_gaps, top_kernels)."),
            section(VERDICT, []),
        )
    )
    assert '(see idle_gaps, <a href="#top_kernels">top_kernels</a>).' in page


def test_each_rank_has_its_card() -> None:
    rows = [
        {
            "rank": r,
            "step": None,
            "bound": b,
            "evidence": f"evidence {r}",
            "value": 0.5,
            "unit": "1",
        }
        for r, b in enumerate(("compute", "copy"))
    ]
    page = to_html(report(section(VERDICT, rows), section(TOP_KERNELS, ROWS)))
    assert (
        '<div class="card compute"><p class="where">rank 0</p><p class="bound">compute 50 %</p>'
        in page
    )
    assert '<p class="bound">copies 50 %</p><p>evidence 1 (see copy_cost)</p>' in page.replace(
        "\n", ""
    )
    assert 'evidence 0 (see <a href="#top_kernels">top_kernels</a>)' in page


def test_ranks_with_the_same_verdict_share_a_card() -> None:
    rows = [
        {
            "rank": r,
            "step": None,
            "bound": "launch",
            "evidence": f"it computes {10 + r}.5%",
            "value": r / 100,
            "unit": "1",
        }
        for r in range(63)
    ]
    rows.append(
        {
            "rank": 63,
            "step": None,
            "bound": "copy",
            "evidence": "it copies",
            "value": 0.5,
            "unit": "1",
        }
    )
    notes = [f"Rank {r}: {r + 1} of 1,000 kernels took {r}.25 ms." for r in range(63)] + [
        "Rank 63: no kernels."
    ]
    assert merge_ranks([*notes, "All."]) == [
        "Ranks 0 to 62: 1 to 63 of 1,000 kernels took 0.25 to 62.25 ms.",
        "Rank 63: no kernels.",
        "All.",
    ]
    assert merge_ranks([f"Rank {r} waits {r} ms on sm80_x{r}" for r in (0, 1, 2, 7, 7)]) == [
        f"Rank {r} waits {r} ms on sm80_x{r}" for r in (0, 1, 2, 7, 7)
    ]
    assert merge_ranks([f"Rank {r}: {r}.5 to {r + 9} ms" for r in range(5)]) == [
        "Ranks 0 to 4: 0.5 to 13 ms"
    ]
    assert merge_ranks([f"Rank {r} waits {r} ms" for r in (0, 1, 3, 4, 6)]) == [
        "Each of ranks 0 to 1, 3 to 4, 6 waits 0 to 6 ms"
    ]
    page = to_html(report(section(VERDICT, rows)))
    assert page.count('<p class="bound">') == 2
    assert '<p class="where">ranks 0 to 62</p>' in page
    assert "launches 0 to 62 %</p>\n<p>it computes 10.5 to 72.5% (see idle_gaps)" in page


def test_a_section_without_rows_is_a_line_at_the_end() -> None:
    page = to_html(
        report(section(TOP_KERNELS, ROWS), section(VERDICT, [], "No shapes, so nothing is judged."))
    )
    assert '<section id="verdict"' not in page
    assert (
        "<li>verdict: No shapes, so nothing is judged.</li>"
        in page[page.index('<section id="unanswered"') :]
    )


def test_what_has_no_answer_is_no_section_of_the_page() -> None:
    page = to_html(build_report(make_trace(timings=[{"method": "e2e"}])))
    navigation = page[page.index("<nav") : page.index("</nav>")]
    assert re.findall(r">([^<>]+)</a>", navigation) == [
        "timing methods",
        "data quality",
        "unanswered",
        "sources",
    ]
    alone = to_html(build_report(make_trace(timings=[{"method": "e2e"}]), names=["timing_methods"]))
    navigation = alone[alone.index("<nav") : alone.index("</nav>")]
    assert re.findall(r">([^<>]+)</a>", navigation) == ["timing methods", "sources"]


def test_three_sections_stand_open_and_others_give_their_finding() -> None:
    sections = []
    for name in ("changes", "top_kernels", "top_ops", "idle_gaps", "worst_ranks"):
        known = section(TOP_KERNELS, ROWS, f"About {name}.", "And more.")
        analysis = replace(known.analysis, result=replace(TOP_KERNELS, name=name))
        sections.append(replace(known, analysis=analysis))
    made = report(*sections)
    folds = re.findall(r'<section id="(\w+)".*\n?<details class="fold"( open)?>', to_html(made))
    assert [name for name, is_open in folds if is_open] == [
        "worst_ranks",
        "idle_gaps",
        "top_kernels",
    ]
    assert [name for name, is_open in folds if not is_open] == ["changes", "top_ops", "sources"]
    assert '<span class="finding">About changes.</span></summary>' in to_html(made)
    asked = to_html(replace(made, is_asked=True))
    assert asked.count('<details class="fold" open>') == 5


def test_the_template_escapes_text_and_attributes() -> None:
    fill = _environment().from_string
    assert (
        fill('<p title="{{ a }}">{{ b }}</p>').render(a="\"'&", b=SCRIPT)
        == '<p title="&#34;&#39;&amp;">&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</p>'
    )
    assert fill("{{ a }}").render(a=ESCAPES) == r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|"
    assert (
        fill("{% macro b(c) %}<b>{{ c }}</b>{% endmacro %}{{ b(a) }}").render(a="<")
        == "<b>&lt;</b>"
    )
    assert fill("{{ a | with_code }}").render(a="`x` is `<b>`, 3`") == (
        "<code>x</code> is <code>&lt;b&gt;</code>, 3`"
    )
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
        sources=[{"name": bad, "kind": bad, "size_bytes": 1, "sha256": bad}],
        tracelens_version=bad,
        time_base=bad,
    )
    stored = Trace.frame
    monkeypatch.setattr(
        Trace, "frame", lambda self, name: lost if name == "diagnostics" else stored(self, name)
    )
    for is_asked in (False, True):
        page = to_html(Report(kept, kept, sections, is_asked))
        tags = tags_of(page)
        assert "img" not in {tag for tag, _ in tags.found}
        said = [*tags.text, *(value or "" for _, found in tags.found for value in found.values())]
        assert sum("onerror" in text for text in said) > 20
        assert [text for text in said if not text.strip("\n").isprintable()] == []
        assert not {name for _, found in tags.found for name in found if name.startswith("on")}
        assert [
            json.loads(code)
            for _, about, code in tags.code
            if about.get("type") == "application/json"
        ]
        words = [
            word
            for table in tables_of(page)
            for column in table["columns"]
            for word in column.get("words", [])
        ]
        assert any("onerror" in word for word in words)
        assert all(word.isprintable() for word in words)


@pytest.mark.slow
def test_each_view_of_a_job_has_all_steps_of_its_rank_above_it() -> None:
    page = to_html(build_report(collect(Path(__file__).parents[1] / "samples" / "ranks")), rows=1)
    tags = tags_of(page).found
    ranks = {about["data-rank"] for _, about in tags if about.get("data-step")}
    assert ranks == {"ranks 1, 0", "rank 0", "rank 1"}
    assert {about["data-overview"] for _, about in tags if "data-overview" in about} == ranks


def test_a_hidden_package_can_be_imported_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with _hidden(("colorsys", "json")):
        assert import_module("json") is json
        with pytest.raises(ImportError):
            import_module("colorsys")
    assert import_module("colorsys").__name__ == "colorsys"
