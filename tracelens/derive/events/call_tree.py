"""Compute values that a span takes from the spans around it or below it.

`parent` holds row numbers, None at the top. The C library computes the values. Without it, pointer
doubling does, in log2(depth) passes over whole columns.
"""

from itertools import accumulate

import polars as pl

from tracelens.derive.columns.filling import filled, gathered, repeated
from tracelens.derive.columns.per_unique import each_pair_once
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

# For 5.4 million spans, doubling takes 0.3 to 0.8 s, and C takes 0.03 s.
_NEAREST, _OUTERMOST, _COUNT, _WITHIN = range(4)
"""Numbers of the passes over a tree, as the C library knows them."""
_NONE = -(2**63)
"""The number by which the C library marks a missing parent."""
_I64 = pl.Int64()
_ROWS_AT_ONCE = 1 << 19
"""Number of a tree's rows that are numbered at a time, which takes less memory than all at once."""


def nearest(parent: pl.Series, values: pl.Series) -> pl.Series:
    """Return each row's value; None becomes the value of the nearest ancestor that has one."""
    return gathered(values, nearest_row(parent, values.is_not_null()))


def outermost(parent: pl.Series, values: pl.Series) -> pl.Series:
    """Return the value of the outermost row that has one, among the row and its ancestors."""
    return gathered(values, outermost_row(parent, values.is_not_null()))


def nearest_row(
    parent: pl.Series,
    flags: pl.Series,
    rows: pl.Series | None = None,
) -> pl.Series:
    """Return, for each row, the nearest flagged row among the row and its ancestors.

    The result is a row number, None if none is flagged. With `rows`, the result is for these row
    numbers only.
    """
    return _flagged_row(parent, flags, rows, outermost=False)


def outermost_row(parent: pl.Series, flags: pl.Series) -> pl.Series:
    """Return the outermost flagged row among the row and its ancestors; None if none is flagged."""
    return _flagged_row(parent, flags, None, outermost=True)


def _flagged_row(
    parent: pl.Series,
    flags: pl.Series,
    rows: pl.Series | None,
    *,
    outermost: bool,
) -> pl.Series:
    wanted_pass = _OUTERMOST if outermost else _NEAREST
    rows_above = _in_c(wanted_pass, parent, flags)
    if rows_above is not None:
        wanted_rows = rows_above if rows is None else gathered(rows_above, rows)
        has_none = wanted_rows < 0
        return wanted_rows.set(has_none, None)
    row = pl.int_range(pl.len())
    flagged_row = pl.when("flag").then(row)
    result = flags.to_frame("flag").select(flagged_row).to_series()
    up = parent
    while up.null_count() < len(up):
        above = result.gather(up)
        first, second = (above, result) if outermost else (result, above)
        result = first.zip_with(first.is_not_null(), second)
        up = up.gather(up)
    return result if rows is None else result.gather(rows)


def count_among(parent: pl.Series, flags: pl.Series) -> pl.Series:
    """Return the number of flagged rows among each row and its ancestors."""
    counts = _in_c(_COUNT, parent, flags)
    if counts is not None:
        return counts.alias(flags.name)
    up = parent
    count = flags.cast(pl.Int64)
    while up.null_count() < len(up):
        count = count + count.gather(up).fill_null(0)
        up = up.gather(up)
    return count


def sum_within(parent: pl.Series, values: pl.Series) -> pl.Series:
    """Return the sum of `values` over the row itself and all rows below it."""
    sums_in_c = _in_c(_WITHIN, parent, values)
    if sums_in_c is not None:
        return sums_in_c.alias(values.name)
    total = values + 0  # a copy, because scatter changes its series in place
    has_parent = parent.is_not_null()
    depth = count_among(parent, has_parent)
    tree = pl.DataFrame({"up": parent, "level": depth})
    with_parent = tree.with_row_index("row").drop_nulls("up")
    levels = with_parent.partition_by("level", as_dict=True)
    for level in sorted(levels, reverse=True):
        rows = levels[level]
        totals = rows.select("up", sum=total.gather(rows["row"]))
        of_children = totals.group_by("up").agg(pl.col("sum").sum())
        parents = of_children["up"]
        with_children = total.gather(parents) + of_children["sum"]
        total = total.scatter(parents, with_children)
    return total


