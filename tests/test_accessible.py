"""Pages of bundled captures in a browser: axe-core is silent, nothing is wider than the window."""

import base64
import hashlib
import importlib.util
import json
from pathlib import Path

import pytest

from tests.html_pages import CHROMIUM, browse, tags_of
from tests.selection import only
from tracelens import collect
from tracelens.report import build_report
from tracelens.views.page import to_html

SAMPLES = Path(__file__).parents[1] / "samples"
AXE = importlib.util.find_spec("axe_core_python")
NARROW, WIDE = "--window-size=500,900", "--window-size=1280,900"
PAGES = {
    "one program": ("planted/captures/input_main_process.stacks.pt.trace.json.gz", None, WIDE),
    "ranks": ("ranks", None, WIDE),
    "stacks": ("stacks/h200_torch211_cudnn_v8.txt", "stacks/h200_torch211_cudnn_v7.txt", NARROW),
}
"""Sources, what they are compared with, and the window."""
ROWS = 5
"""Rows of tables at a time: axe-core looks at each cell."""
needs_both = pytest.mark.skipif(
    CHROMIUM is None or AXE is None, reason="needs chromium and the package axe-core-python"
)
LOOK = """
const wait = setInterval(async () => {
  if (!("drawn" in document.documentElement.dataset)) return;
  clearInterval(wait);
  document.querySelector(".folds button")?.click();
  await new Promise((resolve) => { setTimeout(resolve, 500); });
  const {violations} = await window.axe.run();
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const found = violations.map(({id, nodes}) => `${id}: ${nodes[0].html.slice(0, 100)}`);
  document.body.dataset.found = JSON.stringify([wide, found]);
}, 20);
"""


def looked_at(page: str, folder: Path, window: str) -> tuple[int, list[str]]:
    """Return by how many pixels a page is wider than the window, and what axe-core reports."""
    assert AXE is not None
    assert AXE.origin is not None
    axe = (Path(AXE.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    digests = [hashlib.sha256(code.encode()).digest() for code in (axe, LOOK)]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    page = page.replace("script-src ", f"script-src {allowed} ", 1)
    code = f"<script>{axe}</script><script>{LOOK}</script></body>"
    (folder / "page.html").write_text(code.join(page.rsplit("</body>", 1)), encoding="utf-8")
    dom, _ = browse(folder / "page.html", folder / "profile", window)
    wide, found = json.loads(dict(tags_of(dom).found)["body"]["data-found"] or "")
    return wide, found


@needs_both
@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    # A page of ranks has what that of one program has, and more.
    only(["ranks"], ["one program", "ranks", "stacks"]),
)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(what: str, tmp_path: Path) -> None:
    source, base, window = PAGES[what]
    other = collect(SAMPLES / base) if base else None
    page = to_html(build_report(collect(SAMPLES / source), other), rows=ROWS)
    assert looked_at(page, tmp_path, window) == (0, [])


@needs_both
@pytest.mark.slow
def test_axe_finds_a_button_without_a_name(tmp_path: Path) -> None:
    page = """<html lang="en" data-drawn><title>x</title><body><main><h1>x</h1>
    <button></button><pre>%s</pre></main></body></html>"""
    wide, found = looked_at(page % ("x" * 400), tmp_path, NARROW)
    assert wide > 0
    assert [one.partition(":")[0] for one in found] == ["button-name"]
