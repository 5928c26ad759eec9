"""Colours: work is cool, waiting is warm, and each can be seen on a light and on a dark page."""

import colorsys
import itertools
import math
from typing import Any

import pytest

from tracelens.answers.answer import WAIT
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.schemas.device import PRIMITIVES
from tracelens.schemas.host import CAUSES
from tracelens.views.charts import _color
from tracelens.views.page import colour_rules
from tracelens.views.palette import (
    COLORS,
    COOL,
    KIND_COLORS,
    PALE,
    PART_COLORS,
    PARTS,
    WAITS,
    WORKS,
    role_colors,
)

WHITE, DARK = (255, 255, 255), (0x14, 0x18, 0x1D)


def channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(rgb: tuple[int, int, int]) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [c / 255 for c in rgb]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def lab(color: str) -> tuple[float, float, float]:
    """The colour in CIELAB, where distances are as large as they look."""
    r, g, b = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in channels(color))
    )
    white = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def is_warm(color: str) -> bool:
    """Whether the hue lies from pink over red to yellow."""
    hue, _, _ = colorsys.rgb_to_hsv(*(c / 255 for c in channels(color)))
    return hue * 360 < 60 or hue * 360 > 315


def test_no_kind_of_kernel_has_the_colour_of_a_cause_of_waiting() -> None:
    work = {COLORS[word] for word in PRIMITIVES if word != "unknown"} | {*WORKS.values(), *COOL}
    waits = {COLORS[f"idle: {PART_WORDS[cause]}"] for cause in CAUSES if cause != "unknown"}
    assert not any(map(is_warm, work))
    assert all(map(is_warm, waits))
    assert len(waits) == len(CAUSES) - 1


@pytest.mark.parametrize("word", sorted(COLORS))
def test_a_colour_is_seen_on_a_light_and_a_dark_page(word: str) -> None:
    assert contrast(channels(COLORS[word]), WHITE) >= 3.0
    assert contrast(channels(COLORS[word]), DARK) >= 3.0


def test_what_the_host_runs_has_no_colour_of_a_part() -> None:
    assert not {COLORS[word] for word in ("op", "module", "python", "api call")} & (
        {*PARTS.values()} - {PALE}
    )


def test_kinds_of_host_activity_are_told_apart_by_eye() -> None:
    kinds = [
        channels(COLORS[word]) for word in ("op", "module", "python", "api call", "annotation")
    ]
    assert min(math.dist(one, other) for one, other in itertools.combinations(kinds, 2)) > 30


def test_a_part_of_the_answer_is_coloured_as_in_charts() -> None:
    assert PART_COLORS["launches"] == COLORS["idle: launches"] == WAITS["launch"]
    assert PART_COLORS["copies"] == COLORS["exposed copy"]
    assert f"fill: {WAITS['input']};" in colour_rules()


def test_a_role_has_one_colour_in_lists_of_calls_and_in_charts() -> None:
    roles = ["dispatcher", "aten_native", "vendor_glue", "autograd"]
    rules = colour_rules()
    for role, color in role_colors(roles).items():
        assert f".stack .{role} {{ border-color: {color}; }}" in rules
    encoding: Any = _color("role", [ROLE_WORDS[role] for role in roles]).to_dict()
    assert encoding["scale"]["range"] == [*role_colors(roles).values()]


def test_causes_of_waiting_are_told_apart_by_eye() -> None:
    causes = [lab(color) for cause, color in WAITS.items() if cause != "unknown"]
    causes.append(lab(KIND_COLORS[WAIT]))
    assert is_warm(KIND_COLORS[WAIT])
    assert min(contrast(channels(KIND_COLORS[WAIT]), page) for page in (WHITE, DARK)) >= 3.0
    assert min(math.dist(one, other) for one, other in itertools.combinations(causes, 2)) > 20
