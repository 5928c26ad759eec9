"""Put the rows of two runs side by side."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.ratios import which_side


def side_by_side(
    base: pl.DataFrame,
    other: pl.DataFrame,
    key: Sequence[str],
    absent: int | None = None,
) -> pl.DataFrame:
    """Return one row per key of either run, with the other columns of both runs.

    These columns get the prefix base_ or other_. An integer that a run lacks is `absent`, and other
    values are None. The column `match` is "both", "only_base" or "only_other".
    """
    both = _with_prefix("base_", base, key).join(
        _with_prefix("other_", other, key),
        on=key,
        how="full",
        coalesce=True,
        nulls_equal=True,
        maintain_order="left_right",
    )
    match = which_side("base_has_row", "other_has_row")
    rows = both.with_columns(match=match).drop("base_has_row", "other_has_row")
    if absent is None:
        return rows
    integers = pl.selectors.integer() - pl.selectors.by_name(key)
    return rows.with_columns(integers.fill_null(absent))


def _with_prefix(
    prefix: str,
    rows: pl.DataFrame,
    key: Sequence[str],
) -> pl.DataFrame:
    """Put the prefix before all names but those of the key, and add the column PREFIXhas_row."""
    with_mark = rows.with_columns(has_row=pl.lit(value=True))
    renamed = {name: f"{prefix}{name}" for name in with_mark.columns if name not in key}
    return with_mark.rename(renamed).cast({pl.Categorical: pl.String})
