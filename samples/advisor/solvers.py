"""Time Z3 and enumeration on the same plans: `python -m samples.advisor.solvers`.

Writes captures/solvers.json: processor seconds of one search each on this machine.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import tracelens as tl
from tracelens.derive.calls.advising import advise_rank

CAPTURES = Path(__file__).parent / "captures"
MODELS = ("resnet50_b1", "resnet50_b32", "mobilenet_v1_b1", "mobilenet_v1_b32")


def main() -> None:
    """Search each model's plan with both solvers, after one search that loads all libraries."""
    by_model = {}
    for model in (MODELS[0], *MODELS):
        eager, *others = (
            tl.open(CAPTURES / f"{model}_{what}.tracelens")
            for what in ("eager", "channels_last", "calls")
        )
        seconds, calls = {}, []
        for solver, z3 in (("enumeration", False), ("z3", True)):
            began = time.process_time()
            advice = advise_rank(eager, 0, others, z3=z3)
            seconds[solver] = round(time.process_time() - began, 2)
            calls.append([call for part in advice.parts for call in part.calls])
        by_model[model] = {"processor_s": seconds, "same_calls": calls[0] == calls[1]}
    (CAPTURES / "solvers.json").write_text(json.dumps(by_model, indent=1) + "\n")


if __name__ == "__main__":
    main()
