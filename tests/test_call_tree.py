"""What spans inherit, against walking up parent by parent."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.events.call_tree import call_paths, count_among, nearest, outermost

#   0 a          5 (alone)
#   ├ 1          6 f
#   │ ├ 2 c      └ 7
#   │ └ 3
#   └ 4 e
PARENT = pl.Series([None, 0, 1, 1, 0, None, None, 6], dtype=pl.Int64)
VALUES = pl.Series(["a", None, "c", None, "e", None, "f", None], dtype=pl.String)


def test_a_small_tree() -> None:
    assert nearest(PARENT, VALUES).to_list() == ["a", "a", "c", "a", "e", None, "f", "f"]
    assert outermost(PARENT, VALUES).to_list() == ["a", "a", "a", "a", "a", None, "f", "f"]
    assert count_among(PARENT, VALUES.is_not_null()).to_list() == [1, 1, 2, 1, 2, 0, 1, 1]


def test_no_rows_and_no_parents() -> None:
    none, empty = pl.Series([], dtype=pl.Int64), pl.Series([], dtype=pl.String)
    assert nearest(none, empty).to_list() == outermost(none, empty).to_list() == []
    alone = pl.Series([None, None], dtype=pl.Int64)
    assert nearest(alone, pl.Series(["x", None])).to_list() == ["x", None]


@pytest.mark.parametrize("n_at_once", [1, 3, 100])
def test_equal_chains_are_one_path(n_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of any size: f(g(h)) twice, g alone, and f(h)."""
    monkeypatch.setattr("tracelens.derive.events.call_tree._ROWS_AT_ONCE", n_at_once)
    parent = pl.Series([None, 0, 1, None, 3, 4, None, 3], dtype=pl.Int64)
    tree = pl.DataFrame({"parent_id": parent, "name": ["f", "g", "h", "f", "g", "h", "g", "h"]})
    numbers, chains = call_paths(tree, "name")
    names, above = chains["name"], chains["parent_id"]
    chain_of = ["f", "f g", "f g h", "f", "f g", "f g h", "g", "f h"]
    assert chains.height == len(set(chain_of))
    for chain, number in zip(chain_of, numbers, strict=True):
        words, place = list[str](), number
        while place is not None:
            words, place = [names[place], *words], above[place]
        assert " ".join(words) == chain


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 8, 9, 1000])
def test_a_chain_of_any_depth(depth: int) -> None:
    parent = pl.Series([None, *range(depth)], dtype=pl.Int64)
    top = pl.Series([1, *[None] * depth], dtype=pl.Int64)
    assert nearest(parent, top).to_list() == outermost(parent, top).to_list() == [1] * (depth + 1)
    assert count_among(parent, pl.Series([True] * (depth + 1))).to_list() == list(
        range(1, depth + 2)
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 5)), max_size=30))
def test_agrees_with_walking_up(rows: list[tuple[int, int | None]]) -> None:
    parents = [None if up >= i else up for i, (up, _) in enumerate(rows)]
    values = [value for _, value in rows]

    def line(i: int | None) -> list[int]:
        return [] if i is None else [i, *line(parents[i])]

    said = [[values[k] for k in line(i) if values[k] is not None] for i in range(len(rows))]
    parent, series = pl.Series(parents, dtype=pl.Int64), pl.Series(values, dtype=pl.Int64)
    assert nearest(parent, series).to_list() == [line[0] if line else None for line in said]
    assert outermost(parent, series).to_list() == [line[-1] if line else None for line in said]
    assert count_among(parent, series.is_not_null()).to_list() == [len(line) for line in said]
