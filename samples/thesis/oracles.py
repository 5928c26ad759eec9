"""Compute the oracle's theoretical gain, with and without the cost of switching.

A switch is a change between eager and compiled layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def over_best_that_pays(oracle: Mapping[str, Any]) -> float:
    """Return the path's speedup, if the whole compiled model also pays for switching."""
    total = oracle["totals"]["dynamic"]
    best = min(total["base_ns"], total["other_ns"] + 2 * oracle["switch_cost_ns"])
    return float(best / (total["chosen_ns"] + total["switch_ns"]))
