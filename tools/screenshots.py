"""Draw pictures of the page with chromium, from bundled captures: four widths, light and dark.

    python -m tools.screenshots [NAME…]

Pictures of the first page go into docs/screenshots, all others into build/screenshots.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tracelens as tl
from tracelens.report import build_report
from tracelens.views.page import to_html

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
PAGES = {
    "program": ("planted/captures/input_main_process.stacks.pt.trace.json.gz", None),
    "demo": ("torch/resnet50_train_f64_pageable.pt.trace.json.gz", None),
    "ranks": ("ranks", None),
    "comparison": (
        "graphs/vit_reduce_overhead.pt.trace.json.gz",
        "graphs/vit_eager.pt.trace.json.gz",
    ),
    "gdb": ("stacks/h200_torch211_cudnn_v8.txt", "stacks/h200_torch211_cudnn_v7.txt"),
    "nsys": ("nsys/train_f64_resnet50.sqlite", None),
}
"""By name of the page, its capture and the capture of the base, None without a comparison."""
IN_DOCS = "program"
"""The page whose pictures docs/site/page.md shows."""
IN_README = "demo"
WIDTHS = {400: 1000, 768: 900, 1280: 900, 1920: 900}
"""Widths in pixels, each with the height of the picture."""
SCHEMES = {"light": "1", "dark": "0"}
"""Colour schemes, each with chromium's number for it."""


def main(names: list[str]) -> None:
    """Draw the named pages, by default all."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "google-chrome"))),
        None,
    )
    if chromium is None:
        raise SystemExit("screenshots need chromium: apt-get install chromium")
    for name in names or PAGES:
        source, base = PAGES[name]
        other = None if base is None else tl.collect(SAMPLES / base)
        page = to_html(build_report(tl.collect(SAMPLES / source), other))
        folder = ROOT / ("docs" if name == IN_DOCS else "build") / "screenshots"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            file = Path(work, "page.html")
            file.write_text(page, encoding="utf-8")
            for width, height in WIDTHS.items():
                for scheme in SCHEMES:
                    target = folder / f"{name}-{width}-{scheme}.png"
                    _draw(
                        [chromium, f"--user-data-dir={work}/profile"],
                        file,
                        target,
                        (width, height),
                    )
                    print(target.relative_to(ROOT))
        if name == IN_README:
            shutil.copyfile(folder / f"{name}-1280-light.png", ROOT / "docs" / "report.png")


def _draw(
    browser: list[str],
    file: Path,
    target: Path,
    size: tuple[int, int],
) -> None:
    """Draw a page's file in a window of this size; the target's name has the colour scheme."""
    scheme = target.stem.rpartition("-")[2]
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--hide-scrollbars",
        "--no-first-run",
        "--virtual-time-budget=10000",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        f"--window-size={size[0]},{size[1]}",
        f"--screenshot={target}",
    ]
    subprocess.run(
        [*browser, *options, file.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
