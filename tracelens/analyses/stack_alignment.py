"""Compare the calls between a framework call and the library in two programs' stacks."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.analyses.analysis import Analysis, Chart, SplitBars
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.stacks.stack_listing import n_shared_outer, pair_stacks
from tracelens.derive.stacks.stack_tables import WELL_KNOWN_ENTRIES, find_function
from tracelens.errors import TracelensError, UsageError
from tracelens.schemas.stacks import ROLES
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

SEGMENTS = ("entry_to_via", "via_to_symbol", "entry_to_symbol")

STACK_ALIGNMENT = Table(
    "stack_alignment",
    "Calls and frames in one segment of two stacks. A row is for all frames (role null), or for the"
    " frames of one role.",
    (
        Column(
            "symbol_base",
            pl.String,
            "Function at which the base program stopped: frame 0 of its stack.",
        ),
        Column("symbol_other", pl.String, "Function at which the other program stopped."),
        Column(
            "segment", pl.String, "Part of the path from the entry to the symbol.", values=SEGMENTS
        ),
        Column(
            "role",
            pl.String,
            "Role of the frames counted; null: all roles.",
            nullable=True,
            values=ROLES,
        ),
        Column(
            "start_base",
            pl.String,
            "Function at which the segment starts; null if it is not in this stack.",
            nullable=True,
        ),
        Column(
            "start_other",
            pl.String,
            "Function at which the segment starts in the other stack; null if it is not in"
            " that stack.",
            nullable=True,
        ),
        Column(
            "n_edges_base",
            pl.Int64,
            "Calls from start to end, the difference of their levels; for a role, the calls that"
            " its frames make.",
            "calls",
            nullable=True,
        ),
        Column("n_edges_other", pl.Int64, "Calls in the other stack.", "calls", nullable=True),
        Column(
            "n_frames_between_base",
            pl.Int64,
            "Frames strictly between start and end; in total one fewer than the calls.",
            "frames",
            nullable=True,
        ),
        Column(
            "n_frames_between_other",
            pl.Int64,
            "Frames strictly between start and end in the other stack.",
            "frames",
            nullable=True,
        ),
        Column(
            "n_common",
            pl.Int64,
            "Frames of the segment in the run from frame 0 over which both stacks name the same"
            " function at each level; user code and unnamed functions end the run. A frame where"
            " segments meet counts in the inner one.",
            "frames",
            nullable=True,
        ),
        Column(
            "diverges_base",
            pl.String,
            "First function after the common run; null if the stacks diverge in another segment"
            " or not at all.",
            nullable=True,
        ),
        Column(
            "diverges_other",
            pl.String,
            "First function after the common run in the other stack, like diverges_base.",
            nullable=True,
        ),
    ),
)

CONV2D = r"at::conv2d|at::_ops::conv2d::call"
"""The ATen functions that a convolution calls: the first before torch 2, the second since then."""

_OCCURRENCES = ("outermost", "innermost")


class _Path(Struct, frozen=True):
    """One stack by level. Level 0 is the stopped function."""

    functions: Mapping[int, str]
    roles: Mapping[int, str]
    # Levels of the frames between which calls are counted
    entry: int
    via: int | None

    def ends(self, segment: str) -> tuple[int, int] | None:
        """Return a segment's inner and outer level; None if the stack lacks the segment."""
        if segment == "entry_to_symbol":
            return 0, self.entry
        if self.via is None:
            return None
        return (self.via, self.entry) if segment == "entry_to_via" else (0, self.via)

    def count(self, role: str | None, first: int, last: int) -> int:
        """Count the levels with `role` from `first` to `last`, both included. None is any role."""
        if role is None:
            return max(last - first + 1, 0)
        return sum(
            first <= level <= last and level_role == role
            for level, level_role in self.roles.items()
        )


def stack_alignment(  # noqa: PLR0913 - two traces, and four choices that have defaults
    base: Trace,
    other: Trace,
    *,
    entry_base: str | None = None,
    entry_other: str | None = None,
    via: str = CONV2D,
    occurrence: str = "outermost",
) -> pl.DataFrame:
    """Compare the calls and frames of two stacks, from an entry to the stopped function.

    - `entry_base`, `entry_other`: the function at which the compared part begins. The default is
      the outermost well-known entry, such as call_function, else the outermost non-runtime frame.
    - `via`: a function between the entry and the stopped function. at::conv2d also matches
      at::_ops::conv2d::call of torch 2.x.
    - `occurrence`: "outermost" or "innermost" frame, if several match `via` or a given entry.

    These functions are plain names or regular expressions. An expression must match a whole name,
    or everything after a `::` in the name. Stopped functions are paired by name, each with its
    first stack. If no name is in both traces, their first stacks are paired. Calls are counted as
    in "Comparing the costs of abstraction for DL frameworks". Raises TracelensError if a given
    entry is not in a stack.
    """
    if occurrence not in _OCCURRENCES:
        raise UsageError(f"occurrence is one of {', '.join(_OCCURRENCES)}, not {occurrence!r}")
    rows: list[dict[str, Any]] = []
    for stack_base, stack_other in _pairs(base, other):
        base_path = _measure(base, stack_base, entry_base, via, occurrence)
        other_path = _measure(other, stack_other, entry_other, via, occurrence)
        symbols = {"symbol_base": stack_base["symbol"], "symbol_other": stack_other["symbol"]}
        rows += [
            symbols | row
            for segment in SEGMENTS
            for row in _segment(segment, base_path, other_path)
        ]
    return STACK_ALIGNMENT.conform(pl.DataFrame(rows, schema=STACK_ALIGNMENT.schema))


