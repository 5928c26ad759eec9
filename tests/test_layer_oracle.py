"""layer_oracle: the best mixture of an eager and a compiled run, by hand."""

import itertools
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.test_timing_methods import MEASURED, timing
from tracelens.analyses.layer_oracle import layer_oracle, notes
from tracelens.errors import MissingTableError, UsageError
from tracelens.schemas.results.layers import LAYER_ORACLE
from tracelens.trace import Trace

NAMES = ("stem", "block.conv", "block.bn", "fc")


def run(*kernels: tuple[str, int, str], compiled: bool = False) -> Trace:
    """Kernels of (layer, time, primitive) of one step.

    The layers are called in the order of NAMES.
    """
    layers = [
        {"module_path": name, "class_name": "Layer", "call_order": at}
        for at, name in enumerate(NAMES)
    ]
    spans = [{"name": "op", "module_path": name, "phase": "forward"} for name in NAMES]
    spans += [{"name": "Torch-Compiled Region: 0/0"}] if compiled else []
    rows = [
        {"span_id": NAMES.index(name), "duration_ns": ns, "primitive": primitive}
        for name, ns, primitive in kernels
    ]
    return make_trace(layers=layers, spans=spans, kernels=rows)


BASE = run(
    ("fc", 100, "gemm"),
    ("stem", 90, "conv"),
    ("block.conv", 100, "conv"),
    ("block.bn", 30, "normalization"),
)
OTHER = run(
    ("stem", 50, "conv"),
    ("block.conv", 120, "conv"),
    ("block.bn", 10, "fused"),
    ("fc", 40, "gemm"),
    compiled=True,
)
TOLD = ["layer", "choice", "chosen_ns", "switch_ns", "cumulative_ns"]


def path(found: pl.DataFrame, oracle: str) -> list[tuple[Any, ...]]:
    return found.filter(oracle=oracle).filter(pl.col("position").is_not_null()).select(TOLD).rows()


def total(found: pl.DataFrame, oracle: str) -> dict[str, Any]:
    return found.filter(oracle=oracle, layer="(total)").row(0, named=True)


def test_best_of_two_takes_the_faster_run_for_each_layer() -> None:
    found = LAYER_ORACLE.check(layer_oracle(BASE, OTHER))
    assert path(found, "best_of_two") == [
        ("stem", "compiled", 50, 0, 50),
        ("block.conv", "eager", 100, 0, 150),
        ("block.bn", "compiled", 10, 0, 160),
        ("fc", "compiled", 40, 0, 200),
    ]
    row = total(found, "best_of_two")
    assert (row["base_ns"], row["other_ns"], row["chosen_ns"]) == (320, 220, 200)
    assert (row["speedup_over_base"], row["speedup_over_other"], row["speedup_over_best"]) == (
        1.6,
        1.1,
        1.1,
    )


def test_dynamic_pays_for_every_change() -> None:
    """Leaving and entering again costs 18 or 22, staying compiled 20 more.

    The ends are paid for too.
    """
    free = layer_oracle(BASE, OTHER)
    assert path(free, "dynamic") == path(free, "best_of_two")
    cheap = layer_oracle(BASE, OTHER, switch_cost_ns=9)
    assert path(cheap, "dynamic") == [
        ("stem", "compiled", 50, 9, 59),
        ("block.conv", "eager", 100, 9, 168),
        ("block.bn", "compiled", 10, 9, 187),
        ("fc", "compiled", 40, 9, 236),
    ]
    assert total(cheap, "dynamic")["speedup_over_other"] == 220 / 236
    dear = layer_oracle(BASE, OTHER, switch_cost_ns=11)
    assert path(dear, "dynamic") == [
        ("stem", "compiled", 50, 11, 61),
        ("block.conv", "compiled", 120, 0, 181),
        ("block.bn", "compiled", 10, 0, 191),
        ("fc", "compiled", 40, 11, 242),
    ]
    never = layer_oracle(BASE, OTHER, switch_cost_ns=51)
    assert {choice for _, choice, *_ in path(never, "dynamic")} == {"eager"}
    assert total(never, "dynamic")["speedup_over_base"] == 1.0


