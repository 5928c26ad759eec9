"""compare_layers: layers of two runs by module path, by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.test_timing_methods import MEASURED, timing
from tracelens.analyses.compare_layers import compare_layers, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.layers import COMPARE_LAYERS
from tracelens.trace import Trace

CLASSES = {"conv": "Conv2d", "bn": "BatchNorm2d", "fc": "Linear"}


def run(steps: int, *times: tuple[str | None, int], **tables: Any) -> Trace:
    """Make each layer's kernel in each of the steps. None is work outside any module."""
    layers = [
        {"module_path": path, "class_name": name, "call_order": at}
        for at, (path, name) in enumerate(CLASSES.items())
    ]
    spans = [{"name": "op", "module_path": path, "phase": "forward"} for path in CLASSES]
    place = {path: at for at, path in enumerate(CLASSES)} | {None: None}
    kernels = [
        {
            "span_id": place[path],
            "duration_ns": ns,
            "step": step,
            "library": "cudnn",
            "primitive": "conv",
        }
        for step in range(steps)
        for path, ns in times
    ]
    return make_trace(layers=layers, spans=spans, kernels=kernels, **tables)


BASE = run(4, ("conv", 6000), ("bn", 3000), ("fc", 1000), (None, 500))
OTHER = run(3, ("conv", 2000), ("fc", 1250), (None, 750))


def test_times_a_step_and_speedups() -> None:
    found = COMPARE_LAYERS.check(compare_layers(BASE, OTHER))
    columns = [
        "layer",
        "class_name",
        "match",
        "base_estimate_ns",
        "other_estimate_ns",
        "speedup",
        "saved_ns",
        "outcome",
    ]
    assert found.select(columns).rows() == [
        ("conv", "Conv2d", "both", 6000, 2000, 3.0, 4000, "faster"),
        ("fc", "Linear", "both", 1000, 1250, 0.8, -250, "slower"),
        ("(unattributed)", None, "both", 500, 750, None, -250, "slower"),
        ("bn", "BatchNorm2d", "only_base", 3000, None, None, None, None),
    ]
    assert set(found["method"]) == {"kernels"}
    assert found.select("n_base", "n_other").row(0) == (1, 1)


def test_the_finding_in_words() -> None:
    said = " ".join(notes(BASE, OTHER, compare_layers(BASE, OTHER)))
    assert "of 2 layers and phases in both, 1 are faster in new, 1 slower, 0 unclear" in said
    assert "7.00 µs in base and 3.25 µs in new, a speedup of 2.15" in said  # 7000 over 3250
    assert "most of all fc (0.80)" in said
    assert "1 layers and phases are in base only, 0 in new only" in said
    assert "4.8% of kernel time in base belongs to no layer." in said  # 500 of 10,500
    assert "18.8% of kernel time in new" in said  # 750 of 4000


def test_kernels_outside_of_marked_steps_do_not_count() -> None:
    kernels: list[dict[str, Any]] = [
        {"duration_ns": 10, "step": 0},
        {"duration_ns": 99, "step": None},
    ]
    marked, unmarked = make_trace(kernels=kernels), make_trace(kernels=kernels[1:])
    found = compare_layers(marked, unmarked)
    assert found.select("base_estimate_ns", "other_estimate_ns").row(0) == (10, 99)
    assert "No step is marked in new" in notes(marked, unmarked, found)[-1]


def test_without_steps_totals_compare_only_as_many_kernels() -> None:
    kernel = {"duration_ns": 10, "step": None, "span_id": 0}
    op = {"module_path": "fc", "phase": "forward"}
    base, less, same = (make_trace(spans=[op], kernels=[kernel] * n) for n in (34, 30, 34))
    columns = ["speedup", "n_base", "n_other", "outcome"]
    assert compare_layers(base, less).select(columns).row(0) == (None, 34, 30, "unclear")
    assert compare_layers(base, same).select(columns).row(0) == (1.0, 34, 34, "unclear")


def test_measured_layers_with_the_range_of_their_quartiles() -> None:
    found = compare_layers(MEASURED, MEASURED)
    columns = [
        "layer",
        "method",
        "base_configuration",
        "other_configuration",
        "compile_mode",
        "phase",
        "speedup",
        "speedup_low",
        "speedup_high",
        "outcome",
    ]
    assert found.select(columns).rows() == [
        (
            "conv",
            "layer",
            "interpreted",
            "cpp",
            "default",
            "forward",
            55 / 20,
            None,
            None,
            "unclear",
        ),
        ("fc", "layer", "interpreted", "cpp", "default", "forward", 0.5, None, None, "unclear"),
    ]
    assert found["base_evidence"].to_list() == ["measured: layer, synchronised"] * 2


def measured(*durations: int, **more: Any) -> Trace:
    return make_trace(timings=timing("layer", *durations, module_path="fc", **more))


