"""Call stacks of kernels.

The spans around the call that launched it, outermost first, and the kernel.
"""

from dataclasses import dataclass

import polars as pl

from tracelens.derive.events.span_trees import span_trees
from tracelens.errors import printable
from tracelens.exports.export import Selection

PRE_WINDOW, UNLINKED = "(launched before the trace began)", "(its call is unknown)"
"""Frames around kernels without a call."""


@dataclass(frozen=True, slots=True)
class Stacks:
    """The kernels of a rank by stack.

    `rows` has start_ns, duration_ns, the kernel's name and `path`, by start. A path is an index of
    `parents` (that of the path without its last name, or -1) and `names`.
    """

    rows: pl.DataFrame
    parents: list[int]
    names: list[str]

    def frames(self, path: int) -> list[str]:
        """Return the names of a path, outermost first."""
        found = []
        while path >= 0:
            found.append(self.names[path])
            path = self.parents[path]
        return found[::-1]


def kernel_stacks(selection: Selection, rank: int) -> Stacks:
    """Return the stacks of a rank's kernels.

    Names are printable; spans with one name in one place are one frame.
    """
    kernels = selection.rows(
        "kernels", rank, "name", "start_ns", "duration_ns", "span_id", "link"
    ).sort("start_ns")
    spans = selection.trace.select(
        "spans", "rank", "span_id", "parent_id", "depth", "name", rank=rank
    )
    trees = list(span_trees(spans)) if spans.height else []
    path, parents, names = _paths(trees[0]) if trees else (pl.Series([], dtype=pl.Int64), [], [])
    for word in (PRE_WINDOW, UNLINKED):
        parents.append(-1)
        names.append(word)
    span = kernels["span_id"]
    place = path.gather(span.set((span < 0) | (span >= len(path)), None))
    own = kernels.select(
        "start_ns", "duration_ns", pl.col("name").cast(pl.String), "link"
    ).with_columns(place.alias("path"))
    outside = pl.when(pl.col("link") == "pre_window").then(len(names) - 2).otherwise(len(names) - 1)
    return Stacks(own.with_columns(pl.col("path").fill_null(outside)).drop("link"), parents, names)


def _paths(tree: pl.DataFrame) -> tuple[pl.Series, list[int], list[str]]:
    """Return the path of each span of a rank's tree.

    Also return each path's parent and last name, level by level.
    """
    path = pl.repeat(-1, tree.height, dtype=pl.Int64, eager=True)
    parents: list[int] = []
    names: list[str] = []
    rows = (
        tree.select("parent_id", "name", "depth")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
    )
    levels = rows.partition_by("depth", as_dict=True)
    for depth in sorted(levels):
        level = levels[depth]
        keys = level.select("name", above=path.gather(level["parent_id"]).fill_null(-1))
        distinct = keys.unique(maintain_order=True).with_columns(
            path=pl.int_range(pl.len()) + len(names)
        )
        path = path.scatter(
            level["row"],
            keys.join(distinct, on=["name", "above"], how="left", maintain_order="left")["path"],
        )
        parents += distinct["above"].to_list()
        names += [printable(name) for name in distinct["name"].cast(pl.String)]
    return path, parents, names
