"""Which rows of a comparison differ by more than their own spread."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isclose, sqrt
from pathlib import Path
from statistics import median, pvariance

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.analyses import compare_layers
from tracelens.derive.comparing.comparability import not_judged
from tracelens.derive.comparing.significance import (
    REASON_SMALL,
    REASON_SPREAD,
    REASON_TICKS,
    REASON_TOO_FEW,
    Rules,
    judge,
)

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "torch"
T_4 = 2.7764451051977934
"""Student's t with 4 degrees of freedom that 2.5 % exceed, as tables have it."""


def side(rows: Mapping[str, Sequence[float]], run: int = 0) -> pl.DataFrame:
    """A row a value."""
    values = [(name, run, float(value)) for name, own in rows.items() for value in own]
    return pl.DataFrame(values, schema=["row", "run", "value"], orient="row")


def one(base: Sequence[float], other: Sequence[float], rules: Rules = Rules()) -> dict[str, object]:  # noqa: B008
    return judge(side({"x": base}), side({"x": other}), ["row"], rules).row(0, named=True)


def test_the_interval_is_of_the_medians_bootstrap_distribution() -> None:
    base, other = [100.0, 103.0, 104.0], [110.0, 112.0, 117.0]
    every = [[median(draw) for draw in product(own, repeat=3)] for own in (base, other)]
    reach = T_4 * sqrt(sum(pvariance(medians) for medians in every))
    row = one(base, other)
    assert (row["base_value"], row["other_value"]) == (103, 112)
    assert isclose(float(str(row["low"])), 9 - reach)
    assert isclose(float(str(row["high"])), 9 + reach)
    assert (row["outcome"], row["reason"]) == (
        ("slower", None) if reach < 9 else ("unclear", REASON_SPREAD)
    )


@pytest.mark.parametrize(
    ("base", "other", "outcome", "reason"),
    [
        ([100, 101, 99], [50, 51, 49], "faster", None),
        ([100, 101, 99], [150, 151, 149], "slower", None),
        ([100, 180, 60], [150, 90, 220], "unclear", REASON_SPREAD),
        ([100, 100, 100], [100.9, 100.9, 100.9], "unclear", REASON_SMALL),
        ([100, 100, 100], [101.1, 101.1, 101.1], "slower", None),
        ([100, 100], [200, 200, 200], "unclear", REASON_TOO_FEW),
        ([0, 0, 0], [5, 5, 5], "slower", None),
        ([0, 0, 0], [0, 0, 0], "unclear", REASON_SMALL),
        # One slow step, as the first of a capture often is, changes no median.
        ([500, *[100, 101, 99] * 3], [120, 121, 119] * 3, "slower", None),
    ],
)
def test_outcomes(base: list[float], other: list[float], outcome: str, reason: str | None) -> None:
    row = one(base, other)
    assert (row["outcome"], row["reason"]) == (outcome, reason)


def test_the_least_effect_that_matters_is_asked_for() -> None:
    assert one([100] * 3, [103] * 3, Rules(min_effect=0.05))["reason"] == REASON_SMALL


def test_a_difference_of_a_clock_tick_is_none() -> None:
    base, other = side({"x": [1024] * 3}), side({"x": [1056] * 3})
    assert judge(base, other, ["row"])["outcome"].to_list() == ["slower"]
    assert judge(base, other, ["row"], tick=32)["reason"].to_list() == [REASON_TICKS]
    other = side({"x": [1024 + 96] * 3})
    assert judge(base, other, ["row"], tick=32)["outcome"].to_list() == ["slower"]


def test_what_one_side_lacks_is_not_judged() -> None:
    rows = judge(side({"x": [1, 1, 1]}), side({"y": [1, 1, 1]}), ["row"]).sort("row")
    assert rows.select("row", "base_value", "other_value", "outcome", "reason").rows() == [
        ("x", 1, None, None, None),
        ("y", None, 1, None, None),
    ]


def test_runs_are_judged_by_a_value_each() -> None:
    """Within each run nothing varies. Runs of one side differ as much as the sides do."""
    base = pl.concat([side({"x": [value] * 9}, run) for run, value in enumerate((100, 110, 120))])
    other = pl.concat([side({"x": [value] * 9}, run) for run, value in enumerate((105, 116, 125))])
    (row,) = judge(base, other, ["row"]).to_dicts()
    assert (row["n_base_values"], row["n_other_values"], row["outcome"]) == (3, 3, "unclear")
    base, other = (frame.with_columns(run=pl.lit(0)) for frame in (base, other))
    assert judge(base, other, ["row"])["n_base_values"].to_list() == [27]


def test_single_steps_of_several_runs_are_enough() -> None:
    base, other = (
        pl.concat([side({"x": [value]}, run) for run, value in enumerate(values)])
        for values in ((100, 101, 99), (150, 151, 149))
    )
    assert judge(base, other, ["row"])["outcome"].to_list() == ["slower"]


