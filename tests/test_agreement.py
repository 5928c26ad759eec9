"""Numbers of neighbouring sections agree, on every bundled capture."""

from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tests.agreement import check_agreement
from tests.answer_checks import check_answer
from tracelens.advisor.plan import make_plan
from tracelens.analyses import compare_layers, layer_oracle
from tracelens.collectors import collect

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = [
    path
    for folder in ("torch", "graphs", "planted/constructed")
    for path in sorted((SAMPLES / folder).glob("*.pt.trace.json.gz"))
]
"""Captures. Those with planted causes are compared where they are judged, in test_planted."""
PARTS = 16
pytestmark = pytest.mark.slow


def test_sections_of_a_job_agree() -> None:
    trace = collect(SAMPLES / "ranks")
    check_answer(trace)
    check_agreement(trace)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, PARTS))]
)
def test_sections_of_one_program_agree(part: int) -> None:
    for path in FILES[part::PARTS]:
        trace = collect(path)
        check_answer(trace)
        check_agreement(trace)


@pytest.mark.parametrize(
    ("base", "other"),
    [("alexnet_eager", "alexnet_compiled"), ("alexnet_timings_cuda", "alexnet_timings_cuda")],
)
def test_sections_on_layers_agree(base: str, other: str) -> None:
    """The oracle has the layers of compare_layers, and the plan never promises more than it."""
    pair = [
        tl.open(SAMPLES / "thesis" / "captures" / f"{name}.tracelens") for name in (base, other)
    ]
    totals = layer_oracle(*pair).filter(oracle="dynamic", layer="(total)").row(0, named=True)
    layers = compare_layers(*pair).filter(
        ~pl.col("layer").str.starts_with("("), match="both", method=totals["method"]
    )
    if layers["other_configuration"].n_unique() > 1:
        layers = layers.filter(other_configuration="triton")
    for side in ("base", "other"):
        total_ns = layers[f"{side}_estimate_ns"].sum()
        assert totals[f"{side}_ns"] == pytest.approx(total_ns), side
    planned = make_plan(*pair).made_from
    assert planned["predicted_speedup_over_base"] <= totals["speedup_over_base"] * 1.0001


def test_captures_are_found() -> None:
    assert len(FILES) > 50
