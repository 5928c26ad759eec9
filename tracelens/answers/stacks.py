"""The answer to call stacks: how many calls lead to the function that was stopped in, by role, and where two part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracelens.answers.answer import Answer, counted
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION
from tracelens.derive.stacks.stack_listing import first_hits, pair_stacks
from tracelens.trace import Trace

_START, _UNNAMED = "runtime", "unknown"
_WORDS = {
    "python": "Python",
    "binding": "binding",
    "dispatcher": "dispatcher",
    "autograd": "autograd",
    "aten_native": "ATen",
    "vendor_glue": "glue to the library",
    "library": "library",
    "runtime": "start of the process",
    "user": "the program itself",
    "unknown": "unnamed or unknown",
}
_MOST_STACKS = 4
_PATH = 2


@dataclass(frozen=True, slots=True)
class CallPath:
    """A stack from its outermost frame to the function that was stopped in: role, function, file and line of each."""

    symbol: str
    frames: tuple[tuple[str, str, str | None, int | None], ...]

    @property
    def n_calls(self) -> int:
        """Calls from where the program begins to the symbol: all frames but the symbol and the process's start."""
        return len(self.calling)

    @property
    def calling(self) -> tuple[tuple[str, str, str | None, int | None], ...]:
        """The frames that call, without the process's start."""
        begin = next(
            (number for number, frame in enumerate(self.frames) if frame[0] == "python"), None
        )
        if begin is None:
            begin = next(
                (number for number, f in enumerate(self.frames) if f[0] not in (_START, _UNNAMED)),
                0,
            )
        return self.frames[begin:-1]

    @property
    def origin(self) -> str:
        """Where the calls come from, in words."""
        if not self.calling or self.calling[0][0] == "python":
            return "Python"
        return self.calling[0][1]


def answer_stacks(trace: Trace) -> Answer:
    """Answer for the first stack of each function that the program was stopped in. Raises without stacks."""
    trace.require("answer", "stacks", "frames")
    paths = [path_of(stack) for stack in first_hits(trace).values()]
    first = paths[0]
    others = [f"{counted(path.n_calls, 'call')} to {path.symbol}" for path in paths[1:]]
    n_outside = len(first.frames) - 1 - first.n_calls
    rows = [*_rows(first)]
    if n_outside:
        rows.append(f"{n_outside:4}  {'outside of these':20}  the process's own start")
    return Answer(
        f"{counted(first.n_calls, 'call')} lead from {first.origin} to {first.symbol}",
        rows=tuple(rows),
        about=_about(trace, len(paths)),
        doubts=tuple(others[:_MOST_STACKS]),
        sections=("dispatch_depth",),
    )


def answer_two_stacks(base: Trace, other: Trace) -> Answer:
    """Answer for two logs: how deep each is, and where they part."""
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
        details=tuple(_parting(base_path, other_path)),
        rows=tuple(_both_rows(base_path, other_path)),
        about=_about(base, 1),
        sections=("stack_alignment",),
    )


def path_of(stack: Mapping[str, Any]) -> CallPath:
    """A stack with its frames from the outermost."""
    frames = stack["frames"].sort("level", descending=True)
    return CallPath(
        stack["symbol"], tuple(frames.select("role", "function", "file", "line").rows())
    )


def _rows(path: CallPath) -> Iterator[str]:
    """A line for each role of the frames that call, in the order in which the roles are first met."""
    for role, frames in _by_role(path).items():
        yield f"{len(frames):4}  {_WORDS.get(role, role):20}  {_short_path(frames)}"


def _both_rows(base: CallPath, other: CallPath) -> Iterator[str]:
    """A line for each role, with the calls of both."""
    mine, theirs = _by_role(base), _by_role(other)
    yield f"{'base':>6} {'new':>6}"
    for role in dict.fromkeys([*mine, *theirs]):
        yield f"{len(mine.get(role, ())):6} {len(theirs.get(role, ())):6}  {_WORDS.get(role, role)}"


def _by_role(path: CallPath) -> dict[str, list[tuple[str, str, str | None, int | None]]]:
    frames_by_role: dict[str, list[tuple[str, str, str | None, int | None]]] = {}
    for frame in path.calling:
        frames_by_role.setdefault(frame[0], []).append(frame)
    return frames_by_role


def _short_path(frames: Sequence[tuple[str, str, str | None, int | None]]) -> str:
    """The first and the last of the frames that have a name, and the file where it is known."""
    named = [frame for frame in frames if frame[1] != UNKNOWN_FUNCTION]
    with_file = [frame for frame in named if frame[2]]
    shown = [_frame_text(frame) for frame in with_file or named]
    if len(shown) > _PATH:
        shown = [shown[0], "…", shown[-1]]
    return " > ".join(shown)


def _frame_text(frame: tuple[str, str, str | None, int | None]) -> str:
    _, function, file, line = frame
    bare = function.removeprefix("torch::autograd::").removeprefix("at::native::")
    return f"{file}:{line} {bare}" if file else bare


def _parting(base: CallPath, other: CallPath) -> Iterator[str]:
    """How many calls from outside are the same, and what each calls next; likewise from inside."""
    names = [[frame[1] for frame in path.frames] for path in (base, other)]
    outer = _same(names[0], names[1])
    if outer == len(names[0]) == len(names[1]):
        yield "both are the same, call by call"
        return
    inner = _same(names[0][outer:][::-1], names[1][outer:][::-1])
    if outer:
        yield f"the outer {counted(outer, 'frame')} are the same, to {names[0][outer - 1]}"
    rest = [side[outer : len(side) - inner] for side in names]
    functions = [
        f"{word} goes on with {side[0]} ({counted(len(side), 'frame')})"
        if side
        else f"{word} with none"
        for word, side in zip(("base", "new"), rest, strict=True)
    ]
    yield f"then {', '.join(functions)}"
    if inner:
        yield f"the inner {counted(inner, 'frame')} are the same again, from {names[0][-inner]}"


def _same(one: Sequence[str], two: Sequence[str]) -> int:
    """How many first functions are the same."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(two)))


def _about(trace: Trace, n_symbols: int) -> str:
    stacks = trace.height("stacks")
    producers = [
        str(source.get("producer") or source.get("kind")) for source in trace.manifest.sources
    ]
    what = f"{counted(stacks, 'stack')} at {counted(n_symbols, 'function')}"
    return f"{what}, by {producers[0]}" if producers else what
