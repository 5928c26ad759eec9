"""Strings as codes, which are places in a list of their words."""

import polars as pl
import pytest

from tracelens.storage.table import coded

VALUES = ["b", None, "a", "a", "", "a word that is longer than a view holds", "b", "Z", "é"]


@pytest.mark.parametrize("n_first", [2, 1 << 17])
@pytest.mark.parametrize("values", [VALUES, [], [None, None], [f"word {n % 300}" for n in range(2000)]])
def test_codes_are_places_among_the_words(
    values: list[str | None], n_first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.storage.table._FIRST_ROWS", n_first)
    series = pl.Series("s", values, dtype=pl.String)
    codes, words = coded(series)
    assert sorted(words) == sorted({value for value in values if value is not None})
    assert codes.dtype == (pl.UInt8 if words.len() <= 256 else pl.UInt16)
    assert words.gather(codes).alias("s").equals(series, check_names=True, null_equal=True)
