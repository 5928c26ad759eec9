"""HTML pages for tests: their tags and embedded tables, and what chromium makes of them."""

import base64
import json
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))),
    None,
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")


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


def tables_of(page: str) -> list[dict[str, Any]]:
    """The data of the page's tables."""
    found = [
        code
        for _, about, code in tags_of(page).code
        if about.get("type") == "application/octet-stream"
    ]
    return [json.loads(zlib.decompress(base64.b64decode(code))) for code in found]


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
