"""Write traces of kinds that public ones have and no planted program produces.

python -m samples.planted.construct

Each trace is a run that is worked out event by event, so the construction shows what limits it. It
writes constructed/NAME.pt.trace.json.gz, and constructed/truth.json, which says what a report must
say. Shares are shares of the program's time, without start-up, tear-down and work from before the
file.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from samples.planted import (
    constructed_kinds,
    constructed_programs,
    constructed_ranks,
    constructed_remedies,
)
from samples.planted.constructed_case import CASES

OUT = Path(__file__).parent / "constructed"
MODULES = (constructed_programs, constructed_ranks, constructed_kinds, constructed_remedies)
"""Importing them lists their traces in CASES."""


def main() -> None:
    """Write every trace and truth.json."""
    OUT.mkdir(exist_ok=True)
    truths = {}
    for name, make in CASES.items():
        run, truth = make()
        run.write(OUT / f"{name}.pt.trace.json.gz")
        known = {key: value for key, value in asdict(truth).items() if value is not None}
        truths[name] = {"why": make.__doc__} | known
    (OUT / "truth.json").write_text(json.dumps(truths, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
