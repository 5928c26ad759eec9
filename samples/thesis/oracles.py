"""The oracle's gain in theory, with and without the cost of changing between eager and compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def over_best_that_pays(oracle: Mapping[str, Any]) -> float:
    """The path's speedup where the whole compiled model, too, pays for being entered and left."""
    total = oracle["totals"]["dynamic"]
    best = min(total["base_ns"], total["other_ns"] + 2 * oracle["switch_cost_ns"])
    return float(best / (total["chosen_ns"] + total["switch_ns"]))
