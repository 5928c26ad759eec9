"""Predictions of other kernels: convolutions in channels_last, and attention in one kernel."""

import pytest

import tracelens as tl
from tests.step_traces import StepTrace, after
from tracelens.errors import UsageError


def test_without_kernels_that_turn_layouts_round_the_rest_stays() -> None:
    made = StepTrace()
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.launch("nchwToNhwcKernel", start + 10, start + 20, start + 70)
        made.launch("conv", start + 30, start + 70, start + 370)
        made.call("cudaDeviceSynchronize", "sync", start + 40, start + 380)
    # The convolution begins 10 µs after its launch at 25, as the first kernel did, and is waited
    # for.
    took = after(made.trace("trace_log"), "channels_last")
    assert took == 400_000 - 370_000 + 335_000


@pytest.mark.parametrize("name", ["aten::group_norm", "aten::native_group_norm"])
def test_a_norm_that_turns_images_back_gives_no_number(name: str) -> None:
    made = StepTrace()
    for start in (0, 400):
        made.step(start, start + 400)
        made.launch("nchwToNhwcKernel", start + 10, start + 20, start + 70)
        made.span(name, start + 80, start + 120)
    with pytest.raises(UsageError, match="turn images back"):
        tl.whatif(made.trace("trace_log"), "channels_last")


@pytest.mark.parametrize(("name", "has_gain"), [("add", True), ("CatArrayBatchedCopy", False)])
def test_channels_last_may_slow_kernels_along_channels(name: str, has_gain: bool) -> None:
    """Turning layouts takes 50 of 400 µs; concatenating may take 200 µs more than its 200."""
    made = StepTrace()
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.launch("nchwToNhwcKernel", start + 10, start + 20, start + 70)
        made.launch(name, start + 30, start + 70, start + 270)
        made.call("cudaDeviceSynchronize", "sync", start + 40, start + 280)
    row = tl.whatif(made.trace("trace_log"), "channels_last").row(0, named=True)
    assert row["has_gain"] == has_gain
    assert (row["high_ns"] > 500_000) != has_gain


def test_other_kernels_in_channels_last_are_a_range() -> None:
    """A convolution keeps 0.81 of 300 µs, or 0.49; normalizing takes 3 µs, 0.58 of it, or 10.2."""
    rows = []
    for primitives in (("elementwise",) * 2, ("conv", "normalization")):
        made = StepTrace()
        for start in (0, 400, 800):
            made.step(start, start + 400)
            made.launch("nchwToNhwcKernel", start + 10, start + 20, start + 30)
            made.launch("conv", start + 20, start + 30, start + 330, primitive=primitives[0])
            made.launch("norm", start + 30, start + 330, start + 333, primitive=primitives[1])
            made.call("cudaDeviceSynchronize", "sync", start + 40, start + 340)
        rows.append(tl.whatif(made.trace("trace_log"), "channels_last").row(0, named=True))
    usual = 0.19 * 300_000
    assert rows[0]["after_ns"] - rows[1]["after_ns"] == usual
    # The error to expect is 0.1 of what is gained more, and 0.02 of what the step takes less.
    wider = 2.2 * (0.1 - 0.02) * usual
    assert rows[1]["high_ns"] - rows[0]["high_ns"] == pytest.approx(7_200 + wider, abs=2)
    fewer = 0.51 * 300_000 + 0.42 * 3_000
    assert rows[0]["low_ns"] - rows[1]["low_ns"] == pytest.approx(fewer + wider, abs=2)


def attention(middle: str, *, kind: str = "softmax", is_waited: bool = True) -> StepTrace:
    """Three steps of 400 µs: a product, two kernels, a softmax, and a product, which is waited for.

    The host launches each in 20 µs, and the device takes 30 µs for each.
    """
    made = StepTrace()
    names = ("gemm", "mask", middle, "copy", "gemm")
    primitives = ("gemm", "elementwise", kind, "elementwise", "gemm")
    for start in (0, 400, 800):
        made.step(start, start + 400)
        for place, (name, primitive) in enumerate(zip(names, primitives, strict=True)):
            called = start + 20 + 20 * place
            made.span(f"aten::{name}", called - 2, called + 15)
            begin = start + 30 + 30 * place
            made.launch(name, called, begin, begin + 30, primitive=primitive)
        if is_waited:
            made.call("cudaDeviceSynchronize", "sync", start + 150, start + 190)
    return made


def test_a_fused_attention_leaves_the_products() -> None:
    # Three kernels of 30 µs go. Of the host's 60 µs between the products' launches none is left,
    # but the device is what is waited for.
    whole = after(attention("softmax_warp_forward").trace("trace_log"), "sdpa")
    assert whole == pytest.approx(310_000, abs=6_000)
    backward = after(attention("softmax_warp_backward").trace("trace_log"), "sdpa")
    assert backward == whole + 30_000  # the scores are computed anew


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>", "softmax"),
        ("softmax_warp_forward<float, float, float, 7, true, false>", "softmax"),
        ("layer_norm", "normalization"),
    ],
)
def test_not_every_softmax_is_of_attention(name: str, kind: str) -> None:
    with pytest.raises(UsageError, match="no product, softmax and product"):
        tl.whatif(attention(name, kind=kind).trace("trace_log"), "sdpa")