def test_more_rows_need_more_to_be_judged() -> None:
    alone = one([100, 101, 102], [106, 107, 108])
    rows = {f"{at}": [100.0, 101, 102] for at in range(200)}
    found = judge(side(rows), side(rows | {"0": [106.0, 107, 108]}), ["row"])
    assert (alone["outcome"], found.filter(row="0")["outcome"].item()) == ("slower", "unclear")


def test_many_steps_are_averaged_in_groups_of_neighbours() -> None:
    # 60 values in 30 pairs: 0 and 2 beside each other are 1, everywhere.
    (row,) = judge(side({"x": [0.0, 2.0] * 30}), side({"x": [2.0, 4.0] * 30}), ["row"]).to_dicts()
    assert (row["base_value"], row["n_base_values"], row["low"], row["high"], row["outcome"]) == (
        1,
        30,
        2,
        2,
        "slower",
    )


def noisy(rng: random.Random, n_steps: int, noise: float, factors: Sequence[float]) -> pl.DataFrame:
    """Layers of different lengths, each a step's value with noise of its own."""
    return side(
        {
            f"layer{at}": [
                1e5 * (1 + at) * factor * (1 + rng.gauss(0, noise)) for _ in range(n_steps)
            ]
            for at, factor in enumerate(factors)
        }
    )


def pairs(
    n: int, noises: Sequence[float], steps: Sequence[int]
) -> Iterator[tuple[random.Random, float, int]]:
    rng = random.Random(17)  # noqa: S311 - noise
    for at in range(n):
        yield rng, noises[at % len(noises)], steps[at % len(steps)]


def test_equal_runs_are_rarely_judged() -> None:
    same = [1.0] * 100
    judged = 0
    for rng, noise, n_steps in pairs(
        200, [0.01, 0.02, 0.03, 0.05, 0.07, 0.1], [3, 4, 5, 7, 10, 20, 30]
    ):
        found = judge(noisy(rng, n_steps, noise, same), noisy(rng, n_steps, noise, same), ["row"])
        judged += found["outcome"].is_in(["faster", "slower"]).any()
    assert judged <= 10


def test_a_layer_that_takes_a_tenth_longer_is_found_alone() -> None:
    found = 0
    for rng, noise, n_steps in pairs(100, [0.03], [20]):
        rows = judge(
            noisy(rng, n_steps, noise, [1.0] * 100),
            noisy(rng, n_steps, noise, [1.1, *[1.0] * 99]),
            ["row"],
        )
        found += rows.filter(pl.col("outcome").is_in(["faster", "slower"])).select(
            "row", "outcome"
        ).rows() == [("layer0", "slower")]
    assert found >= 95


def test_the_same_kernels_with_other_copies_are_not_judged() -> None:
    base, other = (
        tl.collect(SAMPLES / f"resnet50_train_{kind}.pt.trace.json.gz")
        for kind in ("f32_pageable", "f32_pinned")
    )
    found = compare_layers(base, other)
    assert found.select("outcome", "reason").rows() == [("unclear", REASON_SMALL)] * 3


def test_two_kinds_of_gpu_are_shown_and_not_judged() -> None:
    kernels = [{"span_id": 0, "step": step, "duration_ns": 10_000} for step in range(3)]
    slow = [row | {"duration_ns": 20_000} for row in kernels]
    ops = [{"module_path": "fc", "phase": "forward"}]
    base = make_trace(devices=[{"name": "NVIDIA A100"}], spans=ops, kernels=kernels)
    other = make_trace(devices=[{"name": "NVIDIA H200"}], spans=ops, kernels=slow)
    (row,) = compare_layers(base, other).to_dicts()
    assert (row["speedup"], row["outcome"], row["reason"]) == (
        0.5,
        "unclear",
        not_judged(base, other, Rules()),
    )
    (row,) = compare_layers(base, other, rules=Rules(across_devices=True)).to_dicts()
    assert row["outcome"] == "slower"


def test_the_order_of_rows_changes_no_digit() -> None:
    """Sums of fractions differ in their last digit by their order, which threads choose.

    Equal p-values, here those of the many rows that differ for certain, are ordered by the key.
    """
    rng = random.Random(1)  # noqa: S311 - noise
    n_keys, n_steps = 2_000, 20
    cells = [(key, step) for key in range(n_keys) for step in range(n_steps)]
    sides = [
        pl.DataFrame(
            {
                "what": [f"k{key}" for key, _ in cells],
                "run": [0] * len(cells),
                "value": [
                    rng.uniform(900, 1100) * 10 ** (key % 7) * (1 + worse * (key % 3))
                    for key, _ in cells
                ],
            }
        )
        for worse in (0, 5)
    ]
    base, other = sides
    first = judge(base, other, ["what"])
    assert first["outcome"].n_unique() > 1
    for seed in range(5):
        base, other = (rows.sample(fraction=1, shuffle=True, seed=seed) for rows in sides)
        assert judge(base, other, ["what"]).equals(first)