def test_profile_timed_chooses_by_operation() -> None:
    """A block that adds (eager 10, compiled 40) and normalises (50, 20).

    Its layout transforms belong to the latter.
    """
    base = run(
        ("fc", 10, "elementwise"),
        ("fc", 30, "normalization"),
        ("fc", 20, "layout"),
        ("stem", 5, "conv"),
    )
    other = run(
        ("fc", 40, "elementwise"), ("fc", 20, "normalization"), ("stem", 7, "fused"), compiled=True
    )
    found = layer_oracle(base, other)
    assert path(found, "profile_timed") == [("stem", "eager", 5, 0, 5), ("fc", "mixed", 30, 0, 35)]
    assert path(found, "best_of_two") == [("stem", "eager", 5, 0, 5), ("fc", "eager", 60, 0, 65)]
    fused = run(("fc", 50, "fused"), ("stem", 7, "conv"), compiled=True)
    assert path(layer_oracle(base, fused), "profile_timed")[1] == ("fc", "compiled", 50, 0, 55)


def test_a_layer_of_one_run_counts_in_no_speedup() -> None:
    other = run(
        ("stem", 50, "conv"), ("block.conv", 120, "conv"), ("fc", 40, "gemm"), compiled=True
    )
    found = layer_oracle(BASE, other)
    assert found.filter(oracle="best_of_two", layer="block.bn").select(
        "choice", "is_forced", "chosen_ns"
    ).rows() == [("eager", True, 30)]
    row = total(found, "best_of_two")
    assert (row["base_ns"], row["chosen_ns"], row["cumulative_ns"]) == (290, 190, 220)
    assert any("1 layers have a time in one run only" in note for note in notes(BASE, other, found))


def test_measured_layers_with_the_measured_cost_of_a_region() -> None:
    """Conv takes 55 eager and 20 compiled, fc 30 and 60.

    A region costs 10, which is in 20 and 60, a change half.
    """
    found = layer_oracle(MEASURED, MEASURED)
    assert path(found, "best_of_two") == [
        ("conv", "compiled", 20, 0, 20),
        ("fc", "eager", 30, 0, 50),
    ]
    assert path(found, "dynamic") == [("conv", "compiled", 10, 5, 15), ("fc", "eager", 30, 5, 50)]
    assert set(found["oracle"]) == {
        "best_of_two",
        "dynamic",
    }  # the profiler was on in one configuration only
    said = " ".join(notes(MEASURED, MEASURED, found))
    assert "Calling a compiled region was measured to cost 0.01 µs; each change counts half" in said
    assert "measure with the method profiler as well" in said


def test_the_finding_in_words() -> None:
    said = notes(BASE, OTHER, layer_oracle(BASE, OTHER))
    assert (
        said[0]
        == "best_of_two: 1 eager, 3 compiled; 0.20 µs, 1.600 times as fast as base, 1.100 times as"
        " fast as new (in theory)."
    )
    assert "so the oracle dynamic counts 0 for it" in said[3]


EAGER = run(("stem", 50, "conv"), ("fc", 110, "gemm"))


def showing(**tables: list[dict[str, Any]]) -> Trace:
    """The layers of EAGER in a trace, with further tables or with others in their place."""
    own = {name: EAGER.frame(name).to_dicts() for name in ("layers", "spans", "kernels")}
    return make_trace(
        **{name: own.get(name, []) + tables.get(name, []) for name in {**own, **tables}}
    )


def test_two_eager_runs_are_called_base_and_other() -> None:
    base = showing(devices=[{"name": "NVIDIA A100"}])
    other = showing(devices=[{"name": "NVIDIA H100"}])
    found = LAYER_ORACLE.check(layer_oracle(base, other))
    assert set(found["choice"].drop_nulls()) <= {"base", "other", "mixed"}
    said = " ".join(notes(base, other, found))
    assert "Base ran on NVIDIA A100, new on NVIDIA H100" in said
    assert "Nothing shows that base ran eager and new compiled" in said
    assert "no plan can be made" in said
    assert "eager and compiled costs" not in said
    same = notes(base, base, layer_oracle(base, base))
    assert not any("ran on" in note for note in same)