def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the numbers of calls, and reasons for doubt: builds, unknown frames, cut stacks."""
    texts = []
    whole = frame.filter(pl.col("role").is_null(), segment="entry_to_symbol")
    for (base_stack, other_stack), row in zip(
        _pairs(base, other),
        whole.iter_rows(named=True),
        strict=True,
    ):
        texts.append(
            f"Base: {_count(row['n_edges_base'], 'call')} from {row['start_base']} to"
            f" {row['symbol_base']}; new: {_count(row['n_edges_other'], 'call')} from"
            f" {row['start_other']} to {row['symbol_other']}. They have the innermost"
            f" {_count(row['n_common'], 'frame')} in common." + _parting(row)
        )
        texts.append(_from_outside(base_stack["frames"], other_stack["frames"]))
        if base_stack["build_kind"] != other_stack["build_kind"]:
            texts.append(
                f"The builds differ (base {base_stack['build_kind']}, new"
                f" {other_stack['build_kind']}): a release build inlines calls"
                " that a debug build makes, so part of the difference in depth is the compiler's."
            )
        texts += [
            text
            for side, stack in (("Base", base_stack), ("New", other_stack))
            for text in _doubts(side, stack)
        ]
    if whole.height and not frame["segment"].is_in(SEGMENTS[:2]).any():
        texts.append(
            "The via function is in neither stack, so only the way from entry to symbol is"
            " measured."
        )
    for side, trace, column in (("base", base, "symbol_base"), ("other", other, "symbol_other")):
        left_out = trace.stacks.height - whole[column].n_unique()
        if left_out:
            texts.append(
                f"{_count(left_out, 'stack')} of the {side} trace left out: only each symbol's"
                " first hit counts."
            )
    return texts


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _parting(row: Mapping[str, Any]) -> str:
    if row["diverges_base"] is None and row["diverges_other"] is None:
        return ""
    base, other = (
        row[f"diverges_{side}"] or "nothing, its entry is reached" for side in ("base", "other")
    )
    return f" Then base goes on with {base}; new with {other}."


def _from_outside(base: pl.DataFrame, other: pl.DataFrame) -> str:
    """Count the equal outermost frames of both stacks, and name the first different ones."""
    base_functions, other_functions = (
        frames.sort("level", descending=True)["function"].to_list() for frames in (base, other)
    )
    n_shared = n_shared_outer(base_functions, other_functions)
    if not n_shared:
        return "From the outside they share no frame."
    depths = dict.fromkeys((len(base_functions), len(other_functions)))
    of = " and ".join(f"{depth:,}" for depth in depths)
    last = base_functions[n_shared - 1]
    shared = f"From the outside they share {n_shared:,} frames of {of}, to {last}."
    if n_shared == max(depths):
        return shared
    next_base, next_other = (
        functions[n_shared] if n_shared < len(functions) else "nothing"
        for functions in (base_functions, other_functions)
    )
    return f"{shared} Then base calls {next_base}; new {next_other}."


def _doubts(side: str, stack: Mapping[str, Any]) -> Iterator[str]:
    """Yield reasons why one stack's numbers may mislead."""
    roles = stack["frames"]["role"]
    n_unknown = int((roles == "unknown").sum())
    if n_unknown:
        yield f"{side}: {n_unknown} of {len(roles)} frames have an unknown role."
    if stack["truncated"]:
        yield (
            f"{side}: the stack is incomplete, {len(roles)} of at least {stack['depth']} frames are"
            " listed."
        )
    if stack["python_frames"] == "unavailable":
        yield f"{side}: Python's own frames are not in the stack, only the interpreter's."


def _pairs(base: Trace, other: Trace) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    for trace in (base, other):
        trace.require("stack_alignment", "stacks", "frames")
    return pair_stacks(base, other)


