"""Make the tables `stacks` and `frames` from a program's stops, and find functions in stacks."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

import polars as pl
from msgspec import Struct, field

from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, PrintedFrame, normalise_function
from tracelens.derive.stacks.frame_roles import DEFAULT_RULES, RoleRule, frame_role
from tracelens.errors import TracelensError
from tracelens.schemas.stacks import FRAMES, STACKS

WELL_KNOWN_ENTRIES = r"call_function|Conv2dImpl::forward|VariableType::_convolution|Conv2d.*::forward|THPVariable_\w+"
"""Pattern for functions in which a framework call begins.

The names are from the stacks of "Comparing the costs of abstraction for DL frameworks".
"""

_NO_FRAMEWORK = frozenset({"runtime", "python", "library", "user", "unknown"})


class StackFrame(Struct, frozen=True):
    """Holds one frame of a stop."""

    level: int
    address: str | None
    """The address shows which frames are inlined and which stops repeat. No table contains it."""
    printed: PrintedFrame
    has_debug_info: bool | None = None
    """If it is None, a source line counts as debug information."""
    is_python: bool = False

    @property
    def is_debug(self) -> bool:
        """Return whether the frame has debug information."""
        return self.printed.line is not None if self.has_debug_info is None else self.has_debug_info


class Stop(Struct):
    """Holds one stop of the program. A field that is not recorded is None."""

    frames: list[StackFrame] = field(default_factory=list)
    """The innermost first."""
    thread: str | None = None
    """The debugger's id of the thread."""
    thread_id: int | None = None
    """The system's id of the thread."""
    truncated: bool = False
    depth: int | None = None
    symbol: str | None = None
    hit: int | None = None
    process_id: int | None = None
    python_frames: str | None = None


def drop_doubled(stops: Sequence[Stop]) -> list[Stop]:
    """Drop stops that only repeat the previous stop in another library.

    cuDNN 9 forwards each call to another library. So a breakpoint stops twice, with the same
    thread, function and callers.
    """
    kept: list[Stop] = []
    for stop in stops:
        if not (kept and _is_twin(kept[-1], stop)):
            kept.append(stop)
    return kept


def stack_tables(
    stops: Sequence[Stop],
    implementation: str,
    process_id: int | None = None,
    rules: Sequence[RoleRule] = DEFAULT_RULES,
) -> dict[str, pl.DataFrame]:
    """Return the tables `stacks` and `frames`, without their column `rank`.

    Each stop must have frames. Stack ids count the stops from 0. If a stop has no `hit`, its number
    counted from 1 is used. If a stop has no `symbol`, its innermost function is used.
    """
    names = _normalised_names(stops)
    distinct_names = pl.Series(
        [*set(names.values())],
        dtype=pl.String,
    )
    entries = {*distinct_names.filter(_named_by(distinct_names, WELL_KNOWN_ENTRIES))}
    role_of = cache(partial(frame_role, rules=rules))
    stacks: list[dict[str, Any]] = []
    frames: dict[str, list[Any]] = {name: [] for name in FRAMES.without("rank").names}
    for stack_id, stop in enumerate(stops):
        functions = [names[_spelling(frame)] for frame in stop.frames]
        roles = [
            "python"
            if frame.is_python
            else role_of(function, frame.printed.library, frame.printed.file)
            for frame, function in zip(stop.frames, functions, strict=True)
        ]
        has_debug_info = [frame.is_debug for frame in stop.frames]
        is_entry = [function in entries for function in functions]
        frames["stack_id"] += [stack_id] * len(functions)
        frames["level"] += [frame.level for frame in stop.frames]
        frames["kind"] += _kinds(stop.frames, functions)
        frames["function"] += functions
        for name in ("raw_function", "library", "file", "line"):
            frames[name] += [getattr(frame.printed, name) for frame in stop.frames]
        frames["role"] += roles
        frames["has_debug_info"] += has_debug_info
        stacks.append(
            {
                "stack_id": stack_id,
                "symbol": stop.symbol or functions[0],
                "hit": stop.hit or stack_id + 1,
                "process_id": stop.process_id or process_id,
                "thread_id": stop.thread_id,
                "implementation": implementation,
                "depth": max(
                    stop.depth or 0,
                    stop.frames[-1].level + 1,
                ),
                "truncated": stop.truncated,
                "python_frames": stop.python_frames or _python_frames(functions, roles),
                "build_kind": _build_kind(is_entry, roles, has_debug_info),
            }
        )
    return {
        "stacks": pl.DataFrame(stacks, schema=STACKS.without("rank").schema),
        "frames": pl.DataFrame(frames, schema=FRAMES.without("rank").schema),
    }