def test_measured_layers_are_judged_by_what_their_rounds_took() -> None:
    # Two executions a round: base's rounds have the medians 10, 11, 12, the others' 20, 21, 22 and
    # 10, 12, 14.
    base = measured(10, 10, 11, 11, 12, 12)
    slower = measured(20, 20, 21, 21, 22, 22, configuration="cpp")
    near = measured(10, 10, 12, 12, 14, 14, configuration="cpp")
    rows = [compare_layers(base, other).row(0, named=True) for other in (slower, near)]
    assert [(row["speedup"], row["outcome"]) for row in rows] == [
        (11 / 21, "slower"),
        (11 / 12, "unclear"),
    ]
    assert [row["speedup_low"] < row["speedup"] < row["speedup_high"] for row in rows] == [
        True,
        True,
    ]
    assert rows[0]["speedup_high"] < 1 < rows[1]["speedup_high"]
    assert [row["reason"] for row in rows] == [None, "within the spread"]


def test_two_values_have_no_spread() -> None:
    row = compare_layers(measured(10, 10), measured(20, 20, configuration="cpp")).row(0, named=True)
    assert (row["outcome"], row["speedup_low"]) == ("unclear", None)
    assert row["reason"] == "fewer than three steps (or runs) on a side"


@pytest.mark.parametrize(
    ("base", "other", "pairs"),
    [
        # on the same device if there is one
        (["interpreted", "cuda"], ["cpp", "triton"], [("cuda", "triton"), ("interpreted", "cpp")]),
        (["interpreted"], ["cuda"], [("interpreted", "cuda")]),
        (["cuda"], ["triton", "custom"], [("cuda", "custom"), ("cuda", "triton")]),
        (["cpp"], ["cpp"], [("cpp", "cpp")]),
    ],
)
def test_which_configurations_are_compared(
    base: list[str], other: list[str], pairs: list[tuple[str, str]]
) -> None:
    sides = [
        make_trace(
            timings=[
                row
                for name in names
                for row in timing("layer", 10, module_path="fc", configuration=name)
            ]
        )
        for names in (base, other)
    ]
    found = (
        compare_layers(*sides).select("base_configuration", "other_configuration").unique().rows()
    )
    assert sorted(found) == pairs


def test_variants_that_only_one_has_are_not_mixed() -> None:
    base = make_trace(timings=timing("layer", 10, module_path="fc", synchronized=True))
    other = make_trace(timings=timing("layer", 10, module_path="fc", configuration="cpp"))
    with pytest.raises(MissingTableError, match="by the same method"):
        compare_layers(base, other)


def test_paths_of_two_kinds_never_match_and_it_says_so() -> None:
    numbered = make_trace(
        layers=[
            {"module_path": "Net_0", "class_name": "Net"},
            {"module_path": "Net_0.Linear_0", "class_name": "Linear"},
        ],
        spans=[{"name": "op", "module_path": "Net_0.Linear_0", "phase": "forward"}],
        kernels=[{"span_id": 0, "duration_ns": 5, "step": 0}],
    )
    found = compare_layers(numbered, OTHER)
    assert set(found.filter(layer="Net_0.Linear_0")["match"]) == {"only_base"}
    said, *_ = notes(numbered, OTHER, found)
    assert (
        "base names layers as the trace numbers them (Net_0.Linear_0), new by attribute path"
        " (conv)" in said
    )


def test_differences_below_zero_have_no_speedup() -> None:
    base = make_trace(timings=timing("subtraction", -5, module_path="fc"))
    other = make_trace(timings=timing("subtraction", 5, module_path="fc", configuration="cpp"))
    row = compare_layers(base, other).row(0, named=True)
    assert (row["speedup"], row["saved_ns"], row["outcome"]) == (None, -10, "unclear")


def test_a_layer_that_loses_without_a_speedup_is_named() -> None:
    """A damaged trace gives such rows: modes of torch.compile are None in some."""
    slower = measured(20, 20, 21, 21, 22, 22, configuration="cpp")
    base = measured(10, 10, 11, 11, 12, 12)
    found = compare_layers(base, slower).with_columns(speedup=pl.lit(None, pl.Float64))
    assert " most of all fc." in " ".join(notes(base, slower, found))


TIMES = st.lists(
    st.tuples(st.sampled_from([*CLASSES, None]), st.integers(0, 10**9)), min_size=1, max_size=6
)


@given(TIMES, st.integers(1, 3))
def test_a_run_against_itself_and_in_pieces(
    times: list[tuple[str | None, int]], steps: int
) -> None:
    found = compare_layers(run(steps, *times), run(1, *times))
    assert set(found["match"]) == {"both"}
    assert all(speedup in {1.0, None} for speedup in found["speedup"])
    assert found["base_estimate_ns"].sum() == pytest.approx(sum(ns for _, ns in times))
