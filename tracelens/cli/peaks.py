"""`tracelens measure-peaks`: what this machine's GPU reaches at most."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.io import emit, progress, tell
from tracelens.measuring.peaks import measure_peaks as measure


def measure_peaks(
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the peaks there, not to standard output.")
    ] = None,
) -> None:
    """Measure a GPU's peaks, for report --peaks FILE: products by element type, copy bandwidth. Needs PyTorch."""
    with progress("measuring peaks"):
        found = measure()
    for name, why in found["missing"].items():
        tell(f"no peak of {name}: {why}")
    emit(json.dumps(found, indent=1) + "\n", out)
    if out is not None:
        tell(f"wrote {out}: give it to tracelens report --peaks {out}")
