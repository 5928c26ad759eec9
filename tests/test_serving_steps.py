"""Steps of servers as their current versions mark them, from trace files whose truth is known."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

import tracelens as tl
from tests.torch_files import call, kernel, span, write
from tracelens.analyses import serving, top_kernels
from tracelens.analyses.serving import notes
from tracelens.answers import make_answer
from tracelens.derive.events.serving_marks import batches

Events = list[dict[str, Any]]
DECODE = "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk{0}sqsq4sqsk{0})"
MIXED = "execute_516_context_1(sq512sk512sqsq262144sqsk262144)_generation_4(sq4sk4008sqsq4sqsk4008)"


def mark(name: str, ts: float, dur: float) -> dict[str, Any]:
    return span(name, ts, dur, cat="user_annotation")


def python(name: str, ts: float, dur: float) -> dict[str, Any]:
    return span(name, ts, dur, cat="python_function", args={"Python id": int(ts)})


def vllm_step(name: str, begin: float, number: int, *, by_graph: bool) -> Events:
    """A step of 920 µs: 100 of the scheduler, 150 of inputs, then work from 360 to 860."""
    at, correlation = begin + 300, 10 * (number + 1)
    launch = "cudaGraphLaunch" if by_graph else "cudaLaunchKernel"
    return [
        python("vllm/v1/core/sched/scheduler.py(210): schedule", begin + 10, 100),
        python("vllm/v1/worker/gpu_model_runner.py(3000): _prepare_inputs", begin + 120, 150),
        mark(name, at, 480),
        call(launch, at + 20, 30, correlation),
        kernel("nvjet_hsh_128x64", at + 60, 300, correlation),
        kernel("flash_fwd_splitkv_kernel", at + 360, 200, correlation if by_graph else 9000),
        python("vllm/v1/sample/sampler.py(80): forward", at + 410, 60),
        call("cudaLaunchKernel", at + 425, 5, correlation + 1),
        kernel("void at::native::reduce_kernel<512>", at + 560, 20, correlation + 1),
        call("cudaEventSynchronize", at + 480, 110, correlation + 2),
    ]


def test_decoding_by_graphs_with_a_mixed_step_between(tmp_path: Path) -> None:
    """Between the first two replays lie 380 µs, of which the scheduler takes 100, inputs 150.

    Before the last replay a mixed step ran kernels of its own: that is no time between replays.
    """
    marks = [DECODE.format(4000), DECODE.format(4004), MIXED, DECODE.format(4012)]
    steps = [
        vllm_step(name, 1000 + 920 * n, n, by_graph=name != MIXED) for n, name in enumerate(marks)
    ]
    trace = tl.collect(write(tmp_path / "a.pt.trace.json", [*chain.from_iterable(steps)]))
    columns = ("phase", "n_requests", "n_tokens", "n_context_tokens")
    assert trace.steps.select(columns).rows() == [
        ("decode", 4, 4, 4000),
        ("decode", 4, 4, 4004),
        ("mixed", 5, 516, 4520),
        ("decode", 4, 4, 4012),
    ]
    answer = make_answer(trace)
    assert (answer.about or "").startswith("4 steps of a server (3 decode, 1 mixed)")
    assert answer.sections[0] == "serving"
    phases = serving(trace)
    rows = phases.sort("phase").select("phase", "n_steps", "n_tokens", "between_ns").rows()
    assert rows == [("decode", 3, 12, 380_000), ("mixed", 1, 516, None)]
    assert notes(trace, phases)[-1] == (
        "Rank 0: between replays of graphs the host takes 380 µs, 380 µs in the median of 1:"
        " model runner 60%, scheduler 40%."
    )
    kernels = top_kernels(trace)
    places = dict(kernels.select(pl.col("name").cast(pl.String), "places").iter_rows())
    sampling = places["void at::native::reduce_kernel<512>"]
    assert sampling == "sampler.py(defined at 80): forward 100%"
    assert places["nvjet_hsh_128x64"] is None  # replays have no place, and the mixed step no frame
    phases_of = dict(kernels.select(pl.col("name").cast(pl.String), "phases").iter_rows())
    assert phases_of["nvjet_hsh_128x64"] == "decode 75%, mixed 25%"


def sglang_step(name: str, begin: float, number: int) -> Events:
    """A batch of the scheduler: decoding replays two graphs, else one kernel of 300 µs runs."""
    first = 100 * (number + 1)
    is_graph = "DECODE" in name
    n = 2 if is_graph else 1
    launch = "cudaGraphLaunch" if is_graph else "cudaLaunchKernel"
    return [
        mark("scheduler.run_batch", begin, 520),
        mark(name, begin + 10, 500),
        *(call(launch, begin + 30 + 30 * k, 10, first + k) for k in range(n)),
        *(kernel("nvjet", begin + 70 + 100 * k, 300 / (2 * n - 1), first + k) for k in range(n)),
        mark("scheduler.process_batch_result", begin + 540, 50),
    ]


def test_batches_of_sglang_with_drafts_and_idle_ranks(tmp_path: Path) -> None:
    """From 1,970 µs, when the first decoding's second graph ends, to the next launch at 2,430."""
    names = [
        "step[EXTEND bs=2 toks=1034]",
        "step[DECODE bs=2]",
        "step[DECODE bs=2]",
        "step[MIXED bs=3 toks=514]",
        "step[TARGET_VERIFY bs=2]",
        "step[IDLE bs=0]",
        "step[DECODE bs=3]",
    ]
    steps = [sglang_step(name, 1000 + 700 * n, n) for n, name in enumerate(names)]
    trace = tl.collect(write(tmp_path / "a.pt.trace.json", [*chain.from_iterable(steps)]))
    assert trace.steps.select("phase", "n_requests", "n_tokens").rows() == [
        ("prefill", 2, 1034),
        ("decode", 2, 2),
        ("decode", 2, 2),
        ("mixed", 3, 514),
        ("decode", 2, None),
        (None, None, None),
        ("decode", 3, 3),
    ]
    rows = serving(trace).sort("phase").select("phase", "n_steps", "n_tokens", "between_ns").rows()
    # How many tokens a draft has is not in its mark, so those of decoding are not known.
    assert rows == [
        ("decode", 4, None, 460_000),
        ("mixed", 1, 514, None),
        ("prefill", 1, 1034, None),
    ]


