"""The HTML page as a whole: what it may load, and how it fares in a real browser."""

import base64
import hashlib
import json
import math
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jinja2 import UndefinedError

from tests.cases import make_trace
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
from tracelens.derive.rank_ranges import merge_ranks
from tracelens.report import Report, build_report
from tracelens.schemas import TABLES
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace
from tracelens.views.card import card
from tracelens.views.page import _code, _environment, to_html
from tracelens.views.values import shorten_apart

CHROMIUM = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))),
    None,
)
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


def tables_of(page: str) -> list[dict[str, Any]]:
    """The data of the page's tables."""
    found = [
        code
        for _, about, code in tags_of(page).code
        if about.get("type") == "application/octet-stream"
    ]
    return [json.loads(zlib.decompress(base64.b64decode(code))) for code in found]


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
    assert dict(card(made)) == {
        "program": "unnamed",
        "captured by": "torch.profiler",
        "GPU": "H200",
        "versions": "torch 2.11",
        "steps": "3",
        "step time": "20.000 µs in the median; 10.000 µs to 30.000 µs",
        "profiler's cost": "25% of a step: 16.000 µs without it",
    }
    page = to_html(Report(made, None, []))
    assert "<dt>GPU</dt><dd>H200</dd>" in page
    assert "Nothing was dropped." in page
    assert "This capture is incomplete" in to_html(Report(trace(complete=False), None, []))


