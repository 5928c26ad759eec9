"""Captures of serving-like work and of work on two GPUs, against counts by hand of their sizes."""

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tracelens.analyses import layer_attribution, roofline, serving
from tracelens.analyses.layer_attribution import notes as layer_notes
from tracelens.trace import Trace

SAMPLES = Path(__file__).parents[1] / "samples"
WIDTH, HEADS, HEAD, PLACES, LAYERS = 1024, 16, 64, 512, 4


@cache
def sample(name: str) -> Trace:
    return tl.collect(SAMPLES / f"{name}.pt.trace.json.gz")


def of_decoder(tokens: int, requests: int = 8) -> int:
    """Count products of a decoder's weights, and of queries with all places of the cache."""
    weights = WIDTH * (1536 + 1024 + 5632 + 2816)
    attention = 4 * HEADS * PLACES * HEAD
    return tokens * LAYERS * (2 * weights + attention) + 2 * requests * WIDTH * 32_000


@pytest.mark.parametrize(
    ("name", "base"),
    [("decode_eager", None), ("decode_graph", "capture_8_FULL"), ("decode_graph", "decode_eager")],
)
def test_operations_of_prefill_and_decode(name: str, base: str | None) -> None:
    against = base and sample(f"serving/{base}")
    steps = roofline(sample(f"serving/{name}"), base=against or None).filter(op="(step)")
    decode, prefill = of_decoder(8), of_decoder(8 * 256)
    assert (decode, prefill) == (1_312_817_152, 202_387_750_912)
    assert steps["flops"].to_list() == [prefill, *[decode] * 4]
    assert steps["share_frac"].min() == 1.0


def test_decode_by_graphs_needs_its_capture() -> None:
    trace = sample("serving/decode_graph")
    alone, told = serving(trace), serving(trace, base=sample("serving/capture_8_FULL"))
    assert alone.filter(phase="decode")["least_bytes"].to_list() == [None]
    # At least the weights of four layers and of the last product, in each of four steps.
    weights = LAYERS * WIDTH * (1536 + 1024 + 5632 + 2816) + WIDTH * 32_000
    assert told.filter(phase="decode")["least_bytes"].item() > 4 * 2 * weights
    assert told.filter(phase="decode")["n_tokens"].item() == 32


def test_each_replay_has_the_operations_of_its_own_batch() -> None:
    """Steps of 8, 7, 5, 4, 3, 2 and 1 requests replay graphs of 8, 8, 8, 4, 4, 2 and 2."""
    folder: Any = str(SAMPLES / "serving/batches/capture_traces")
    trace = sample("serving/batches/decode")
    steps = roofline(trace, base=folder).filter(op="(step)").sort("step")
    of_request = of_decoder(1, 1)
    assert of_request == 164_102_144
    assert steps["flops"].to_list() == [n * of_request for n in (8, 8, 8, 4, 4, 2, 2)]
    (row,) = serving(trace, base=folder).to_dicts()
    assert (row["phase"], row["n_steps"], row["n_tokens"]) == (
        "decode",
        7,
        8 + 7 + 5 + 4 + 3 + 2 + 1,
    )
    assert row["least_bytes"] > 7 * 2 * (
        LAYERS * WIDTH * (1536 + 1024 + 5632 + 2816) + WIDTH * 32_000
    )


def test_captures_without_modules_name_no_layers() -> None:
    trace, base = sample("serving/decode_graph"), sample("serving/capture_8_FULL")
    said = " ".join(layer_notes(trace, layer_attribution(trace, base=base), base))
    assert "of the same graphs and names no layers" in said


def test_products_in_float8() -> None:
    rows = roofline(sample("serving/fp8_products")).filter(op="aten::_scaled_mm")
    counts = rows.select("n_calls", "flops", "least_bytes", "precision").rows()
    assert sorted(counts) == [
        (4, 4 * 2 * 1024 * 1024 * 4096, 4 * (2 * 1024 * 4096 + 2 * 1024 * 1024 + 8), "fp8"),
        (4, 4 * 2 * 4096**3, 4 * (2 * 4096**2 + 2 * 4096**2 + 8), "fp8"),
    ]


@pytest.mark.parametrize(
    ("name", "share", "collectives"),
    [
        ("tensor_parallel", 2, {"allreduce": 24}),
        ("fsdp2", 1, {"_allgather_base": 8, "_reduce_scatter_base": 4}),
    ],
)
def test_training_on_two_gpus(name: str, share: int, collectives: dict[str, int]) -> None:
    """Three steps of four layers; of each product a share, three times with its gradients."""
    trace = sample(f"parallel/{name}.rank0")
    products = 3 * 2 * 4096 * WIDTH * (4 * WIDTH + 2 * 4 * WIDTH)
    attention = 35 * 4 * 8 * HEADS * 512 * 512 * HEAD // 10
    steps = roofline(trace).filter(op="(step)")
    assert steps["flops"].to_list() == [LAYERS * (products + attention) // share] * 3
    counts = trace.collectives.group_by("name").len().rows()
    assert {name: n / 3 for name, n in counts} == collectives


def test_experts_on_two_gpus_exchange_tokens() -> None:
    rows = sample("parallel/moe.rank0").collectives.filter(pl.col("in_split").is_not_null())
    assert sample("parallel/moe.rank0").collectives.height == 3 * 10
    sent, taken = rows.select("size_in_bytes", "size_out_bytes").row(0)
    assert (sent, taken) == (8192 * WIDTH * 2, (5304 + 5304) * WIDTH * 2)


@pytest.mark.exhaustive
def test_torch_counts_the_same_operations_of_the_decoder() -> None:
    """FlopCounterMode, on a model without data as large as that of the captures."""
    torch = pytest.importorskip("torch", reason="the operations are torch's")
    counting = pytest.importorskip("torch.utils.flop_counter", reason="as above")
    spec = spec_from_file_location("serving_take", SAMPLES / "serving/take.py")
    assert spec is not None
    assert spec.loader is not None
    take = module_from_spec(spec)
    sys.modules[spec.name] = take
    spec.loader.exec_module(take)
    with torch.device("meta"), torch.no_grad():
        model = take.Decoder(take.Shape(), 8).eval()
        for length, expected in ((1, of_decoder(8)), (256, of_decoder(8 * 256))):
            tokens = torch.zeros(8, length, dtype=torch.int64)
            with counting.FlopCounterMode(display=False) as counter:
                model(tokens, torch.arange(length))
            assert counter.get_total_flops() == expected