def repeats(
    above: pl.Series,
    code: pl.Series,
    wanted: pl.Series,
) -> pl.Series:
    """Return, for each row, whether the row is wanted and an ancestor has the same code.

    `above` holds each row's parent, None at the top.
    """
    left = (
        pl.DataFrame({"up": above, "code": code})
        .with_row_index("row")
        .filter(wanted)
        .drop_nulls("up")
    )
    flags = repeated(False, len(code), pl.Boolean).alias(code.name)
    while left.height:
        same = code.gather(left["up"]) == left["code"]
        repeating_rows = left["row"].filter(same)
        flags = flags.scatter(repeating_rows, True)
        left = left.filter(~same)
        rows_above = above.gather(left["up"])
        left = left.with_columns(up=rows_above).drop_nulls("up")
    return flags


def above(
    parent: pl.Series,
    marks: pl.Series,
    rows: pl.Series,
) -> pl.DataFrame:
    """Count marks among each of `rows` and its ancestors in the tree: one result per row number.

    - `top`: the outermost row marked 1, None if no row is
    - `n_ones`: number of rows marked 1
    - `n_twos`: number of rows marked 2

    `marks` has the mark of each row of the tree.
    """
    is_one = marks == 1
    is_two = marks == 2
    top = outermost_row(parent, is_one)
    n_ones = count_among(parent, is_one)
    n_twos = count_among(parent, is_two)
    # A None in `rows` stands for no row, so nothing is counted.
    return pl.DataFrame(
        {
            "top": top.gather(rows),
            "n_ones": n_ones.gather(rows).fill_null(0),
            "n_twos": n_twos.gather(rows).fill_null(0),
        }
    )


def joined_paths(words: pl.Series, parent: pl.Series, separator: str) -> pl.Series:
    """Return the path of names from the root to each row, as Categorical."""
    up = parent
    while up.null_count() < len(up):
        words = below(words.gather(up), words, separator)
        up = up.gather(up)
    return words


class CallPaths:
    """Holds the distinct call paths of a tree; a path is the sequence of keys from root to row.

    Rows are added part by part. `of_rows` has the path number of each row added so far. A path's
    parent has a smaller number.
    """

    def __init__(self, *keys: str) -> None:
        """Begin without rows; the keys are columns, for example the name."""
        self.of_rows = pl.Series([], dtype=pl.Int32)
        self._keys = keys
        self._known: pl.DataFrame | None = None

    @property
    def chains(self) -> pl.DataFrame:
        """One row per path, in order of path number: the keys and parent_id.

        parent_id is the number of the path one level up, None at the root.
        """
        assert self._known is not None
        return self._known.drop("chain")

    def add(self, rows: pl.DataFrame) -> None:
        """Add the next rows of the tree, with parent_id (row number) and the keys."""
        if self._known is None:
            number = pl.lit(0, pl.Int32)
            none = rows.select(
                number.alias("parent_id"),
                *self._keys,
                chain=number,
            )
            self._known = none.clear()
        first = len(self.of_rows)
        parent = rows["parent_id"].cast(pl.Int64)
        is_in_part = parent >= first
        earlier_parent = parent.set(is_in_part, None)
        parent_in_part = (parent - first).set(~is_in_part, None)
        earlier_chain = self.of_rows.gather(earlier_parent) if first else earlier_parent
        depth = count_among(parent_in_part, parent_in_part.is_not_null())
        numbered = rows.select(
            *self._keys,
            depth=depth,
            up=parent_in_part,
            earlier_chain=earlier_chain.cast(pl.Int32),
            row=pl.int_range(pl.len()),
        )
        levels = numbered.partition_by("depth", as_dict=True)
        chain_of_row = repeated(-1, rows.height, pl.Int32)
        for depth_of_level in sorted(levels):
            level = levels[depth_of_level]
            chain_in_part = chain_of_row.gather(level["up"])
            above = pl.coalesce(chain_in_part, "earlier_chain").alias("parent_id")
            chains = self._numbers(level.select(above, *self._keys))
            chain_of_row = chain_of_row.scatter(level["row"], chains)
        self.of_rows.append(chain_of_row)

    def _numbers(self, chains: pl.DataFrame) -> pl.Series:
        """Return each path's number, by parent_id and the keys; new paths get the next numbers."""
        assert self._known is not None
        key = chains.columns
        distinct = chains.unique(maintain_order=True)
        known = distinct.join(
            self._known, on=key, how="left", nulls_equal=True, maintain_order="left"
        )
        is_new = pl.col("chain").is_null()
        next_number = self._known.height + is_new.cum_sum() - 1
        number = pl.coalesce("chain", next_number).cast(pl.Int32)
        numbered = known.with_columns(number.alias("chain"))
        new = numbered.filter(known["chain"].is_null())
        self._known = pl.concat([self._known, new])
        with_numbers = chains.join(
            numbered, on=key, how="left", nulls_equal=True, maintain_order="left"
        )
        return with_numbers["chain"]