def test_sentences_lead_to_the_sections_that_they_name() -> None:
    page = to_html(
        report(
            section(TOP_KERNELS, ROWS, "Launch less (see idle_gaps, top_kernels)."),
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
        in page[page.index('<section id="unanswered">') :]
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


def browse(page: Path, profile: Path, *more: str) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and the lines of its console."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=10000",
            *more,
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


ACTIONS = """
const wait = setInterval(async () => {
  if (!("drawn" in document.documentElement.dataset)) return;
  clearInterval(wait);
  const found = {}, at = (name) => document.getElementById(name);
  const rows = (name) => [...at(name).querySelectorAll("tbody tr")];
  const cells = (name, column) => rows(name).map((row) => row.cells[column].textContent);
  const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  const button = (name, word) => [...at(name).querySelectorAll("button")].find((one) => one.textContent === word);
  const put = (node, value) => {
    node.value = value;
    node.dispatchEvent(new Event(node.tagName === "INPUT" ? "input" : "change"));
  };
  const [mode, rank] = at("layers").querySelectorAll("select");
  put(mode, "rows");
  found.first = cells("layers", 1);
  button("layers", "Next").click();
  found.next = cells("layers", 1);
  at("layers").querySelectorAll("th button")[2].click();
  found.rising = cells("layers", 2);
  put(rank, "1");
  found.rank = [...new Set(cells("layers", 0))];
  const limit = at("layers").querySelector("input.limit"), [, , where] = at("layers").querySelectorAll("select");
  put(limit, "> 25");
  found.above = cells("layers", 1);
  put(limit, "29..30");
  found.between = cells("layers", 1);
  put(where, where.options[where.options.length - 1].value);
  put(limit, "=1");
  found.percent = cells("layers", 1).length;
  put(limit, "many");
  found.invalid = [limit.getAttribute("aria-invalid"), cells("layers", 1).length];
  put(limit, "");
  put(at("layers").querySelector("input[type=search]"), "layer.1");
  found.searched = cells("layers", 1);
  put(at("layers").querySelector("input[type=search]"), "=1");
  let copied = "";
  Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { copied = text; }}});
  await button("layers", "Copy as CSV").click();
  found.copied = copied.split("\\n");
  put(at("layers").querySelector("input[type=search]"), "");
  put(mode, "class");
  found.classes = cells("layers", 1).map((text, i) => [text, cells("layers", 2)[i]]);
  put(mode, "tree");
  const top = at("layers").querySelectorAll("tbody tr")[1];
  top.focus();
  press(top, "ArrowLeft");
  found.closed = cells("layers", 1);
  press(document.activeElement, "ArrowRight");
  press(document.activeElement, "ArrowDown");
  found.focus = document.activeElement.cells[1].textContent;
  const hostile = at("top_kernels").querySelectorAll("tbody tr");
  found.short = getComputedStyle(hostile[0].querySelector(".short")).display;
  hostile[0].focus();
  found.shortOnFocus = getComputedStyle(hostile[0].querySelector(".short")).display;
  found.whole = hostile[0].querySelector(".whole").textContent;
  found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  document.body.dataset.found = JSON.stringify(found);
}, 20);
"""
KEYS = """
const wait = setInterval(() => {
  if (!("drawn" in document.documentElement.dataset)) return;
  clearInterval(wait);
  const canvas = document.querySelector("#timeline canvas"), said = document.querySelector("#timeline [aria-live]");
  const found = [], picture = () => canvas.toDataURL();
  for (const key of [".", "Enter", "-", "ArrowLeft", "0", "ArrowDown"]) {
    const before = picture();
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    found.push([said.textContent, picture() !== before]);
  }
  document.body.dataset.found = JSON.stringify(found);
}, 20);
"""
LAYERS = Table(
    "layers",
    "A layer.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("layer", pl.String, "Layer."),
        Column("duration_total_ns", pl.Int64, "Time.", "ns"),
        Column("share_frac", pl.Float64, "Share."),
    ),
)


def acted(page: str, script: str, folder: Path, *more: str) -> Any:
    """Return what a script that the page's policy allows leaves in the body's data."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    (folder / "r.html").write_text(
        page.replace("</body>\n</html>", f"<script>{script}</script></body></html>")
    )
    dom, console = browse(folder / "r.html", folder / "profile", *more)
    assert console == []
    return json.loads(dict(tags_of(dom).found)["body"]["data-found"] or "")


LOOK_AROUND = """
const wait = setInterval(async () => {
  if (!("drawn" in document.documentElement.dataset)) return;
  clearInterval(wait);
  const timeline = document.getElementById("timeline"), canvas = timeline.querySelector("canvas");
  const found = {}, box = timeline.querySelector("input[type=search]");
  box.value = "gemm";
  box.dispatchEvent(new Event("input"));
  found.hits = timeline.querySelector("[role=status]").textContent;
  box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  const terms = () => Object.fromEntries([...timeline.querySelectorAll(".details dl div")].map((one) =>
    [one.querySelector("dt").textContent, one.querySelector("dd").textContent]));
  found.kernel = terms();
  found.stack = [...timeline.querySelectorAll(".details ol li")].map((one) => one.textContent);
  const buttons = [...timeline.querySelectorAll(".details button")];
  found.rows = buttons.map((one) => one.textContent);
  buttons[0].click();
  found.launch = terms().what;
  const tall = canvas.height;
  timeline.querySelector("input[type=checkbox]").click();
  found.taller = canvas.height > tall;
  found.steps = [...timeline.querySelectorAll(".overview title")].map((one) => one.textContent);
  const longest = timeline.querySelectorAll(".overview .can")[1];
  longest.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  await new Promise((resolve) => { setTimeout(resolve, 300); });
  found.chosen = timeline.querySelector("select").value;
  found.ticks = [ticks(0, 1e6, 5), ticks(15_000_000, 50, 5)].map((list) => list.map(([, text]) => text));
  document.body.dataset.found = JSON.stringify(found);
}, 20);
"""


@needs_chromium
def test_a_click_tells_of_a_bar_and_steps_are_chosen(
    tmp_path: Path,
) -> None:
    thread = {"process_id": 1, "thread_id": 5}
    made = make_trace(
        spans=[
            thread | {"kind": "python", "name": "train.py(3): step", "duration_ns": 4_000},
            thread
            | {
                "kind": "op",
                "name": SCRIPT,
                "start_ns": 500,
                "duration_ns": 3_000,
                "module_path": "net.linear",
                "input_shapes": "[[8, 4]]",
            },
        ],
        api_calls=[thread | {"api": "launch", "start_ns": 1_100, "duration_ns": 100, "span_id": 1}],
        kernels=[
            {
                "name": "gemm",
                "start_ns": 1_500,
                "duration_ns": 500,
                "api_call_id": 0,
                "span_id": 1,
                "step": 0,
            }
            | {f"grid_{axis}": 2 for axis in "xyz"}
            | {f"block_{axis}": 32 for axis in "xyz"}
        ],
        steps=[
            {"step": 0, "start_ns": 0, "duration_ns": 4_000},
            {"step": 1, "start_ns": 4_000, "duration_ns": 5_000},
        ],
    )
    page = to_html(Report(made, None, [section(TOP_KERNELS, [ROWS[0] | {"name": "gemm"}])]))
    found = acted(page, LOOK_AROUND, tmp_path)
    assert found["hits"] == "1 found; Enter goes to the next"
    assert found["kernel"] == {
        "what": "gemm",
        "kind": "unknown",
        "took": "500 ns",
        "began": "1.5 µs from the left end",
        "where": "GPU 0 stream 0",
        "op": SCRIPT,
        "layer": "net.linear",
        "shapes": "[[8, 4]]",
        "size": "grid 2×2×2, block 32×32×32",
    }
    assert found["stack"] == [f"{SCRIPT} (op)", "train.py(3): step (python)"]
    assert found["rows"] == ["Show its launch", "gemm in top kernels (1)"]
    assert found["launch"] == "launch"
    assert found["taller"]
    assert found["steps"] == [
        "step 0: 4 µs; click to see it",
        "step 1: 5 µs; click to see it",
    ]
    assert found["chosen"] == "1 (longest)"
    assert found["ticks"][0] == ["0.0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1.0 ms"]
    assert len({*found["ticks"][1]}) == len(found["ticks"][1]) > 1


@needs_chromium
def test_the_timeline_is_zoomed_and_walked_through_with_keys(tmp_path: Path) -> None:
    thread = {"process_id": 1, "thread_id": 5}
    made = make_trace(
        spans=[
            thread | {"kind": "op", "name": SCRIPT, "start_ns": 0, "duration_ns": 4_000},
            thread | {"kind": "op", "name": "inner", "start_ns": 1_000, "duration_ns": 500},
        ],
        api_calls=[thread | {"api": "launch", "start_ns": 1_100, "duration_ns": 100}],
        kernels=[
            {
                "name": "gemm",
                "start_ns": 1_500,
                "duration_ns": 500,
                "api_call_id": 0,
                "stream_id": 7,
                "step": 0,
            }
        ],
        steps=[{"step": 0, "start_ns": 0, "duration_ns": 4_000}],
    )
    said = acted(to_html(Report(made, None, [])), KEYS, tmp_path)
    assert said[:5] == [["gemm (unknown): 500 ns at 1.5 µs", True]] * 5
    assert said[5][1]
    assert said[5][0].endswith("(idle: launch): 1.5 µs at 0 ns")


@needs_chromium
@pytest.mark.parametrize("window", ["--window-size=1400,1000", "--window-size=500,800"])
def test_tables_are_sorted_searched_copied_and_grown(tmp_path: Path, window: str) -> None:
    layers = [
        {"rank": rank, "layer": f"net.layer.{i}", "duration_total_ns": 30 - i, "share_frac": 0.01}
        for rank in (0, 1)
        for i in range(20)
    ]
    layers.append({"rank": 1, "layer": "=1+2", "duration_total_ns": 1, "share_frac": 0.0})
    found = acted(
        to_html(report(section(LAYERS, layers), section(TOP_KERNELS, ROWS))),
        ACTIONS,
        tmp_path,
        window,
    )
    assert found["first"] == [f"net.layer.{i // 2}" for i in range(25)]
    assert len(found["next"]) == 16
    assert found["rising"][:3] == ["1", "11", "11"]
    assert found["rank"] == ["1"]
    assert found["above"] == [f"net.layer.{i}" for i in (4, 3, 2, 1, 0)]
    assert found["between"] == ["net.layer.1", "net.layer.0"]
    assert found["percent"] == 20
    assert found["invalid"] == ["true", 21]
    assert found["searched"] == [
        f"net.layer.{i}" for i in (19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 1)
    ]
    assert found["copied"][:2] == ["rank,layer,duration_total_ns,share_frac", "1,'=1+2,1,0"]
    assert found["classes"] == [
        ["=*+*", "1"],
        ["▾ net", "410"],
        ["▾ layer", "410"],
        ["* ×20", "410"],
    ]
    assert found["closed"] == ["=1+2", "▸ net"]
    assert found["focus"] == "▾ layer"
    assert (found["short"], found["shortOnFocus"], found["whole"]) == (
        "inline",
        "none",
        LONG_KERNEL,
    )
    assert found["wide"] == 0


@needs_chromium
@pytest.mark.parametrize("window", ["--window-size=1400,1000", "--window-size=380,800"])
def test_charts_are_drawn_and_hostile_names_stay_text(tmp_path: Path, window: str) -> None:
    (tmp_path / "r.html").write_text(to_html(report()))
    dom, console = browse(tmp_path / "r.html", tmp_path / "profile", window)
    assert console == []
    charts = re.findall(r'<figure class="chart">.*?</script>(.*?)</figure>', dom, flags=re.DOTALL)
    assert len(charts) == 1
    assert "<svg" in charts[0]
    assert "img" not in {tag for tag, _ in tags_of(dom).found}
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in charts[0]


@needs_chromium
def test_the_browser_enforces_the_policy(tmp_path: Path) -> None:
    page = to_html(report()).replace(
        "</body>\n</html>", "<script>document.title = 'ran'</script></body>"
    )
    (tmp_path / "r.html").write_text(page)
    dom, console = browse(tmp_path / "r.html", tmp_path / "profile")
    assert "<title>run.json.gz - tracelens</title>" in dom
    assert any("Content Security Policy" in line for line in console)
