"""The dynamic program finds what trying every path finds."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.layers.best_mixture import change_costs, cheapest_path

TIME = st.integers(0, 1000) | st.just(float("inf"))


def walked(times: Sequence[tuple[float, float]], path: Sequence[int], change_cost: float) -> float:
    """The cost of a path, step by step: start eager, pay for every change, come back to eager."""
    at, total = 0, 0.0
    for layer, wanted in zip(times, path, strict=True):
        if wanted != at:
            total += change_cost
        at = wanted
        total += layer[at]
    return total + (change_cost if at == 1 else 0)


def path_cost(
    times: Sequence[tuple[float, float]], path: Sequence[int], change_cost: float
) -> float:
    return sum(layer[at] for layer, at in zip(times, path, strict=True)) + sum(
        change_costs(path, change_cost)
    )


@given(st.lists(st.tuples(TIME, TIME), max_size=9), st.integers(0, 500))
def test_finds_the_optimum_of_an_exhaustive_search(
    times: list[tuple[float, float]], change_cost: int
) -> None:
    every_path = itertools.product((0, 1), repeat=len(times))
    best = min(walked(times, path, change_cost) for path in every_path)
    found = cheapest_path(times, change_cost)
    assert walked(times, found, change_cost) == best
    assert path_cost(times, found, change_cost) == best


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=40))
def test_without_a_cost_it_is_the_faster_one_layer_by_layer(
    times: list[tuple[float, float]],
) -> None:
    assert path_cost(times, cheapest_path(times, 0), 0) == sum(map(min, times))


@pytest.mark.parametrize(
    ("times", "change_cost", "path"),
    [
        ([], 5, []),
        ([(10, 1)], 4, [1]),  # 1 and two changes are 9
        ([(10, 1)], 5, [0]),  # 11 against 10
        (
            [(10, 1), (1, 4), (10, 1)],
            2,
            [1, 1, 1],
        ),  # staying compiled costs 3 more, leaving and returning 4
        ([(10, 1), (1, 6), (10, 1)], 2, [1, 0, 1]),  # 5 more against 4
        ([(3, 3), (3, 3)], 0, [0, 0]),
        ([(3, 3), (9, 3), (3, 3), (9, 3)], 0, [0, 1, 0, 1]),  # eager if there is nothing to gain
        ([(float("inf"), 9)], 100, [1]),
    ],
)
def test_by_hand(times: list[tuple[float, float]], change_cost: float, path: list[int]) -> None:
    assert cheapest_path(times, change_cost) == path


def test_changes_are_paid_by_the_layer_after_them() -> None:
    assert change_costs([1, 1, 0, 1], 7) == [7, 0, 7, 14]
    assert change_costs([], 7) == []
