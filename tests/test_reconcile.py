"""Kernels of two captures of one run, aligned: by hand, and ResNet-50 by torch and by nsys."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.cases import make_trace
from tests.command_line import command_line
from tests.sources import SAMPLES, collected
from tracelens.analyses.reconcile import ANALYSIS, aligned_kernels, reconcile
from tracelens.errors import MissingTableError
from tracelens.report import build_report
from tracelens.schemas.results.grids import RECONCILE
from tracelens.trace import Trace

TORCH = SAMPLES / "torch" / "resnet50_eager.pt.trace.json.gz"
NSYS = SAMPLES / "nsys" / "eager_resnet50.sqlite"
ALEXNET = SAMPLES / "torch" / "alexnet_eager.pt.trace.json.gz"


KernelRow = tuple[str, int, int, int]
"""Name, blocks, duration and step."""


def kernels(*rows: KernelRow) -> list[dict[str, Any]]:
    """Kernels one after the other."""
    return [
        {
            "name": name,
            "grid_x": grid,
            "registers_per_thread": 8,
            "duration_ns": ns,
            "step": step,
            "start_ns": 100 * at,
            "span_id": None,
        }
        for at, (name, grid, ns, step) in enumerate(rows)
    ]


ONE_MORE = (
    (
        ("gemm", 4, 10, 0),
        ("relu", 2, 5, 0),
        ("gemm", 4, 11, 1),
        ("copy", 1, 1, 1),
        ("relu", 2, 6, 1),
    ),
    (("gemm", 4, 20, 7), ("relu", 3, 5, 7), ("gemm", 4, 21, 8), ("relu", 2, 8, 8)),
)
"""Kernels of base and other. The second step of base has one more.

