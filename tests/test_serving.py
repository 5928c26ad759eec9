"""Steps of inference servers: what their names tell, and time by phase, by hand."""

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import serving
from tracelens.analyses.serving import notes
from tracelens.derive.events.serving_marks import batches
from tracelens.derive.kernels.peaks import Peaks
from tracelens.errors import MissingTableError

DECODE = "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk8000sqsq8sqsk8000)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (DECODE, ("decode", 8, 8, 8000)),
        (
            "execute_520_context_1(sq512sk512sqsq262144sqsk262144)_generation_8(sq8sk80sqsq8sqsk80)",
            ("mixed", 9, 520, 592),
        ),
        (
            "execute_512_context_2(sq512sk600sqsq9sqsk9)_generation_0(sq0sk0sqsq0sqsk0)",
            ("prefill", 2, 512, 600),
        ),
        # Older vLLM: sums of query lengths, with or without one of products.
        ("execute_context_1(512_262144)_generation_31(31)", ("mixed", 32, 543, None)),
        ("execute_context_0(0)_generation_32(32)", ("decode", 32, 32, None)),
        ("step[DECODE bs=8]", ("decode", 8, 8, None)),
        ("step[EXTEND bs=2 toks=1034]", ("prefill", 2, 1034, None)),
        ("execute_context_0(0)_generation_0(0)", (None, 0, 0, None)),
        ("ProfilerStep#3", (None, None, None, None)),
        ("execute_model", (None, None, None, None)),
        (f"execute_{'9' * 30}_context_1(1)_generation_1(1)", (None, None, None, None)),
    ],
)
def test_names_tell_phase_requests_and_tokens(name: str, expected: tuple[object, ...]) -> None:
    assert batches(pl.Series("name", [name])).row(0)[:4] == expected


def test_time_tokens_and_the_limit_by_phase() -> None:
    """Two decode steps of 100 and 300 ns, and a prefill of 400.

    Each decode reads weights and numbers of 120 kB, and 8,000 tokens of 2 · 2 · 4 · 2 bytes from
    the cache: 376 kB in all, which take 376 ns at 1 TB/s.
    """
    mark = {"phase": "decode", "n_requests": 8, "n_tokens": 8, "n_context_tokens": 8000}
    prompt = {"phase": "prefill", "n_requests": 1, "n_tokens": 512, "n_context_tokens": 512}
    product = {
        "kind": "op",
        "name": "aten::mm",
        "input_shapes": "[[100, 100], [100, 100]]",
        "input_dtypes": '["float", "float"]',
    }
    attention = {
        "kind": "op",
        "name": "vllm::unified_attention_with_output",
        "input_shapes": "[[8, 4, 4], [8, 2, 4], [8, 2, 4], [8, 4, 4]]",
        "input_dtypes": '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]',
    }
    trace = make_trace(
        devices=[{"device_id": 0, "name": "GPU"}],
        steps=[
            {"step": 0, "duration_ns": 100_000} | mark,
            {"step": 1, "duration_ns": 300_000} | mark,
            {"step": 2, "duration_ns": 400_000} | prompt,
        ],
        spans=[one | {"step": step} for step in (0, 1) for one in (product, attention)],
        kernels=[{"span_id": 2 * step, "step": step, "duration_ns": 50} for step in (0, 1)],
    )
    found = serving(trace, peaks=Peaks("GPU", {}, 1e12, "measured"))
    shown = ("phase", "n_steps", "duration_total_ns", "share_frac", "duration_median_ns")
    assert found.select(shown).rows() == [
        ("decode", 2, 400_000, 0.5, 200_000.0),
        ("prefill", 1, 400_000, 0.5, 400_000.0),
    ]
    rates = ("requests_mean", "n_tokens", "least_bytes", "cache_bytes", "limit_frac")
    cached = 2 * 8000 * 2 * (2 * 4) * 2
    assert found.select(rates).rows() == [
        (8.0, 16, 240_000.0, cached, pytest.approx((240_000 + cached) / 1e12 / 400e-6)),
        (1.0, 512, None, None, None),
    ]
    assert found["tokens_per_s"].to_list() == pytest.approx([16 / 400e-6, 512 / 400e-6])
    assert notes(trace, found)[0] == (
        "rank 0: decode takes 50.0% of the steps' time, 0.20 ms a step in the median, 8.0 requests"
        " a batch, 40,000 tokens a second, what has to be read takes 0.2% of it at the device's"
        " bandwidth."
    )


def test_steps_of_training_are_no_serving() -> None:
    with pytest.raises(MissingTableError, match="name their batch"):
        serving(make_trace(steps=[{"step": 0, "name": "ProfilerStep#0"}]))