def call_paths(tree: pl.DataFrame, *keys: str) -> tuple[pl.Series, pl.DataFrame]:
    """Number the distinct call paths of a tree, the sequences of keys from the root to a row.

    The tree has parent_id (row number) and the keys. Return a series with each row's path number,
    and a frame with one row per path: parent_id and the keys. A path's parent has a smaller number;
    parent_id is None at the root.
    """
    paths = CallPaths(*keys)
    for part in tree.iter_slices(_ROWS_AT_ONCE) if tree.height else [tree]:
        paths.add(part)
    chains = paths.chains.with_columns(pl.col("parent_id").cast(pl.Int64))
    return paths.of_rows.cast(pl.Int64), chains


def below(above: pl.Series, words: pl.Series, separator: str) -> pl.Series:
    """Append each word to the text in its row of `above`, with the separator between them.

    If the text is None, the result is the word alone.
    """
    above_and_separator = pl.nth(0) + separator
    joined = pl.concat_str(above_and_separator, pl.nth(1), ignore_nulls=True).alias(words.name)
    return each_pair_once(
        above.alias("above"),
        words.alias("words"),
        lambda pairs: pairs.select(joined),
    ).to_series()


def _in_c(what: int, parent: pl.Series, values: pl.Series) -> pl.Series | None:
    """Run one pass over the tree in the C library, and return its result for each row.

    `what` is one of _NEAREST, _OUTERMOST, _COUNT and _WITHIN. `values` are flags, or for _WITHIN
    numbers to sum. Return None without the library, or if a child comes before its parent.
    """
    if LIBRARY is None:
        return None
    if what == _WITHIN:
        marks = None
        results = bytearray(memory(values, _I64))
    else:
        marks = memory(filled(values, value=False).cast(pl.UInt8), pl.UInt8())
        results = bytearray(8 * len(parent))
    # Read the tree chunk by chunk, so that no column is copied as a whole.
    parts = parent.get_chunks()
    n_rows = [len(part) for part in parts]
    firsts = [0, *accumulate(n_rows)]
    order = range(len(parts))
    is_done = all(
        LIBRARY.among(
            what,
            memory(
                filled(parts[k].cast(pl.Int64), _NONE),
                _I64,
            ),
            firsts[k],
            marks,
            results,
        )
        for k in (reversed(order) if what == _WITHIN else order)
    )
    return series(results, _I64) if is_done else None
