"""Parse the expression of a gate, such as `gpu_time > +5%`."""

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.comparing.per_step import CAUSE_PARTS
from tracelens.errors import UsageError, near

Form: TypeAlias = Literal["share", "more", "most"]

TIME, BYTES, COUNT = "time", "bytes", "count"
DIRECTIONS = ("h2d", "d2h", "d2d", "p2p")
METRICS = {
    "gpu_time": TIME,
    "step_time": TIME,
    "compute": TIME,
    "exposed_communication": TIME,
    "exposed_copy": TIME,
    "idle": TIME,
    **dict.fromkeys(CAUSE_PARTS, TIME),
    "memory_peak": BYTES,
    "memory_reserved": BYTES,
    **{f"{direction}_bytes": BYTES for direction in DIRECTIONS},
    **{f"{direction}_time": TIME for direction in DIRECTIONS},
    "kernels": COUNT,
}
"""Measures of a whole step that a gate can name, with their units."""
MEASURES = {
    "layer": ("duration",),
    "kernel": ("duration", "count"),
    "op": ("duration", "count"),
}
"""Measures of the layers, kernels and ops that a pattern matches."""
UNITS: dict[str, dict[str, float]] = {
    TIME: {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9},
    BYTES: {
        "B": 1,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
    },
    COUNT: {"": 1},
}
_LIMIT = re.compile(r"(?P<sign>\+?)\s*(?P<number>\d+(\.\d+)?)\s*(?P<unit>\S*)")
_EACH = "each "
_EXAMPLE = "as in gpu_time > +5%, exposed_copy > 1 ms or layer:layer1.*:duration > +10%"


class Expression(Struct, frozen=True):
    """Holds a parsed gate: a quantity and its limit."""

    text: str
    kind: str  # metric, layer, kernel or op
    name: str  # name of the metric, or pattern for names of layers, kernels or ops
    measure: str  # quantity of a layer, kernel or op
    # What is limited: "share" the increase as a fraction of base, "more" the increase, "most" the
    # value.
    form: Form
    limit: float  # as a fraction, or in ns, bytes or calls
    each: bool = False  # True: each matching name is judged by itself

    @property
    def counted_in(self) -> str:
        """Return the dimension of the quantity: TIME, BYTES or COUNT."""
        return (
            METRICS[self.name]
            if self.kind == "metric"
            else {"duration": TIME, "count": COUNT}[self.measure]
        )


class ExpressionError(UsageError):
    """Reports an expression that cannot be parsed.

    `marks` are two lines: the expression, and carets beneath the part that is wrong.
    """

    def __init__(self, text: str, part: slice, message: str) -> None:
        """Store the message, and mark this part of the text."""
        super().__init__(f"--fail-on: {message}")
        begin, end, _ = part.indices(len(text))
        self.marks = (f"  {text}", f"  {' ' * begin}{'^' * max(end - begin, 1)}")


def parse(text: str) -> Expression:
    """Parse an expression. Raises ExpressionError if it is malformed."""
    left, sign, right = text.rpartition(">")
    if not sign:
        raise ExpressionError(
            text,
            slice(len(text.rstrip()), None),
            f"expected > and a limit, {_EXAMPLE}",
        )
    begin = len(left) - len(left.lstrip())
    target = left.strip()
    each = False
    if target.startswith(_EACH):
        target = target.removeprefix(_EACH).lstrip()
        each = True
        begin = left.index(target, begin) if target else begin
    kind, name, measure = _target(text, target, begin)
    if each and kind == "metric":
        words = "each is of the names that a pattern finds: each kernel:*:duration > +10%"
        raise ExpressionError(
            text,
            slice(begin, begin + len(target)),
            words,
        )
    unlimited = Expression(
        text,
        kind,
        name,
        measure,
        "most",
        0.0,
        each or kind == "layer",
    )
    form, limit = _limit(text, len(left) + 1, right, unlimited.counted_in)
    return replace(unlimited, form=form, limit=limit)


def _target(text: str, target: str, begin: int) -> tuple[str, str, str]:
    """Return kind, name and measure from the part of an expression before the limit."""
    kind, colon, rest = target.partition(":")
    if not colon:
        if target not in METRICS:
            part = slice(begin, begin + max(len(target), 1))
            suggestions = near(
                target,
                [*METRICS, *(f"{kind}:PATTERN:{MEASURES[kind][0]}" for kind in MEASURES)],
            )
            raise ExpressionError(text, part, f"no measure is called {target!r}; {suggestions}")
        return "metric", target, ""
    if kind not in MEASURES:
        raise ExpressionError(
            text,
            slice(begin, begin + len(kind)),
            f"no {kind!r} can be asked of; near: {', '.join(MEASURES)}",
        )
    # Names of kernels and ops contain colons, so a colon precedes a measure only after a `*`.
    pattern, _, measure = rest.rpartition(":")
    if rest.endswith("*"):
        pattern = rest
        measure = MEASURES[kind][0]
    if measure not in MEASURES[kind] or not pattern:
        end = begin + len(target)
        part = slice(end - len(measure), end)
        message = (
            f"expected {kind}:PATTERN:{' or '.join(MEASURES[kind])}, found {measure!r} at its end"
        )
        raise ExpressionError(text, part, message)
    return kind, pattern, measure


def _limit(text: str, begin: int, words: str, counted_in: str) -> tuple[Form, float]:
    """Return the form of the limit (see `Expression`) and its value."""
    begin += len(words) - len(words.lstrip())
    part = slice(
        begin,
        begin + max(len(words.strip()), 1),
    )
    limit = _LIMIT.fullmatch(words.strip())
    if limit is None:
        raise ExpressionError(text, part, f"expected a limit, {_EXAMPLE}")
    sign = limit["sign"]
    number = float(limit["number"])
    unit = limit["unit"]
    if unit == "%":
        if not sign:
            raise ExpressionError(
                text, part, f"a limit in % is a change from base: write +{words.strip()}"
            )
        return "share", number / 100
    units = UNITS[counted_in]
    if unit not in units and number:
        known = ", ".join(word for word in units if word) or "none"
        raise ExpressionError(
            text, part, f"{unit!r} is not a unit of this; the units are {known}, or % after a +"
        )
    return ("more" if sign else "most"), number * units.get(unit, 1)
