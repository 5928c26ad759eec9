"""Write docs/dependencies.md: what the package installs here, with versions and licences.

    python -m tools.dependencies

Each package states its licence; licences are not checked. `pip-audit` looks for known
vulnerabilities of these versions.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
PROJECT = "tracelens-toolkit"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra *== *["']([^"']+)["']""")
_LONGEST = 60


def needed() -> dict[str, str]:
    """Return the packages that the project needs, also indirectly, each with the reason.

    The reason is "always", an extra, or another package.
    """
    reasons: dict[str, str] = {}
    waiting: list[tuple[str, str]] = []
    for line in distribution(PROJECT).requires or ():
        extra = _EXTRA.search(line)
        waiting.append((line, f"extra {extra[1]}" if extra else "always"))
    waiting.sort(key=lambda entry: entry[1] != "always")
    while waiting:
        line, asked = waiting.pop(0)
        match = _NAME.match(line)
        assert match is not None
        name = re.sub(r"[._-]+", "-", match[0]).lower()
        if name in reasons or name == PROJECT:
            continue
        try:
            requires = distribution(name).requires or ()
        except PackageNotFoundError:  # of another platform, or of an extra that is not here
            continue
        reasons[name] = asked
        later = [
            (line_of_package, f"{name}")
            for line_of_package in requires
            if not _EXTRA.search(line_of_package)
        ]
        waiting += later
    return reasons


def licence(name: str) -> str:
    """Return the licence that a package states: SPDX expression, else classifiers, else text."""
    about = distribution(name).metadata
    if "License-Expression" in about:
        return str(about["License-Expression"])
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in about.get_all("Classifier") or ()
        if text.startswith("License ::") and not text.endswith("OSI Approved")
    ]
    licences = about.get_all("License") or [""]
    words = str(licences[0]).strip().split("\n")[0]
    return ", ".join(classifiers) or words[:_LONGEST] or "not said"


def page() -> str:
    """Return the page as Markdown."""
    rows = sorted(needed().items())
    lines = [
        "# Dependencies",
        "",
        "This page lists the packages that `pip install tracelens-toolkit` and its extras install, with",
        "the versions of one installation and the licence that each package states.",
        "`python -m tools.dependencies` writes it from the packages that are installed.",
        "",
        "`pip-audit`, which looks for known faults of such versions, was run where this page was written.",
        "It could not reach either of its sources, PyPI and osv.dev, so nothing is known of faults.",
        "",
        "| package | version | licence | needed by |",
        "| --- | --- | --- | --- |",
        *(
            f"| {name} | {distribution(name).version} | {licence(name)} | {asked} |"
            for name, asked in rows
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
