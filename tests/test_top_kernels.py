"""top_kernels: time by kernel name, by hand."""

from typing import Any

import pytest

from tests.cases import make_trace
from tracelens.analyses.top_kernels import notes, top_kernels
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import TOP_KERNELS


def kernel(name: str, duration: int, primitive: str = "gemm", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "duration_ns": duration,
        "library": "cublas",
        "primitive": primitive,
        **more,
    }


def test_most_time_first_in_each_rank() -> None:
    trace = make_trace(
        kernels=[
            kernel("a", 10),
            kernel("b", 60),
            kernel("a", 30),
            kernel("c", 100, rank=1),
            kernel("b", 100, rank=1),
        ]
    )
    found = TOP_KERNELS.check(top_kernels(trace))
    columns = [
        "rank",
        "name",
        "n_calls",
        "duration_total_ns",
        "duration_mean_ns",
        "duration_median_ns",
        "share_frac",
    ]
    assert found.select(columns).rows() == [
        (0, "b", 1, 60, 60.0, 60.0, 0.6),
        (0, "a", 2, 40, 20.0, 20.0, 0.4),
        (1, "b", 1, 100, 100.0, 100.0, 0.5),
        (1, "c", 1, 100, 100.0, 100.0, 0.5),
    ]


def test_a_kernel_of_several_primitives_is_named_by_the_most() -> None:
    kernels = [
        kernel("copy", 10, "layout"),
        kernel("copy", 10, "layout"),
        kernel("copy", 25, "elementwise"),
    ]
    assert top_kernels(make_trace(kernels=kernels))["primitive"].to_list() == ["elementwise"]
    kernels.append(kernel("copy", 6, "layout"))
    assert top_kernels(make_trace(kernels=kernels))["primitive"].to_list() == ["layout"]


def test_notes_count_the_names_that_make_up_half() -> None:
    trace = make_trace(kernels=[kernel(name, 20) for name in "abcde"])
    assert "3 of 5 kernel names make up half" in notes(trace, top_kernels(trace))[0]


def test_kernels_that_took_no_time() -> None:
    trace = make_trace(kernels=[kernel("a", 0), kernel("b", 0)])
    assert top_kernels(trace)["share_frac"].to_list() == [0.0, 0.0]
    assert "2 of 2 kernel names" in notes(trace, top_kernels(trace))[0]


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        top_kernels(make_trace())
