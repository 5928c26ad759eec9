"""One spelling of kernel names of two demanglers."""

import polars as pl
import pytest

from tests.cases import make_trace
from tests.sources import SAMPLES, collected, torch_trace
from tracelens.analyses import compare_cross_layer, compare_kernels, compare_setup
from tracelens.derive.comparing.name_spelling import one_spelling

# Kineto's name, nsys's of the same kernel (seen in two captures of one program), and both without
# what only one of them writes.
PAIRS = [
    (
        "void (anonymous namespace)::softmax<float, 5, true>(float*, float const*, bool const*)",
        "void <unnamed>::softmax<float, (int)5, (bool)1>(T1 *, const T1 *, const bool *)",
        "<unnamed>::softmax<float, 5, true>",
    ),
    (
        (
            "void at::native::elementwise<4, at::native::clamp(at::Iter&, c10::Scalar)::{lambda()#1}"
            "::operator()() const::{lambda(float)#7}, std::array<char*, 2ul> >(int, std::array<char*,"
            " 2ul>)"
        ),
        (
            "void at::native::elementwise<(int)4, at::native::clamp(at::Iter &, c10::Scalar)::[lambda()"
            " (instance 1)]::operator ()() const::[lambda(float) (instance 7)], std::array<char *,"
            " (unsigned long)2>>(int, T3)"
        ),
        (
            "at::native::elementwise<4, at::native::clamp::{lambda()#1}::operator() const::"
            "{lambda(float)#7}, std::array<char*, 2>>"
        ),
    ),
    (
        "void elementwise<128, gpu<Mul<float> >(Iter&, Mul<float> const&)::{lambda(int)#1}>(int)",
        (
            "void elementwise<(int)128, void gpu<Mul<float>>(Iter &, const T1 &)::[lambda(int) (instance"
            " 1)]>(int)"
        ),
        "elementwise<128, gpu<Mul<float>>::{lambda(int)#1}>",
    ),
    (
        "void cudnn::toNhwc<float, (cudnnKernelDataType_t)2>(cudnn::params<float>, float const*)",
        "void cudnn::toNhwc<float, (cudnnKernelDataType_t)2>(cudnn::params<T1>, const T1 *)",
        "cudnn::toNhwc<float, (cudnnKernelDataType_t)2>",
    ),
    ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
]


@pytest.mark.parametrize(("kineto", "nsys", "expected"), PAIRS)
def test_two_demanglers_have_one_spelling(kineto: str, nsys: str, expected: str) -> None:
    assert one_spelling(pl.Series([kineto, nsys])).to_list() == [expected] * 2


def test_instances_stay_apart() -> None:
    names = pl.Series(
        ["k<(int)1>(T1)", "k<(int)2>(T1)", "k<(bool)1>(T1)", "k<Tag::{lambda(int)#1}>"]
    )
    assert one_spelling(names).n_unique() == 4


def test_kernels_of_two_profilers_are_compared_by_one_spelling() -> None:
    sides = []
    for tool, versions, name in (
        ("Nsight Systems", {"driver": "580.159"}, PAIRS[0][1]),
        ("torch.profiler", {"cuda_driver_version": "13000"}, PAIRS[0][0]),
    ):
        rows = [{"name": name, "duration_ns": 10, "step": step} for step in range(3)]
        sides.append(make_trace(kernels=rows))
        sides[-1].manifest.sources = [{"producer": tool, "versions": versions}]
    compared = compare_kernels(sides[0], sides[1])
    assert compared.select("name", "change", "speedup").rows() == [(PAIRS[0][2], "both", 1.0)]
    # 580.159 of the driver and 13000 of its CUDA are versions of two things.
    setup = dict(compare_setup(*sides).select("what", "status").rows())
    assert (setup["driver"], setup["program"]) == ("unknown", "same")


def test_all_kernels_of_one_program_are_found_in_both_captures() -> None:
    sides = collected(SAMPLES / "nsys" / "eager_resnet50.sqlite"), torch_trace("resnet50_eager")
    rows = compare_kernels(*sides)
    assert (rows.height, set(rows["change"])) == (24, {"both"})
    across = compare_cross_layer(*sides)
    assert across["base_reused_ns"].sum() == across["base_duration_total_ns"].sum()