def _measure(
    trace: Trace,
    stack: Mapping[str, Any],
    entry: str | None,
    via: str,
    occurrence: str,
) -> _Path:
    """Find the levels of entry and via in one stack.

    `via` is searched only between the entry and the stopped function.
    """
    frames: pl.DataFrame = stack["frames"]
    levels, functions, roles = (frames[name].to_list() for name in ("level", "function", "role"))
    if entry:
        named_entry = find_function(functions, entry, occurrence)
        if named_entry is None:
            raise TracelensError(_not_found(trace, stack, entry))
    else:
        named_entry = find_function(functions, WELL_KNOWN_ENTRIES)
    outside_runtime = (i for i, role in enumerate(roles) if role != "runtime")
    outermost = max(outside_runtime, default=len(roles) - 1)
    entry_position = outermost if named_entry is None else named_entry
    via_position = find_function(functions[: entry_position + 1], via, occurrence)
    return _Path(
        functions=dict(zip(levels, functions, strict=True)),
        roles=dict(zip(levels, roles, strict=True)),
        entry=levels[entry_position],
        via=None if via_position is None else levels[via_position],
    )


def _not_found(trace: Trace, stack: Mapping[str, Any], entry: str) -> str:
    """Write the message for an entry that matches nothing, with the nearest function names."""
    functions = stack["frames"]["function"].unique(maintain_order=True).to_list()
    by_end = {name.rsplit("::", 1)[-1]: name for name in reversed(functions)} | {
        name: name for name in functions
    }
    near = difflib.get_close_matches(
        entry[:200],
        [name for name in by_end if len(name) <= 200],
        n=6,
        cutoff=0.3,
    )
    nearest = list(dict.fromkeys(by_end[name] for name in near))[:3] or functions[-3:]
    return (
        f"{trace.name}: no function matches the entry {entry!r} among the {stack['frames'].height}"
        f" frames of the stack at {stack['symbol']}; the nearest are {', '.join(nearest)}"
    )


def _segment(segment: str, base: _Path, other: _Path) -> Iterator[dict[str, Any]]:
    """Yield a segment's row for all roles, then one row per role of its frames.

    A segment is one of SEGMENTS. Yield nothing if neither stack has this segment.
    """
    paths = {"base": base, "other": other}
    ends = {side: path.ends(segment) for side, path in paths.items()}
    sides = [(side, paths[side], *levels) for side, levels in ends.items() if levels is not None]
    if not sides:
        return
    # Where segments meet, a frame counts in the inner one.
    first = max(inner for _, _, inner, _ in sides) + (segment == "entry_to_via")
    last = min(outer for *_, outer in sides)
    are_both = len(sides) == 2
    n_alike = _count_alike(base, other)
    for role in (None, *ROLES):
        n_edges = {side: path.count(role, inner + 1, outer) for side, path, inner, outer in sides}
        if role is not None and not any(n_edges.values()):
            continue
        n_common = base.count(role, first, min(n_alike - 1, last)) if are_both else None
        row: dict[str, Any] = {"segment": segment, "role": role, "n_common": n_common}
        for side, path, inner, outer in sides:
            row[f"start_{side}"] = path.functions[outer]
            row[f"n_edges_{side}"] = n_edges[side]
            row[f"n_frames_between_{side}"] = path.count(role, inner + 1, outer - 1)
            if are_both and role is None and first <= n_alike <= outer:
                row[f"diverges_{side}"] = path.functions.get(n_alike)
        yield row


def _count_alike(base: _Path, other: _Path) -> int:
    """Count the levels from 0 on at which both stacks have the same function.

    User code or an unnamed function ends the count.
    """
    level = 0
    while (
        level in base.functions
        and base.functions[level] == other.functions.get(level) != UNKNOWN_FUNCTION
        and "user" not in (base.roles[level], other.roles[level])
    ):
        level += 1
    return level


def _charts(frame: pl.DataFrame) -> list[Chart]:
    is_part = pl.col("segment") != "entry_to_symbol"
    by_role = frame.filter(pl.col("role").is_not_null() & is_part)
    in_words = by_role.with_columns(pl.col("role").replace(ROLE_WORDS))
    parts = {"n_edges_base": "base", "n_edges_other": "new"}
    return [
        SplitBars(
            "Calls by role",
            in_words,
            ["segment", "role"],
            parts,
            stacked=False,
        )
    ]


ANALYSIS = Analysis(
    "Where do two implementations' stacks coincide and diverge?",
    STACK_ALIGNMENT,
    stack_alignment,
    notes=notes,
    shown=(
        "segment",
        "role",
        "n_edges_base",
        "n_edges_other",
        "n_common",
        "start_base",
        "start_other",
        "diverges_base",
        "diverges_other",
        "symbol_base",
        "symbol_other",
    ),
    charts=_charts,
)