def test_a_round_of_speculative_decoding_is_one_step(tmp_path: Path) -> None:
    """A prompt of 100 tokens passes the target, then the draft model; two rounds of drafts follow.

    Each forward pass of either model has a mark of its own: 2 requests, 2 passes of drafting, and a
    check of 4 tokens each. The second round's drafts come from a graph, whose replay has no mark.
    """
    begin, events = 1000.0, []
    for passes in (
        ["step[EXTEND bs=2 toks=100]"] * 2,
        ["step[DECODE bs=2]"] * 2 + ["step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=80 g_sk=20]"],
        ["", "step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=96 g_sk=24]"],
    ):
        events.append(mark("scheduler.run_batch", begin, 100 * len(passes) + 20))
        for n, name in enumerate(passes):
            at, correlation = begin + 10 + 100 * n, int(begin) + n
            events += [mark(name, at, 90)] if name else []
            events.append(call("cudaGraphLaunch", at + 5, 5, correlation))
            events.append(kernel("nvjet", at + 20, 60, correlation))
        begin += 100 * len(passes) + 30
    trace = tl.collect(write(tmp_path / "a.pt.trace.json", events))
    columns = ("phase", "n_requests", "n_tokens", "n_kernels")
    assert trace.steps.select(columns).rows() == [
        ("prefill", 2, 100, 2),
        ("decode", 2, 8, 3),
        ("decode", 2, 8, 2),
    ]
    # How many of the tokens are kept is not recorded.
    of_decoding = next(text for text in notes(trace, serving(trace)) if "decode" in text)
    assert "29,091 tokens a second, refused drafts among them" in of_decoding
    # Three passes, and 30 µs until the next batch begins; of the last one, two and 20.
    assert trace.steps["duration_ns"].to_list() == [230_000, 330_000, 220_000]


def test_marks_of_replayed_drafts_of_2025_and_of_atom() -> None:
    """Expected are phase, requests, tokens, context, and pairs of a query with a key it needs."""
    marks = {
        # A graph of 8 requests replays for 5, each with 2 drafts at a time.
        "step[DRAFT_LOOP raw_bs=5 bs=8 topk=2]": ("decode", 5, None, None, None),
        "step[TARGET_VERIFY bs=2 g_sq=8 g_sqsq=32 g_sqsk=80 g_sk=20]": ("decode", 2, 8, 20, 80),
        "execute_new_1_cached_4": ("mixed", 5, None, None, None),
        "execute_new_0_cached_4": ("decode", 4, None, None, None),
        # Two prompts, of 3 and 2 tokens; after 7 tokens in the cache, one of them has 10 keys.
        "prefill[bs=2 tok=5 ctx=[3, 2] sqsq=13 sqsk=34 sk=12]": (
            "prefill",
            2,
            5,
            12,
            34 - 13 / 2,
        ),
        "prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3]": ("prefill", 6, 17408, None, None),
        "decode[bs=117/128 tok=117 d=117]": ("decode", 117, 117, None, None),
        "decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=262144 sk=65536]": (
            "decode",
            32,
            128,
            65536,
            262144,
        ),
    }
    found = batches(pl.Series("name", [*marks]))
    columns = ("phase", "n_requests", "n_tokens", "n_context_tokens", "n_needed_pairs")
    assert found.select(columns).rows() == [*marks.values()]
