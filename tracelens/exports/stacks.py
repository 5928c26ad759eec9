"""Build call stacks, outermost first: of kernels, of own host time, of a debugger's stops.

A kernel's stack is the spans around the call that launched it, and the kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.derive.events.call_tree import call_paths
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.time.self_time import attribute, with_own_time
from tracelens.errors import printable
from tracelens.exports.export import Selection

PRE_WINDOW, UNLINKED = "(launched before the trace began)", "(its call is unknown)"
"""Names of the frame around kernels without a recorded call."""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Rows of time with their stacks, for one rank.

    `rows` are sorted by start: start_ns, duration_ns, the innermost name, `path` of the frames
    around it, and `place`, which keeps stacks of different places apart. A path is an index into
    `names`, with its last name there, and into `parents`, with the path without that name, or -1.
    """

    rows: pl.DataFrame
    parents: list[int]
    names: list[str]

    def frames(self, path: int) -> list[str]:
        """Return the names of a path, outermost first."""
        names = []
        while path >= 0:
            names.append(self.names[path])
            path = self.parents[path]
        return names[::-1]


def kernel_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the stacks of a rank's kernels.

    Names are printable; spans with one name in one place are one frame.
    """
    kernels = selection.rows(
        "kernels", rank, "name", "start_ns", "duration_ns", "span_id", "link"
    ).sort("start_ns")
    spans = selection.trace.select("spans", "rank", "span_id", "parent_id", "name", rank=rank)
    trees = list(span_trees(spans)) if spans.height else []
    path, parents, names = _paths(trees[0]) if trees else (pl.Series([], dtype=pl.Int64), [], [])
    for word in (PRE_WINDOW, UNLINKED):
        parents.append(-1)
        names.append(word)
    name_text = pl.col("name").cast(pl.String)
    no_place = pl.lit(None, pl.String)
    rows = kernels.select(
        "start_ns",
        "duration_ns",
        name_text,
        "link",
        place=no_place,
    ).with_columns(path=_gathered(path, kernels["span_id"]))
    is_earlier = pl.col("link") == "pre_window"
    outside = pl.when(is_earlier).then(len(names) - 2).otherwise(len(names) - 1)
    path_or_outside = pl.col("path").fill_null(outside)
    return Stacks(rows.with_columns(path_or_outside).drop("link"), parents, names)


_OF_SPANS = (
    "rank",
    "span_id",
    "parent_id",
    "name",
    "start_ns",
    "self_ns",
    "step",
    "thread_id",
)
_OF_CALLS = ("span_id", "process_id", "thread_id", "start_ns", "duration_ns", "step", "api")


def host_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the distinct stacks of a rank's spans and API calls, with their self time."""
    spans = selection.trace.select("spans", *_OF_SPANS, rank=rank)
    recorded_calls = selection.trace.select("api_calls", *_OF_CALLS, rank=rank)
    calls = with_own_time(recorded_calls.rename({"api": "name"}))
    path = pl.Series([], dtype=pl.Int64)
    parents: list[int] = []
    names: list[str] = []
    parts = []
    for tree in span_trees(spans) if spans.height else ():
        path, parents, names = _paths(tree)
        in_calls = attribute(calls["span_id"], calls["own_ns"], tree.height)
        own_ns = (tree["self_ns"] - in_calls).clip(0)
        parent_paths = pl.Series(parents, dtype=pl.Int64)
        above = parent_paths.gather(path)
        parts.append(tree.with_columns(own_ns=own_ns, path=above))
    around_calls = _gathered(path, calls["span_id"])
    parts.insert(0, calls.with_columns(path=around_calls))
    # A million rows are a few thousand stacks: only of these are names and places written out.
    sums = pl.concat([_by_stack(part, selection.steps) for part in parts])
    stacks = sums.group_by("thread_id", "name", "path", maintain_order=True).agg(
        pl.col("start_ns").min(),
        pl.col("duration_ns").sum(),
    )
    ordered = stacks.sort("start_ns", maintain_order=True)
    rows = ordered.select(
        "start_ns",
        "duration_ns",
        "path",
        pl.col("name").cast(pl.String),
        place=pl.format("thread {}", "thread_id"),
    )
    return Stacks(rows, parents, names)


def _by_stack(rows: pl.DataFrame, steps: Sequence[int] | None) -> pl.DataFrame:
    """Sum the self time of rows in the steps: thread_id, name, path, start_ns and duration_ns."""
    own_ns = pl.col("own_ns")
    chosen = rows.lazy().filter(own_ns > 0)
    if steps is not None:
        in_steps = pl.col("step").is_in(steps)
        chosen = chosen.filter(in_steps)
    path = pl.col("path").fill_null(-1)
    by_stack = chosen.group_by("thread_id", "name", path, maintain_order=True)
    sums = by_stack.agg(pl.col("start_ns").min(), duration_ns=own_ns.sum())
    return sums.collect()


def stop_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the distinct stacks at which a debugger stopped a rank; each has a time of 1."""
    frames = selection.trace.frame("frames").filter(rank=rank)
    known: dict[tuple[int, str], int] = {}
    parents = list[int]()
    names = list[str]()
    rows = list[tuple[int, int, None, str, int]]()
    for _, stack in frames.group_by("stack_id", maintain_order=True):
        functions = stack.sort("level", descending=True)["function"].to_list()
        path = -1
        for function in functions[:-1]:
            if (path, function) not in known:
                known[path, function] = len(names)
                parents.append(path)
                names.append(printable(function))
            path = known[path, function]
        rows.append((len(rows), 1, None, functions[-1], path))
    schema = {
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "place": pl.String,
        "name": pl.String,
        "path": pl.Int64,
    }
    return Stacks(pl.DataFrame(rows, schema=schema, orient="row"), parents, names)


def _gathered(path: pl.Series, span: pl.Series) -> pl.Series:
    """Return the path of each span's row, None where it is unknown."""
    is_unknown = (span < 0) | (span >= len(path))
    return path.gather(span.set(is_unknown, None))


def _paths(tree: pl.DataFrame) -> tuple[pl.Series, list[int], list[str]]:
    """Return the path of each span of a rank's tree.

    Also return each path's parent and last name, level by level.
    """
    path, chains = call_paths(tree, "name")
    parents = chains["parent_id"].fill_null(-1).to_list()
    return path, parents, [printable(name) for name in chains["name"].cast(pl.String)]
