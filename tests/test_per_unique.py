"""Numbers told apart and looked up again, against a dictionary, however few rows are seen first."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns import per_unique
from tracelens.derive.columns.per_unique import distinct_rows

_EDGES = [-(1 << 63), (1 << 63) - 1, -1, 0, 1, 2, 300, 1 << 40, (1 << 40) + 3]


@given(
    st.lists(st.none() | st.sampled_from(_EDGES))
    | st.lists(st.none() | st.integers((1 << 40) - 2, 1 << 40))
)
@pytest.mark.parametrize("n_first", [1, 3, 1 << 16])
def test_distinct_rows(n_first: int, values: list[int | None]) -> None:
    firsts = {value: values.index(value) for value in dict.fromkeys(values)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(per_unique, "_FEW", n_first)
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
