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
        ("step[MIXED bs=3 toks=514]", ("mixed", 3, 514, None)),
        # Drafts of several tokens each, of which the name does not tell the number.
        ("step[TARGET_VERIFY bs=2]", ("decode", 2, None, None)),
        ("step[DRAFT_EXTEND bs=2]", ("decode", 2, None, None)),
        # With detailed annotations: 2 requests with 4 tokens each, 8 in all, that meet 2,008 keys.
        ("step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=8032 g_sk=2008]", ("decode", 2, 8, 2008)),
        ("step[DECODE bs=2 g_sqsq=2 g_sqsk=900 g_sk=900]", ("decode", 2, 2, 900)),
        (
            "step[EXTEND bs=1 toks=512 c_sq=512 c_sqsq=262144 c_sqsk=524288 c_sk=1024]",
            ("prefill", 1, 512, 1024),
        ),
        (
            "step[MIXED bs=3 c=1 g=2 c_sq=9 c_sk=20 c_sqsq=81 c_sqsk=180 g_sq=2 g_sk=90 g_sqsk=90]",
            ("mixed", 3, 11, 110),
        ),
        # TensorRT-LLM: a request that generates may check drafts, so its tokens are unknown.
        (
            "[Executor] _forward_step 7: 2 ctx reqs, 900 ctx tokens, 0 gen reqs",
            ("prefill", 2, 900, None),
        ),
        (
            "[Executor] _forward_step 8: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
            ("decode", 32, None, None),
        ),
        ("[Executor] _forward_step 9: 1 ctx reqs, 3 gen reqs", ("mixed", 4, None, None)),
        ("[Executor] _forward_step: 1 ctx reqs, 0 gen reqs", ("prefill", 1, None, None)),
        ("step[IDLE bs=0]", (None, None, None, None)),
        ("execute_context_0(0)_generation_0(0)", (None, 0, 0, None)),
        ("ProfilerStep#3", (None, None, None, None)),
        ("execute_model", (None, None, None, None)),
        (f"execute_{'9' * 30}_context_1(1)_generation_1(1)", (None, None, None, None)),
    ],
)
def test_names_tell_phase_requests_and_tokens(name: str, expected: tuple[object, ...]) -> None:
    assert batches(pl.Series("name", [name])).row(0)[:4] == expected


def test_detailed_marks_give_the_pairs_that_attention_needs() -> None:
    """A chunk of 512 tokens after as many: 512 · 1,024 pairs, of which 512² / 2 come later."""
    name = "step[EXTEND bs=1 toks=512 c_sq=512 c_sqsq=262144 c_sqsk=524288 c_sk=1024]"
    assert batches(pl.Series("name", [name])).row(0)[4:] == (524288, 524288 - 131072)


def test_time_tokens_and_the_limit_by_phase() -> None:
    """Two decode steps of 100 and 300 ns, and a prefill of 400.

    Each decode reads weights and numbers of 120 kB, and 8,000 tokens of 2 · 2 · 4 · 2 bytes from
    the cache: 376 kB in all, which take 376 ns at 1 TB/s.
    """
    mark = {
        "name": DECODE,
        "phase": "decode",
        "n_requests": 8,
        "n_tokens": 8,
        "n_context_tokens": 8000,
    }
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
        kernels=[{"span_id": n, "step": n // 2, "duration_ns": 50} for n in range(4)],
    )
    found = serving(trace, peaks=Peaks("GPU", {}, 1e12, "measured"))
    shown = ("phase", "n_steps", "duration_total_ns", "share_frac", "duration_median_ns")
    assert found.select(shown).rows() == [
        ("decode", 2, 400_000, 0.5, 200_000.0),
        ("prefill", 1, 400_000, 0.5, 400_000.0),
    ]
    rates = ("requests_mean", "n_tokens", "least_bytes", "cache_bytes", "limit_frac")
    cached = 2 * 8000 * 2 * (2 * 4) * 2
    # Queries and results of 8 tokens with 4 heads of 4, twice.
    moved = 240_000 + 2 * 2 * 8 * 4 * 4 * 2 + cached
    assert found.select(rates).rows() == [
        (8.0, 16, moved, cached, pytest.approx(moved / 1e12 / 400e-6)),
        (1.0, 512, None, None, None),
    ]
    assert found["tokens_per_s"].to_list() == pytest.approx([16 / 400e-6, 512 / 400e-6])
    assert notes(trace, found)[0] == (
        "Rank 0: decode takes 50.0% of the steps' time, 200 µs in the median step, 8.0 requests"
        " a batch, 40,000 tokens a second, moving its bytes at full bandwidth would take 0.2% of"
        " its time."
    )


def test_steps_of_training_are_no_serving() -> None:
    with pytest.raises(MissingTableError, match="name their batch"):
        serving(make_trace(steps=[{"step": 0, "name": "ProfilerStep#0"}]))


def test_the_host_between_replays() -> None:
    """Work ends at 40 and the next launch is at 100: of 60 ns a scheduler takes 30, a sampler 10.

    The third launch comes before the second one's work is over, so the host is ahead.
    """
    mark = {"name": DECODE, "phase": "decode", "n_requests": 8, "duration_ns": 70}
    steps = [mark | {"step": n} for n in range(3)]
    launches = [
        {"kind": "graph_launch", "start_ns": start, "duration_ns": 5, "step": n}
        for n, start in enumerate((0, 100, 150))
    ]
    kernels = [
        {"link": "graph", "api_call_id": n, "start_ns": start, "duration_ns": 30, "step": n}
        for n, start in enumerate((10, 140, 180))
    ]
    python = {"kind": "python"}
    spans = [
        {"name": "vllm/v1/core/sched/scheduler.py(9): schedule", "start_ns": 45, "duration_ns": 40,
         "self_ns": 30},
        {"name": "vllm/v1/sample/sampler.py(9): forward", "start_ns": 50, "duration_ns": 10,
         "self_ns": 10},
        # It goes on while the next graph runs, so only a part of it lies between.
        {"name": "engine.py(9): loop", "start_ns": 90, "duration_ns": 99, "self_ns": 59},
    ]  # fmt: skip
    trace = make_trace(
        steps=steps, api_calls=launches, kernels=kernels, spans=[python | one for one in spans]
    )
    found = serving(trace)
    assert found["between_ns"].to_list() == [60]
    assert notes(trace, found)[-1] == (
        "Rank 0: between replays of graphs the host takes 0.06 µs, 0.06 µs in the median of 1:"
        " scheduler 75%, sampling 25%."
    )
