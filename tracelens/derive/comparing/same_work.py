"""Whether two runs did the same work, and may be judged against each other."""

from __future__ import annotations

from tracelens.derive.comparing.judging import Rules
from tracelens.derive.layers.compilation import other_device
from tracelens.trace import Trace


def not_judged(base: Trace, other: Trace, rules: Rules) -> str | None:
    """Why no row of the two runs may be judged; null where they may."""
    if rules.across_devices or other_device(base, other) is None:
        return None
    return "two kinds of GPU (--across-devices judges them all the same)"
