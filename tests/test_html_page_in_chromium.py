"""The HTML page in a browser: what clicks and keys do, and that its policy holds."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.cases import make_trace
from tests.html_pages import browse, needs_chromium, tags_of
from tests.sample_reports import (
    LONG_KERNEL,
    ROWS,
    SCRIPT,
    TOP_KERNELS,
    report,
    section,
)
from tests.selection import only
from tracelens.report import Report
from tracelens.storage.table import Column, Table
from tracelens.views.page import to_html

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
  at("layers").querySelector("summary").click();
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
  found.breaking = [...new Set([...document.querySelectorAll("td.long")].map((cell) => cell.closest("section").id))];
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
  scrollTo(0, 0);
  const table = document.getElementById("top_kernels"), isSeen = ({top, bottom}) => top >= 0 && bottom <= innerHeight;
  found.seen = [isSeen(table.querySelector("tbody tr").getBoundingClientRect())];
  buttons[1].click();
  found.seen.push(isSeen(document.activeElement.getBoundingClientRect()));
  found.row = document.activeElement.cells?.[0].textContent;
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
    assert found["seen"] == [False, True]
    assert found["row"] == "gemm"
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
    assert said[5][0].endswith("(idle: launches): 1.5 µs at 0 ns")


@needs_chromium
@pytest.mark.parametrize(
    "window",
    only(["--window-size=1400,1000"], ["--window-size=1400,1000", "--window-size=500,800"]),
)
def test_tables_are_sorted_searched_copied_and_grown(tmp_path: Path, window: str) -> None:
    layers = [
        {"rank": rank, "layer": f"net.layer.{i}", "duration_total_ns": 30 - i, "share_frac": 0.01}
        for rank in (0, 1)
        for i in range(20)
    ]
    layers.append({"rank": 1, "layer": "=1+2", "duration_total_ns": 1, "share_frac": 0.0})
    found = acted(
        to_html(report(section(LAYERS, layers), section(TOP_KERNELS, ROWS)), 25),
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
    assert found["breaking"] == ["top_kernels"]
    assert found["wide"] == 0


FOLDS = """
const wait = setInterval(async () => {
  if (!("drawn" in document.documentElement.dataset)) return;
  clearInterval(wait);
  const found = [], closed = document.getElementById("closed"), fold = closed.querySelector("details");
  const look = async () => {
    await new Promise((resolve) => { setTimeout(resolve, 50); });
    found.push([fold.open, closed.querySelectorAll(".chart svg").length]);
  };
  await look();
  document.querySelector("nav a[href='#closed']").click();
  await look();
  fold.open = false;
  window.dispatchEvent(new Event("beforeprint"));
  await look();
  window.dispatchEvent(new Event("afterprint"));
  await look();
  document.querySelector(".folds button").click();
  await look();
  const charts = [...document.querySelectorAll(".chart svg")].map((svg) => svg.textContent);
  document.body.dataset.found = JSON.stringify([found, charts, document.querySelectorAll("img").length]);
}, 20);
"""


@needs_chromium
@pytest.mark.parametrize(
    "window", only(["--window-size=380,800"], ["--window-size=1400,1000", "--window-size=380,800"])
)
def test_charts_are_drawn_once_their_section_is_opened(tmp_path: Path, window: str) -> None:
    opened = section(TOP_KERNELS, ROWS)
    analysis = replace(opened.analysis, result=replace(TOP_KERNELS, name="closed"))
    made = report(opened, replace(opened, analysis=analysis))
    found, charts, images = acted(to_html(made), FOLDS, tmp_path, window)
    assert found == [[False, 0], [True, 1], [True, 1], [False, 1], [True, 1]]
    assert len(charts) == 2
    assert all(SCRIPT in chart for chart in charts)
    assert images == 0


@needs_chromium
def test_the_browser_enforces_the_policy(tmp_path: Path) -> None:
    page = to_html(report()).replace(
        "</body>\n</html>", "<script>document.title = 'ran'</script></body>"
    )
    (tmp_path / "r.html").write_text(page)
    dom, console = browse(tmp_path / "r.html", tmp_path / "profile")
    assert "<title>run.json.gz - tracelens</title>" in dom
    assert any("Content Security Policy" in line for line in console)
