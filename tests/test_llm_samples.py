"""Captures of language models with layers, against what is known of their programs."""

from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tracelens.analyses import roofline, work_kinds
from tracelens.analyses.work_kinds import notes
from tracelens.trace import Trace

LLM = Path(__file__).parent.parent / "samples/llm"
MODELS = Path(__file__).parent / "data/llm_models"
"""Captures without layers; their README.md counts what a step takes."""


@pytest.fixture(scope="module")
def experts() -> Trace:
    return tl.collect([LLM / f"moe_shared.rank{rank}.pt.trace.json.gz" for rank in range(2)])


def test_parts_of_a_mixture_by_its_layers(experts: Trace) -> None:
    """60 products of experts in each of two steps; both exchanges go there and back."""
    kernels = experts.kernels.join(experts.sites, on=["rank", "site_id"], how="left")
    layer = pl.col("module_path").cast(pl.String)
    of_experts = kernels.filter(layer.str.contains("expert"), primitive="gemm")
    assert of_experts.group_by("rank", "step").len()["len"].to_list() == [60] * 4
    frame = work_kinds(experts)
    parts = {"routing", "dispatch", "experts", "combine"}
    forward = frame.filter(phase="forward", rank=0)["kind"].to_list()
    assert {f"MoE {part}" for part in parts} <= set(forward)
    assert frame.filter(pl.col("share_frac") > 0.01, kind="other").is_empty()


def test_the_exchange_and_the_unevenness_of_a_mixture(experts: Trace) -> None:
    exchange, uneven = notes(experts, work_kinds(experts))[-2:]
    assert "in 40 calls" in exchange
    assert exchange.endswith("other kernels hide 0.0% of it.")
    assert uneven.startswith("Experts are chosen unevenly: those of rank 0 get")


def test_mamba_2_is_a_recurrence_between_products() -> None:
    trace = tl.collect(LLM / "mamba2.pt.trace.json.gz")
    counts = trace.kernels.group_by("primitive").len()
    n_kernels = dict(counts.select(pl.col("primitive").cast(pl.String), "len").iter_rows())
    assert n_kernels["recurrence"] == 2 * 2 * (5 + 14)
    assert n_kernels["gemm"] == 2 * 11
    assert "unknown" not in n_kernels
    kinds = dict(work_kinds(trace).group_by("kind").agg(pl.col("n_kernels").sum()).iter_rows())
    assert kinds["recurrence"] == 76
    assert kinds["dense products"] == 22
    of_op = roofline(trace).filter(op="MambaChunkScanCombinedFn")
    assert of_op["needed_flops"].sum() == 2 * 2 * 6_576_668_672
    # x is read and y written, b and c have one group of states, dt a number for each head.
    n_bytes = 4096 * (2 * 2048 + 2 * 128 + 32) * 2 + 2 * 32 * 4 + 32 * 4
    assert of_op["least_bytes"].sum() / 4 == pytest.approx(n_bytes, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "flops", "needed", "modelled"),
    [
        # Half of 10,737,418,240 in two layers of attention is needed; rotation takes 32,768.
        ("deepseek_v3", 91_033_174_016 + 32_768, 91_033_174_016 - 5_368_709_120 + 32_768, 0.99),
        ("liger", 138_512_695_296, 138_512_695_296, 0.88),
        ("weight_only", 4_026_531_840, 4_026_531_840, 0.99),
        ("varlen", 38_654_705_664, 38_654_705_664, 0.98),
    ],
)
def test_work_of_a_step_by_hand(name: str, flops: int, needed: int, modelled: float) -> None:
    frame = roofline(tl.collect(MODELS / f"{name}.pt.trace.json.gz"))
    ops = frame.filter(pl.col("op") != "(step)")
    products = ops.filter(pl.col("flops") > 0)
    assert products["flops"].sum() == 2 * flops
    assert products["needed_flops"].sum() == 2 * needed
    rest = ops.filter(op="(not modelled)")["duration_total_ns"].sum()
    assert rest < (1 - modelled) * int(ops["duration_total_ns"].sum())
