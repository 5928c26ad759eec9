"""Answer for call stacks: the calls to a function by level, and where two stacks diverge."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from tracelens.answers.answer import Answer
from tracelens.answers.words import counted
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.stacks.stack_listing import first_hits, n_shared_outer, pair_stacks
from tracelens.trace import Trace

_Frame = tuple[str, str, str | None, int | None]
"""Role, function, file and line of a frame."""
_START, _UNNAMED = "runtime", "unknown"
_MOST_STACKS, _MOST_RUNS, _MOST_LEVELS = 4, 14, 10
_PATH = 2
_SIDE = 37
"""Width in characters of a column of function names. Two columns stand side by side."""


class CallPath(Struct, frozen=True):
    """A stack from its outermost frame to the stopped function: role, function, file, line."""

    symbol: str
    frames: tuple[_Frame, ...]

    @property
    def n_calls(self) -> int:
        """Number of calls from the program's beginning to the stopped function."""
        return len(self.calling)

    @property
    def calling(self) -> tuple[_Frame, ...]:
        """The callers of the innermost frame, outermost first, without the process's start."""
        begin = next(
            (number for number, frame in enumerate(self.frames) if frame[0] == "python"),
            None,
        )
        if begin is None:
            begin = next(
                (number for number, f in enumerate(self.frames) if f[0] not in (_START, _UNNAMED)),
                0,
            )
        return self.frames[begin:-1]

    @property
    def origin(self) -> str:
        """The words for the origin of the calls: Python, or the outermost function."""
        if not self.calling or self.calling[0][0] == "python":
            return "Python"
        return self.calling[0][1]


def answer_stacks(trace: Trace) -> Answer:
    """Return the answer for the first stack at each function where the program was stopped.

    Raises MissingTableError without stacks.
    """
    trace.require("answer", "stacks", "frames")
    stacks = [*first_hits(trace).values()]
    paths = [path_of(stack) for stack in stacks]
    first = paths[0]
    others = [f"{counted(path.n_calls, 'call')} to {path.symbol}" for path in paths[1:]]
    n_outside = len(first.frames) - 1 - first.n_calls
    rows = [*_rows(first)]
    if n_outside:
        rows.append(f"{n_outside:6}  {'outside of these':20}  the process's own start")
    calls = counted(first.n_calls, "call")
    is_cut = bool(stacks[0]["truncated"])
    cut = ("the log does not hold the whole stack",) if is_cut else ()
    return Answer(
        f"{f'At least {calls}' if is_cut else calls} lead from {first.origin} to {first.symbol}",
        rows=tuple(rows),
        about=_about(trace, len(paths)),
        doubts=(*cut, *others[:_MOST_STACKS]),
        sections=("dispatch_depth",),
    )


def answer_two_stacks(base: Trace, other: Trace) -> Answer:
    """Return the answer for two logs: the depth of each stack, and the frames that differ."""
    for trace in (base, other):
        trace.require("answer", "stacks", "frames")
    pairs = [
        (path_of(base_path), path_of(other_path))
        for base_path, other_path in pair_stacks(base, other)
    ]
    base_path, other_path = pairs[0]
    same = base_path.symbol == other_path.symbol
    n_calls = counted(base_path.n_calls, "call")
    sentence = (
        f"Two ways to {base_path.symbol}: {n_calls} and {other_path.n_calls:,}"
        if same
        else f"{n_calls} lead to {base_path.symbol}, {other_path.n_calls:,} to {other_path.symbol}"
    )
    return Answer(
        sentence,
        details=(_parting(base_path, other_path),),
        rows=tuple(_differing_rows(base_path, other_path)),
        about=_about(base, 1),
        sections=("stack_alignment",),
    )


def path_of(stack: Mapping[str, Any]) -> CallPath:
    """Return the call path of a stack, its outermost frame first."""
    frames = stack["frames"].sort("level", descending=True)
    return CallPath(
        stack["symbol"],
        tuple(frames.select("role", "function", "file", "line").rows()),
    )


def _rows(path: CallPath) -> Iterator[str]:
    """Yield a line for each run of frames with one role, the outermost first.

    If a stack has many runs, yield a line for each role instead.
    """
    runs = _runs(path.calling)
    if len(runs) > _MOST_RUNS:
        runs = [(role, [*frames]) for role, frames in _by_role(path).items()]
    else:
        yield f"{'calls':>6}  {'by':20}  from the outermost in"
    for role, frames in runs:
        yield f"{len(frames):6}  {ROLE_WORDS.get(role, role):20}  {_short_path(frames)}"


