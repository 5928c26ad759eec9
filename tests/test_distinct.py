"""Numbers told apart, and looked up again: against a dictionary in Python, however few rows are looked at first."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns import distinct
from tracelens.derive.columns.distinct import distinct_rows
from tracelens.derive.columns.lookup import fill_runs

_EDGES = [-(1 << 63), (1 << 63) - 1, -1, 0, 1, 2, 300, 1 << 40, (1 << 40) + 3]


@given(st.lists(st.none() | st.sampled_from(_EDGES)) | st.lists(st.none() | st.integers((1 << 40) - 2, 1 << 40)))
@pytest.mark.parametrize("n_first", [1, 3, 1 << 16])
def test_distinct_rows(n_first: int, values: list[int | None]) -> None:
    firsts = {value: values.index(value) for value in dict.fromkeys(values)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_FEW", n_first)
        rows, places = distinct_rows(pl.Series(values, dtype=pl.Int64))
    assert rows.to_list() == list(firsts.values())
    assert [values[rows[place]] for place in places] == values


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [
        (pl.Int8, -128, 127),
        (pl.UInt8, 0, 255),
        (pl.Int16, -(1 << 15), (1 << 15) - 1),
        (pl.UInt32, 0, (1 << 32) - 1),
        (pl.UInt64, 0, (1 << 64) - 1),
    ],
)
def test_of_narrow_numbers_none_is_lost(dtype: pl.DataType, lowest: int, highest: int) -> None:
    numbers = pl.Series([highest, lowest, None, highest, lowest + 1], dtype=dtype)
    rows, places = distinct_rows(numbers)
    assert numbers.gather(rows).gather(places).to_list() == numbers.to_list()
    assert len(rows) == 4


@given(st.lists(st.tuples(st.none() | st.integers(-5, 5), st.integers(1, 4))), st.integers(0, 3))
def test_runs_are_filled(runs: list[tuple[int | None, int]], n_before: int) -> None:
    expected = [None] * n_before + [value for value, n in runs for _ in range(n)]
    begins = [n_before + sum(n for _, n in runs[:i]) for i in range(len(runs))]
    if expected:
        values = pl.Series([value for value, _ in runs], dtype=pl.Int8)
        assert fill_runs(values, pl.Series(begins, dtype=pl.UInt32), len(expected)).to_list() == expected
