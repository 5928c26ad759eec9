"""Change the time of an op, a layer or a kernel by a factor or a percentage."""

from __future__ import annotations

import re

import numpy as np

from tracelens.derive.replay.moment_graph import (
    COLLECTIVE,
    LAUNCH,
    QUEUE,
    WAIT,
    Flags,
    Ints,
    picked,
)
from tracelens.derive.replay.subject import Change, Subject
from tracelens.derive.time.bounds import UNRECORDED
from tracelens.errors import UsageError, near

USAGE = "faster OP|LAYER|KERNEL by X|N%"
_EXPECTED = f'expected {USAGE}, as "faster aten::linear by 2", or by 10% for a tenth less time'
_FACTOR = re.compile(r"[xX]?([0-9]{1,9}(?:\.[0-9]{1,9})?)[xX]?")
_PERCENTAGE = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,9})?)%")
_LEAST_FACTOR = 0.001
"""The least factor of a change. Smaller factors could make times too long for 64-bit integers."""


def parse_faster(subject: Subject, text: str) -> Change:
    """Return the change of an expression such as `faster softmax by 2`.

    Raises UsageError for an incomplete expression, or if no op, layer or kernel has the name.
    """
    parts = re.fullmatch(r"faster[ =](\S.*) by (\S+)", text, re.IGNORECASE)
    if parts is None:
        raise UsageError(f"{text[:60]!r}: {_EXPECTED}")
    return faster(subject, parts[1], parts[2])


def faster(subject: Subject, name: str, amount: str) -> Change:
    """Shorten an op, a layer or a kernel.

    `amount` is a factor such as `2`, which divides the time, or a percentage such as `10%`, which
    is taken off.
    """
    stays_frac = _stays_frac(name, amount)
    chosen = _named(subject, name) & can_be_faster(subject)
    if not chosen.any():
        raise UsageError(f"faster {name}: {_why_nothing(subject, name)}")
    return lambda weights: shortened(weights, chosen, stays_frac)


def shortened(weights: Ints, chosen: Flags, stays_frac: float) -> Ints:
    """Return the weights with the chosen ones multiplied by a share."""
    return np.where(chosen, (weights * stays_frac).astype(np.int64), weights)


def can_be_faster(subject: Subject) -> Flags:
    """Flag the edges of the graph that an op, a layer or a kernel can shorten by being faster.

    A wait, the way of a launch to the device and a collective are not among them. A collective
    lasts until the last rank comes.
    """
    is_other = np.isin(subject.replay.table.kinds, (WAIT, LAUNCH))
    can_be: Flags = ~is_other & ~_is_collective(subject)
    return can_be


def _is_collective(subject: Subject) -> Flags:
    """Flag the edges of collectives on the device, and of the gaps before them."""
    table = subject.replay.table
    collectives = picked(subject.replay.work.kinds == COLLECTIVE, table.items)
    return collectives & np.isin(table.kinds, (COLLECTIVE, QUEUE))


def _stays_frac(name: str, amount: str) -> float:
    """Return the share of time that remains."""
    factor = _FACTOR.fullmatch(amount)
    if factor and float(factor[1]) >= _LEAST_FACTOR:
        return 1 / float(factor[1])
    percentage = _PERCENTAGE.fullmatch(amount)
    if percentage:
        return 1 - float(percentage[1]) / 100
    raise UsageError(
        f"faster {name}: {amount[:40]} is not a factor of at least {_LEAST_FACTOR}, nor a"
        " percentage below 100, as 10% for a tenth less time"
    )


def _named(subject: Subject, name: str) -> Flags:
    """Flag the edges of an op, a layer or a kernel.

    If no op or kernel has exactly this name, all those count whose name contains it.
    """
    labels = subject.labels
    word = name.lower()
    texts = [
        [text.lower() for text in of_edge if text and not text.startswith(UNRECORDED)]
        for of_edge in zip(labels.ops, labels.names, strict=True)
    ]
    by_name = np.array([word in of_edge for of_edge in texts])
    by_layer = subject.in_layer(name)
    if not by_name.any() and not by_layer.any():
        by_name = np.array([any(word in text for text in of_edge) for of_edge in texts])
    return by_name | by_layer


def _why_nothing(subject: Subject, name: str) -> str:
    """Say why no edge of this name can be shortened, and name others."""
    labels = subject.labels
    if (_named(subject, name) & _is_collective(subject)).any():
        return (
            "a collective lasts until the last rank comes; network=X2 and straggler_fixed say what"
            " faster ones give"
        )
    known = {text for text in (*labels.ops, *labels.layers) if text}
    return (
        "no op, layer or kernel of these steps has that name (of ops inside each other, only the"
        f" outermost has a name here); {near(name, sorted(known))}"
    )
