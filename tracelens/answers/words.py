"""Provide the words of answers: sentences on bounds, lines of code, and times."""

import re
from collections import Counter
from collections.abc import Sequence

from tracelens.derive.time.bounds import UNRECORDED

DEVICE_SENTENCES = {
    "compute": "The GPU is busy computing",
    "communication": "The GPU communicates and computes nothing meanwhile",
    "waiting": "The GPU waits for other ranks",
    "copy": "The GPU copies or sets memory and computes nothing meanwhile",
    "input": "The GPU waits for input",
    "allocation": "The GPU waits while memory is allocated or freed",
    "sync": "The GPU idles because the program waits for it",
    "loading": "The GPU waits while code is loaded or compiled",
    "launch": "The GPU waits for launches",
    "host": "The GPU waits while the program does other work",
    "dependency": "The GPU waits for its own earlier work: another stream, copy or device",
    "unknown": "The GPU is idle, and the trace does not show why",
}
"""The beginning of the sentence on a device, by the largest part of its time."""
PROCESS_SENTENCES = {
    "compute": "The CPU does arithmetic",
    "communication": "The process communicates and computes nothing meanwhile",
    "waiting": "The process waits for other ranks",
    "copy": "The CPU copies or sets memory",
    "input": "The process waits for input",
    "allocation": "The process allocates or frees memory",
    "sync": "The process waits for a device",
    "loading": "The process loads or compiles code",
    "launch": "The program calls many small ops",
    "host": "The program works outside of ops",
    "dependency": "The process waits for earlier work",
    "unknown": "The process does something that was not recorded",
}
"""The beginning of the sentence on a process without a device, by the largest part of its time."""
_FRAME = re.compile(r"([^\s():]+\.py)\((\d+)\): ?(.*)")
_DEFINED = re.compile(r"([^\s():]+\.py)\(defined at (\d+)\): (.*)")
_WITHOUT_LINE = re.compile(r"([^\s():]+\.py): (.*)")
_LINE = re.compile(r"(?<=\.py)\((?:defined at )?\d+\)(?=:)")
_OPTIMIZER = re.compile(r"^Optimizer\.\w+#")
_DIRECTION = re.compile(r"^(?:h2d|d2h) (?=copies from )")
"""Matches the direction in "h2d copies from pageable to device memory".

The two kinds of memory already tell the direction, so the word h2d is left out.
"""
_GRAPH_KEY = re.compile(r"(?<=Call CompiledFxGraph )(\w{6})\w{6,}")
"""Matches Inductor's key of a compiled graph, which has about 50 characters."""
_SEPARATOR = " > "
_MOST_FRAMES = 3


def place_text(
    what: str | None,
    *,
    is_busy: bool = False,
    places: Sequence[tuple[str, int]] = (),
) -> str | None:
    """Write the second line of an answer: a source line, or a call path of at most three frames.

    - `what`: the call path, kernel or op
    - `is_busy`: `what` is the kernel or op that ran longest
    - `places`: all call paths of the part, each with nanoseconds. A path that covers half of the
      time is written instead of `what`.
    """
    if not what:
        return None
    what = shared_path(places) or what
    frames = [frame_text(frame) for frame in what.split(_SEPARATOR)]
    if len(frames) > _MOST_FRAMES:
        frames = [frames[0], ELLIPSIS, *frames[-(_MOST_FRAMES - 1) :]]
    path = _DIRECTION.sub("", _SEPARATOR.join(frames))
    if path.startswith(UNRECORDED):
        return path
    if _FRAME.fullmatch(what.split(_SEPARATOR)[0]):
        return f"at {path}"
    return f"mostly {path}" if is_busy else f"in {path}"


def shared_path(places: Sequence[tuple[str, int]]) -> str | None:
    """Return the longest call path that covers at least half of the time of `places`.

    Return None if it is only one frame.
    """
    half_ns = sum(ns for _, ns in places) / 2
    inner = [(what.split(_SEPARATOR), ns) for what, ns in places]
    path: list[str] = []
    # A frame has its line if the line covers half of the time.
    while frame := _common_frame(inner, half_ns):
        path.append(frame)
        inner = [
            (frames[1:], ns)
            for frames, ns in inner
            if frame in (frames[0], _LINE.sub("", frames[0])) and len(frames) > 1
        ]
    return _SEPARATOR.join(path) if len(path) > 1 else None


def _common_frame(paths: Sequence[tuple[list[str], int]], half_ns: float) -> str | None:
    """Return the outermost frame that covers half of the time; None if no frame does.

    The frame's text keeps its line number if this line alone covers half of the time.
    """
    numbered: Counter[str] = Counter()
    unnumbered: Counter[str] = Counter()
    for frames, ns in paths:
        numbered[frames[0]] += ns
        unnumbered[_LINE.sub("", frames[0])] += ns
    for times in (numbered, unnumbered):
        for frame, ns in times.most_common(1):
            if ns >= half_ns:
                return frame
    return None


ELLIPSIS = "…"


def frame_text(frame: str) -> str:
    """Write a frame `file.py(12): name` as `file.py:12 name`.

    The key of a compiled graph is shortened to its first characters. Other text stays as it is.
    """
    if match := _FRAME.fullmatch(frame):
        return f"{match[1]}:{match[2]} {match[3]}".rstrip()
    # Only the line of the definition is known.
    if match := _DEFINED.fullmatch(frame):
        return f"{match[3]} (defined at {match[1]}:{match[2]})"
    if match := _WITHOUT_LINE.fullmatch(frame):
        return f"{match[1]} {match[2]}"
    return _GRAPH_KEY.sub(rf"\1{ELLIPSIS}", frame)


def function_text(frame: str) -> str:
    """Write a frame `file.py(12): name` as `name (file.py:12)`.

    A frame that has no line number is written as `name`. torch's own region
    `Optimizer.step#Adam.step` is written as `Adam.step`.
    """
    if match := _FRAME.fullmatch(frame) or _DEFINED.fullmatch(frame):
        return f"{match[3]} ({match[1]}:{match[2]})"
    match = _WITHOUT_LINE.fullmatch(frame)
    return match[2] if match else _OPTIMIZER.sub("", frame)


def listed(words: Sequence[str]) -> str:
    """Join words as a list in a sentence: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, noun: str) -> str:
    """Write a number and its noun, in the plural unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