def _runs(frames: Sequence[_Frame]) -> list[tuple[str, list[_Frame]]]:
    """Split the frames into runs of one role.

    An unnamed frame has the role of its caller.
    """
    runs: list[tuple[str, list[_Frame]]] = []
    for frame in frames:
        role = runs[-1][0] if runs and frame[0] == _UNNAMED else frame[0]
        if runs and runs[-1][0] == role:
            runs[-1][1].append(frame)
        else:
            runs.append((role, [frame]))
    return runs


def _by_role(path: CallPath) -> dict[str, list[_Frame]]:
    frames_by_role: dict[str, list[_Frame]] = {}
    for frame in path.calling:
        frames_by_role.setdefault(frame[0], []).append(frame)
    return frames_by_role


def _short_path(frames: Sequence[_Frame]) -> str:
    """Write the first and the last frame with a name, with file and line where known."""
    named = [frame for frame in frames if frame[1] != UNKNOWN_FUNCTION]
    with_file = [frame for frame in named if frame[2]]
    shown = [_frame_text(frame) for frame in with_file or named]
    if len(shown) > _PATH:
        shown = [shown[0], "…", shown[-1]]
    return " > ".join(shown)


def _frame_text(frame: _Frame) -> str:
    _, function, file, line = frame
    bare = function.removeprefix("torch::autograd::").removeprefix("at::native::")
    return f"{file}:{line} {bare}" if file else bare


def _parting(base: CallPath, other: CallPath) -> str:
    """Say how many outer and how many inner frames are the same in both stacks."""
    outer, inner = _same(base, other), _same_inner(base, other)
    if outer == len(base.frames) == len(other.frames):
        return "both are the same, call by call"
    last = _frame_text(base.frames[outer - 1]) if outer else ""
    if inner:
        first = _frame_text(base.frames[-inner])
        more = f", and the outer {outer:,}, to {last}" if outer else ""
        return f"the inner {inner:,} frames are the same, from {first} on{more}; the others:"
    if not outer:
        return "they differ from the outermost frame on"
    return f"the outer {counted(outer, 'frame')} are the same, to {last}; from there:"


def _differing_rows(base: CallPath, other: CallPath) -> Iterator[str]:
    """Yield lines with the frames that differ, both stacks side by side, level by level."""
    outer, inner = _same(base, other), _same_inner(base, other)
    sides = [path.frames[outer : len(path.frames) - inner] for path in (base, other)]
    rest = [*zip_longest(*sides)]
    if not rest:
        return
    cut = len(rest) > _MOST_LEVELS
    shown = rest[: _MOST_LEVELS - 1] if cut else rest
    yield f"  {'base':{_SIDE}}  new"
    for row in shown:
        base_cell, other_cell = (_cell(frame) for frame in row)
        yield f"  {base_cell:{_SIDE}}  {other_cell}".rstrip()
    if cut:
        left = [max(len(frames) - len(shown), 0) for frames in sides]
        more = [f"… and {counted(n, 'frame')}" if n else "" for n in left]
        yield f"  {more[0]:{_SIDE}}  {more[1]}".rstrip()


def _cell(frame: _Frame | None) -> str:
    """Return a frame's function, with its middle cut out if it is too long for a column."""
    text = "" if frame is None else _frame_text(frame)
    return text if len(text) <= _SIDE else f"{text[: _SIDE // 2]}…{text[-(_SIDE // 2 - 2) :]}"


def _same(base: CallPath, other: CallPath) -> int:
    """Count the outermost frames that are equal in both stacks."""
    names = ([frame[1] for frame in path.frames] for path in (base, other))
    return n_shared_outer(*names)


def _same_inner(base: CallPath, other: CallPath) -> int:
    """Count the innermost frames that are equal in both stacks.

    Frames that `_same` counts are not counted again.
    """
    outer = _same(base, other)
    names = ([frame[1] for frame in path.frames[outer:][::-1]] for path in (base, other))
    n_shared = n_shared_outer(*names)
    # Both stacks were taken in the same stopped function, so it alone says nothing.
    return n_shared if n_shared > 1 else 0


def _about(trace: Trace, n_symbols: int) -> str:
    stacks = trace.height("stacks")
    producers = [
        str(source.get("producer") or source.get("kind")) for source in trace.manifest.sources
    ]
    what = f"{counted(stacks, 'stack')} at {counted(n_symbols, 'function')}"
    return f"{what}, by {producers[0]}" if producers else what