@pytest.mark.parametrize(
    ("besides", "is_compiled"),
    [
        ({"kernels": [{"name": "triton_poi_fused_relu_0"}]}, True),
        ({"kernels": [{"name": "triton__0d1d2d"}]}, True),
        (
            {"kernels": [{"name": "_layer_norm_fwd_fused", "library": "triton"}]},
            False,
        ),  # written by hand
        ({"spans": [{"name": "## Call CompiledFxGraph fabc ##"}]}, True),
        ({"spans": [{"name": "nn.Module: OptimizedModule_0", "kind": "module"}]}, True),
        ({"provenance": [{"kernel_name": "k"}]}, True),
        ({"spans": [{"name": "aten::conv2d"}]}, False),
    ],
)
def test_what_shows_that_other_was_compiled(
    besides: dict[str, list[dict[str, Any]]], is_compiled: bool
) -> None:
    other = showing(**besides)
    chosen = set(layer_oracle(EAGER, other)["choice"].drop_nulls())
    assert (chosen <= {"eager", "compiled", "mixed"}) == is_compiled
    assert set(layer_oracle(other, other)["choice"].drop_nulls()) <= {"base", "other", "mixed"}


def test_a_win_within_the_spread_counts_in_nothing() -> None:
    """Conv takes 35 to 85 (median 60) and 35 to 65 (50), which overlap.

    Fc takes 30 and 10, which do not.
    """
    timings = [
        *timing("layer", 10, 110, module_path="conv", synchronized=True),
        *timing("layer", 30, 30, module_path="fc", synchronized=True),
        *timing("layer", 20, 80, configuration="cpp", module_path="conv", synchronized=True),
        *timing("layer", 10, 10, configuration="cpp", module_path="fc", synchronized=True),
    ]
    trace = make_trace(timings=timings, layers=MEASURED.layers.drop("rank").to_dicts())
    plain, sure = (layer_oracle(trace, trace, beyond_spread=beyond) for beyond in (False, True))
    assert path(plain, "best_of_two") == [
        ("conv", "compiled", 50, 0, 50),
        ("fc", "compiled", 10, 0, 60),
    ]
    assert path(sure, "best_of_two") == [
        ("conv", "eager", 60, 0, 60),
        ("fc", "compiled", 10, 0, 70),
    ]
    assert [total(found, "dynamic")["speedup_over_base"] for found in (plain, sure)] == [
        90 / 60,
        90 / 70,
    ]
    assert plain.filter(oracle="dynamic").select("layer", "is_clear").rows() == [
        ("(total)", None),
        ("conv", False),
        ("fc", True),
    ]


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"method": "guess"}, UsageError, "no method is called guess; the methods are kernels"),
        ({"switch_cost_ns": -1}, UsageError, "nanoseconds from 0 on, found -1"),
        ({"switch_cost_ns": float("nan")}, UsageError, "found nan"),
        ({"method": "subtraction"}, MissingTableError, "layers with times by subtraction in both"),
    ],
)
def test_what_cannot_be_asked(asked: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        layer_oracle(BASE, OTHER, **asked)


def test_without_a_layer_in_common() -> None:
    with pytest.raises(MissingTableError, match="none is matched; see compare_layers"):
        layer_oracle(run(("stem", 1, "conv")), run(("fc", 1, "gemm")))


TIMES = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=len(NAMES), max_size=len(NAMES)
)


@given(TIMES, st.integers(0, 60))
def test_dynamic_is_what_an_exhaustive_search_finds(
    times: list[tuple[int, int]], change: int
) -> None:
    sides = [
        run(*((name, time[at], "conv") for name, time in zip(NAMES, times, strict=True)))
        for at in (0, 1)
    ]
    found = total(layer_oracle(*sides, switch_cost_ns=change), "dynamic")
    costs = []
    for choices in itertools.product((0, 1), repeat=len(NAMES)):
        around = (0, *choices, 0)
        n_changes = sum(a != b for a, b in itertools.pairwise(around))
        costs.append(
            sum(time[at] for time, at in zip(times, choices, strict=True)) + change * n_changes
        )
    assert found["chosen_ns"] + found["switch_ns"] == min(costs)
    assert found["cumulative_ns"] == min(costs)
