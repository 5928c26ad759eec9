"""The command `peaks`: measure the most that a GPU computes and copies per second."""

import json
import shlex

from tracelens.advisor.measuring import peaks as measuring
from tracelens.cli.io import keep_sources, progress
from tracelens.cli.next_step import suggest
from tracelens.cli.options import OutFile
from tracelens.cli.output import emit, tell


def peaks(*, out: OutFile = None) -> None:
    """Measure a GPU's peaks for report --peaks FILE: products by element type, copy bandwidth.

    Needs PyTorch.
    """
    keep_sources([], [out])
    with progress("measuring peaks"):
        measured = measuring.measure_peaks()
    for name, why in measured["missing"].items():
        tell(f"no peak of {name}: {why}")
    emit(json.dumps(measured, indent=1) + "\n", out)
    if out is not None:
        tell(f"wrote {out}")
    suggest(f"tracelens report TRACE --section roofline --peaks {shlex.quote(str(out or 'FILE'))}")