A relu on another grid is no match; step numbers may differ.
"""


@pytest.mark.parametrize(
    ("base", "other", "pairs"),
    [
        # The first and last step are alike on both sides; the one between lacks a relu in other.
        (
            (("gemm", 4, 10, 0), ("relu", 2, 5, 1), ("gemm", 4, 11, 1), ("copy", 1, 1, 2)),
            (("gemm", 4, 20, 0), ("gemm", 4, 21, 1), ("copy", 1, 1, 2)),
            [(0, 0, 0), (0, 2, 1), (0, 3, 2)],
        ),
        (*ONE_MORE, [(0, 0, 0), (0, 2, 2), (0, 4, 3)]),
    ],
    ids=["steps differ", "one more"],
)
def test_kernels_are_aligned_within_steps_by_name_and_grid(
    base: Sequence[KernelRow], other: Sequence[KernelRow], pairs: list[tuple[int, int, int]]
) -> None:
    traces = (make_trace(kernels=kernels(*rows)) for rows in (base, other))
    assert aligned_kernels(*traces).sort("base_id").rows() == pairs


def test_times_of_kernels_that_are_aligned_are_compared() -> None:
    base, other = (make_trace(kernels=kernels(*rows)) for rows in ONE_MORE)
    found = RECONCILE.check(reconcile(base, other))
    columns = (
        "match",
        "name",
        "grid_x",
        "n_kernels",
        "base_duration_total_ns",
        "other_duration_total_ns",
    )
    assert found.select(*columns, "other_over_base").rows() == [
        ("aligned", "gemm", 4, 2, 21, 41, 41 / 21),
        ("aligned", "relu", 2, 1, 6, 8, 8 / 6),
        ("only_base", "relu", 2, 1, 5, 0, None),
        ("only_other", "relu", 3, 1, 0, 5, None),
        ("only_base", "copy", 1, 1, 1, 0, None),
    ]


def test_what_one_capture_tells_the_other_takes() -> None:
    spans = [
        {"span_id": 0, "kind": "module", "name": "Net", "module_path": "Net_0", "duration_ns": 90},
        {
            "span_id": 1,
            "parent_id": 0,
            "kind": "module",
            "name": "Linear",
            "module_path": "Net_0.Linear_0",
        },
        {
            "span_id": 2,
            "parent_id": 1,
            "kind": "op",
            "name": "aten::mm",
            "module_path": "Net_0.Linear_0",
            "input_shapes": "[[2, 3], [3, 4]]",
        },
    ]
    (gemm,) = kernels(("void gemm<float, true>(int)", 4, 10, 0))
    layers = [{"module_path": path, "class_name": "x"} for path in ("Net_0", "Net_0.Linear_0")]
    told = make_trace(kernels=[gemm | {"span_id": 2}], spans=spans, layers=layers)
    bare = make_trace(kernels=[gemm])
    for pair in ((told, bare), (bare, told)):
        (row,) = reconcile(*pair).to_dicts()
        assert (row["layer"], row["op"], row["input_shapes"]) == (
            "Net_0.Linear_0",
            "aten::mm",
            "[[2, 3], [3, 4]]",
        )
        assert row["evidence"] == "other capture"
    assert reconcile(told, told)["evidence"].to_list() == ["both captures"]
    assert reconcile(bare, bare)["evidence"].to_list() == ["none"]


def test_captures_without_steps_are_one_sequence() -> None:
    marked = make_trace(kernels=kernels(("a", 1, 1, 0), ("b", 1, 1, 0), ("a", 1, 1, 1)))
    bare = make_trace(
        kernels=[
            row | {"step": None} for row in kernels(("a", 1, 1, 0), ("b", 1, 1, 0), ("a", 1, 1, 1))
        ]
    )
    assert aligned_kernels(marked, bare).height == 3


def test_resnet_under_both_profilers() -> None:
    """Both launch the same 717 kernels: 14.866 ms under torch.profiler and 14.868 ms under nsys."""
    for base, other in ((TORCH, NSYS), (NSYS, TORCH)):
        traces = collected(base), collected(other)
        found = reconcile(*traces)
        assert found["match"].unique().to_list() == ["aligned"]
        assert found["n_kernels"].sum() == 717
        sums = [int(found[f"{side}_duration_total_ns"].sum()) for side in ("base", "other")]
        assert [round(ns / 1e6, 3) for ns in sums] == (
            [14.866, 14.868] if base == TORCH else [14.868, 14.866]
        )
        assert found["evidence"].unique().to_list() == ["other capture"]
        convolution = found.filter(layer="ResNet_0.Conv2d_0")
        torch_side = "base" if base == TORCH else "other"
        assert (
            convolution[f"{torch_side}_duration_total_ns"].sum() == 950_045
        )  # as layer_attribution has it
        assert (
            convolution["input_shapes"]
            .drop_nulls()
            .str.contains("32, 3, 224, 224", literal=True)
            .any()
        )


def test_two_programs_are_refused_with_the_share_that_matched() -> None:
    with pytest.raises(
        MissingTableError, match=r"only \d of 717 kernels \(0\.\d%\) of alexnet_eager.* are aligned"
    ):
        reconcile(collected(ALEXNET), collected(NSYS))


def test_reports_have_it_where_profilers_differ_or_it_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def sections(base: Trace, other: Trace, *names: str) -> set[str]:
        return {one.analysis.name for one in build_report(other, base, names).sections}

    small = {
        tool: make_trace(kernels=kernels(("a", 1, 1, 0)))
        for tool in ("torch.profiler", "Nsight Systems")
    }
    for tool, trace in small.items():
        trace.manifest.sources.append({"producer": tool})
    torch, nsys = small.values()
    assert ANALYSIS.name in sections(torch, nsys)
    assert ANALYSIS.name not in sections(torch, torch)
    assert ANALYSIS.name in sections(torch, torch, "reconcile")
    said = command_line(
        capsys, "report", NSYS, "--against", TORCH, "--section", "reconcile", "--rows", "2"
    )
    assert said.code == 0
    assert (
        "717 kernels are aligned, of 717 in base and 717 in new: they take 14.9 ms"
        in said.out.replace("\n  ", " ")
    )
