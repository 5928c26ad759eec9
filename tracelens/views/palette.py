"""Define the colours of charts, timeline, the answer's bars and the terminal.

Work has cool colours, waiting has warm colours, everything else is grey. The contrast to a light
and to a dark page is at least 3.
"""

from tracelens.answers.answer import REST, WAIT, WORK
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS
from tracelens.schemas.device import LIBRARIES, PRIMITIVES

_GREEN, _TEAL, _BLUE, _INDIGO, _VIOLET = "#2a9461", "#1f9292", "#3b7dd8", "#6a6fdb", "#9065d6"
_LEAF, _STEEL, _NAVY, _PLUM, _SEA = "#5f8f2f", "#5588a0", "#4a6cc0", "#a45cc0", "#2f8fb8"
COOL = (_BLUE, _GREEN, _VIOLET, _TEAL, _LEAF, _INDIGO, _SEA, _PLUM, _STEEL, _NAVY)
"""Colours of work, and of words without a colour."""
GREY, PALE = "#808893", "#8a929a"

WORKS = {
    "compute": _GREEN,
    "communication": _TEAL,
    "copy": _VIOLET,
}
"""Colours of the parts of a step that are work."""
WAITS = {
    "waiting": "#e8609c",
    "input": "#d9541e",
    "allocation": "#96623a",
    "sync": "#d13b3b",
    "loading": "#c4706a",
    "launch": "#b97f00",
    "host": "#a83c8a",
    "dependency": "#a08d55",
    "unknown": PALE,
}
"""Colours of the parts of a step that are waiting, by cause; the unknown cause is grey."""
PARTS = WORKS | WAITS
_HOST = {
    "op": "#7790c8",
    "module": "#868b90",
    "annotation": "#7f9470",
    "nvtx": "#7f9470",
    "api call": "#5f6a80",
    "api_call": "#5f6a80",
    "python": "#a087b8",
    "other": GREY,
}
"""Colours of the kinds of host activity."""
ROLES = {
    "library": _BLUE,
    "runtime": GREY,
    "python": "#b08a00",
    "torchscript": _PLUM,
    "binding": "#c9722a",
    "libtorch_nn": "#c7609a",
    "autograd": "#d94f4f",
    "vendor_glue": _STEEL,
    "dispatcher": _VIOLET,
    "aten_native": _GREEN,
    "stdlib": "#9d755d",
    "user": _TEAL,
}
"""Colours of the roles of frames in lists of calls.

Lists of calls show no time, so cool and warm colours mean nothing there.
"""
KIND_COLORS = {WORK: _GREEN, WAIT: "#b27296", REST: GREY}
"""Colours of the parts of bars, by kind of part.

A part whose label is in PART_COLORS has that colour instead. The colour of WAIT differs from all
colours in WAITS.
"""
PART_COLORS = PARTS | {
    word: PARTS[part] for words in (PROCESS_WORDS, PART_WORDS) for part, word in words.items()
}
"""Colours of an answer's bars by label.

A label is the name of a part of a step, such as `sync`, or the displayed words for that name.
"""
_OF_PRIMITIVES = {
    "gemm": _BLUE,
    "conv": _NAVY,
    "attention": _INDIGO,
    "recurrence": "#4668b4",
    "normalization": _LEAF,
    "softmax": _SEA,
    "pooling": "#4f9f86",
    "elementwise": _GREEN,
    "reduction": "#7f8f3a",
    "layout": _STEEL,
    "indexing": "#3f8a7a",
    "loss": "#8a78c8",
    "optimizer": _PLUM,
    "rng": "#7a7fa8",
    "communication": _TEAL,
    "memory": _VIOLET,
    "fused": "#5b7fe0",
    "unknown": PALE,
}
"""Colours of kernels by primitive, all cool, because kernels are work."""
COLORS: dict[str, str] = {
    **_HOST,
    **{word: COOL[at % len(COOL)] for at, word in enumerate(LIBRARIES)},
    **{word: _OF_PRIMITIVES[word] for word in PRIMITIVES},
    **PARTS,
    **{word: PARTS[part] for words in (PART_WORDS, PROCESS_WORDS) for part, word in words.items()},
    **{f"idle: {PART_WORDS[cause]}": color for cause, color in WAITS.items()},
    "idle: communication": "#c8553d",
    "queue: empty": WAITS["launch"],
    "queue: 1 to 9": _STEEL,
    "queue: 10 to 99": _BLUE,
    "queue: 100 or more": _NAVY,
    "base": GREY,
    "new": _BLUE,
    "exposed communication": _TEAL,
    "exposed copy": _VIOLET,
    "exposed": _VIOLET,
    "waiting for the host": WAITS["launch"],
    "idle": PALE,
    "hidden behind kernels": PALE,
    "hidden by computing": PALE,
    "ops": _HOST["op"],
    "waits": WAITS["sync"],
    "API calls": _HOST["api call"],
    "Python": _HOST["python"],
    "nothing recorded": PALE,
    "cause": GREY,
    "layer": _HOST["annotation"],
    "other": GREY,
    "unknown": PALE,
    # Kinds of intervals on the critical path, in the timeline and in the chart.
    "kernel": _GREEN,
    "fill of memory": _VIOLET,
    "collective": _TEAL,
    "API call": _HOST["api call"],
    "gap between work": WAITS["dependency"],
    "wait for the device": WAITS["sync"],
    "earlier work": PALE,
}
"""Colours by word, the same in every chart."""


def colors_of(words: list[str]) -> dict[str, str]:
    """Return a colour for each word; a word without a colour gets the next colour of COOL."""
    return {word: COLORS.get(word, COOL[number % len(COOL)]) for number, word in enumerate(words)}


def role_colors(words: list[str]) -> dict[str, str]:
    """Return the colour of each word.

    A word is the role of a frame in a call stack, or the text that is displayed for a role.
    """
    colors = ROLES | {ROLE_WORDS[role]: color for role, color in ROLES.items()}
    return {word: colors.get(word, PALE) for word in words}