def _spelling(frame: StackFrame) -> tuple[str, bool]:
    """Return the function's name as the debugger printed it, and whether it is in Python."""
    return frame.printed.raw_function, frame.is_python


def _normalised_names(stops: Sequence[Stop]) -> dict[tuple[str, bool], str]:
    """Return the normalised name of each distinct function by its `_spelling`."""
    spellings = {_spelling(frame) for stop in stops for frame in stop.frames}
    # Brackets in Python names, such as `f.<locals>.g`, are no template arguments.
    return {
        (raw, is_python): raw if is_python else normalise_function(raw)
        for raw, is_python in spellings
    }


def _python_frames(functions: Sequence[str], roles: Sequence[str]) -> str:
    """Return the column python_frames for a stack in which Python's own frames are not listed.

    The value is `none` if the stack has no frames of the interpreter, else `unavailable`.
    """
    has_interpreter = "python" in roles or any(
        name.startswith("_PyEval_Eval") for name in functions
    )
    return "unavailable" if has_interpreter else "none"


def find_function(
    functions: Sequence[str], pattern: str, occurrence: str = "outermost"
) -> int | None:
    """Return the index of the outermost or innermost function that the pattern names, or None.

    A pattern is a name or a regular expression. It has to match the whole function name, or the
    part after a `::`. Raises TracelensError if it is neither.
    """
    named = _named_by(pl.Series(functions, dtype=pl.String), pattern).arg_true()
    if named.is_empty():
        return None
    return int(named[-1] if occurrence == "outermost" else named[0])


def _named_by(functions: pl.Series, pattern: str) -> pl.Series:
    """Return whether the name or regular expression matches each function, in linear time."""
    plain = (functions == pattern) | functions.str.ends_with(f"::{pattern}")
    try:
        return plain | functions.str.contains(rf"(?:^|::)(?:{pattern})$")
    except pl.exceptions.ComputeError as error:
        if plain.any():
            return plain
        raise TracelensError(
            f"{pattern!r} is neither a function of the stack nor a regular expression; "
            "give a function's name, or a pattern such as 'Conv2d.*::forward'"
        ) from error


def _is_twin(first: Stop, second: Stop) -> bool:
    """Return whether the second stop only repeats the first stop in another library."""
    if first.thread != second.thread or first.frames[1:] != second.frames[1:]:
        return False
    here = first.frames[0].printed
    there = second.frames[0].printed
    is_one_function = here.raw_function == there.raw_function != UNKNOWN_FUNCTION
    has_libraries = here.library is not None and there.library is not None
    return is_one_function and has_libraries and here.library != there.library


def _kinds(frames: Sequence[StackFrame], functions: Sequence[str]) -> list[str]:
    """Return the kind of each frame: inline, native, python or unknown."""
    # Inlining shows in addresses only.
    if len(frames) > 1 and all(frame.address is None for frame in frames[1:]):
        return ["python" if frame.is_python else "unknown" for frame in frames]
    kinds = ["python" if frame.is_python else "native" for frame in frames]
    for i, (frame, caller) in enumerate(pairwise(frames)):
        is_signal_handler = caller.printed.raw_function.startswith("<") and functions[
            i + 1
        ].endswith(" called>")
        is_next_level = caller.level == frame.level + 1
        if not is_next_level or is_signal_handler or frame.is_python or caller.is_python:
            continue
        # For an inlined function, gdb's CLI prints no address of the caller; MI prints the same
        # address. A recursive function may repeat its own address.
        is_recursion = functions[i] == functions[i + 1]
        repeats_address = caller.address == frame.address and not is_recursion
        if caller.address is None or repeats_address:
            kinds[i] = "inline"
    return kinds


def _build_kind(
    is_entry: Sequence[bool],
    roles: Sequence[str],
    has_debug_info: Sequence[bool],
) -> str:
    """Return whether the framework's frames have debug information: debug, mixed or release.

    Return `unknown` without frames of the framework.
    """
    # Examine the frames between the innermost frame and the outermost entry into the framework.
    outermost_entry = max(
        (i for i, entry in enumerate(is_entry) if entry),
        default=len(roles),
    )
    counted = [
        has_debug_info[i] for i in range(1, outermost_entry) if roles[i] not in _NO_FRAMEWORK
    ]
    if not counted:
        return "unknown"
    return "debug" if all(counted) else "mixed" if any(counted) else "release"
