"""Occupancy against NVIDIA's calculator, the CUDA runtime of a GPU, and cases by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses.kernel_grids import REASONS, occupancy

DATA = Path(__file__).parent / "data"


def launches(*rows: dict[str, Any]) -> pl.DataFrame:
    """Launches of 256 threads with 32 registers and no shared memory. Rows may say otherwise."""
    default = {
        "rank": 0,
        "device_id": 0,
        "threads_per_block": 256,
        "registers_per_thread": 32,
        "shared_bytes": 0,
        "is_cluster_launch": None,
    }
    schema = dict.fromkeys(default, pl.Int32) | {
        "shared_bytes": pl.Int64,
        "is_cluster_launch": pl.Boolean,
    }
    return pl.DataFrame([default | row for row in rows], schema=schema)


def devices(capability: str | None = "9.0", **columns: Any) -> pl.DataFrame:
    return make_trace(
        devices=[{"compute_capability": capability, "sm_count": 132, **columns}]
    ).devices


@pytest.mark.parametrize(
    ("capability", "row", "blocks", "limiter", "frac"),
    [
        # 64 warps, 8 a block.
        ("9.0", {}, 8, "warps", 1.0),
        # 2 warps a block would allow 32 by warps too; 16 registers x 32 threads are 2 units of 256.
        ("9.0", {"threads_per_block": 64}, 32, "warps", 1.0),
        ("9.0", {"threads_per_block": 32}, 32, "blocks", 0.5),
        # 65 registers x 32 threads = 2080, rounded up to 2304; a quarter of the file, 16384, holds
        # 7 such warps: 28 in all, 3 blocks of 8.
        ("9.0", {"registers_per_thread": 65}, 3, "registers", 24 / 64),
        # 228 KB over 100 KB + 1 KB kept by the driver.
        ("9.0", {"shared_bytes": 100 * 1024}, 2, "shared_memory", 16 / 64),
        # The whole 227 KB that a block may have.
        ("9.0", {"shared_bytes": 227 * 1024}, 1, "shared_memory", 8 / 64),
        # 48 warps and 16 blocks (GA10x); 1 warp a block: 16 of 48 slots.
        ("8.6", {"threads_per_block": 32}, 16, "blocks", 16 / 48),
        ("8.6", {"threads_per_block": 1024}, 1, "warps", 32 / 48),
        ("8.9", {"threads_per_block": 32}, 24, "blocks", 24 / 48),
        # Turing holds 32 warps and 16 blocks.
        ("7.5", {"threads_per_block": 64}, 16, "warps", 1.0),
        ("7.5", {"threads_per_block": 32}, 16, "blocks", 0.5),
        # 257 bytes take 512 on 7.0 (unit 256, nothing kept): 96 KB / 512 = 192 blocks, so warps
        # bind.
        ("7.0", {"shared_bytes": 257}, 8, "warps", 1.0),
        # 12,289 bytes take 12,544 on 7.0: 98,304 / 12,544 = 7.8.
        ("7.0", {"shared_bytes": 12289}, 7, "shared_memory", 56 / 64),
        # The same takes 12,289 + 1,024 = 13,313, so 13,440 on 8.0: 167,936 / 13,440 = 12.5, and
        # warps bind.
        ("8.0", {"shared_bytes": 12289}, 8, "warps", 1.0),
        ("10.0", {"threads_per_block": 32}, 32, "blocks", 0.5),
        ("12.0", {"threads_per_block": 32}, 24, "blocks", 0.5),
        # 100 KB over 24 KB + 1 KB.
        ("12.0", {"shared_bytes": 24 * 1024}, 4, "shared_memory", 32 / 48),
        # Registers unknown to the compiler's output, 0 in some traces of graphs, do not bind.
        ("9.0", {"registers_per_thread": 0}, 8, "warps", 1.0),
    ],
)
def test_blocks_per_sm(
    capability: str, row: dict[str, Any], blocks: int, limiter: str, frac: float
) -> None:
    (found,) = occupancy(launches(row), devices(capability)).to_dicts()
    assert (found["blocks_per_sm"], found["occupancy_limiter"], found["occupancy_reason"]) == (
        blocks,
        limiter,
        None,
    )
    assert found["theoretical_occupancy_frac"] == pytest.approx(frac)
    assert found["sm_count"] == 132


@pytest.mark.parametrize(
    ("device", "row", "reason"),
    [
        ({}, {"is_cluster_launch": True}, "cluster"),
        ({"capability": None, "name": "AMD Instinct MI300X"}, {}, "device"),
        ({"capability": "9.0", "name": "AMD Instinct MI250X"}, {}, "device"),
        ({"capability": "9.0", "warp_size": 64}, {}, "device"),
        ({"capability": "11.0", "name": "AMD Radeon RX 7900 XTX", "warp_size": 32}, {}, "device"),
        ({"capability": "99.0"}, {}, "device"),
        ({}, {"device_id": 7}, "device"),
        ({}, {"rank": 1}, "device"),
        ({}, {"threads_per_block": None}, "launch"),
        ({}, {"registers_per_thread": None}, "launch"),
        ({}, {"shared_bytes": None}, "launch"),
        ({}, {"threads_per_block": 1025}, "misfit"),
        ({}, {"registers_per_thread": 256}, "misfit"),
        ({}, {"threads_per_block": 1024, "registers_per_thread": 65}, "misfit"),
        ({}, {"shared_bytes": 228 * 1024}, "misfit"),
    ],
)
def test_no_number_has_a_reason(device: dict[str, Any], row: dict[str, Any], reason: str) -> None:
    (found,) = occupancy(launches(row), devices(**device)).to_dicts()
    assert found["occupancy_reason"] == REASONS[reason]
    assert [
        found[name] for name in ("blocks_per_sm", "occupancy_limiter", "theoretical_occupancy_frac")
    ] == [None] * 3


def test_the_sources_device_goes_before_the_rules() -> None:
    small = devices(max_warps_per_sm=16)
    assert occupancy(launches({}), small)["blocks_per_sm"].to_list() == [2]


def test_no_launches_give_a_typed_empty_frame() -> None:
    found = occupancy(launches(), devices())
    assert found.height == 0
    assert found.schema["blocks_per_sm"] == pl.Int64
    assert found.schema["theoretical_occupancy_frac"] == pl.Float64


def blocks_per_sm(expected: pl.DataFrame) -> pl.DataFrame:
    """Add what we compute to rows of expected values.

    Columns: compute_capability, threads, registers, shared_bytes, blocks_per_sm.
    """
    ids = expected.select(pl.col("compute_capability").unique(maintain_order=True)).with_row_index(
        "device_id"
    )
    machines = make_trace(
        devices=ids.with_columns(pl.col("device_id").cast(pl.Int32)).to_dicts()
    ).devices
    rows = expected.join(ids, on="compute_capability", how="left", maintain_order="left").select(
        rank=pl.lit(0, pl.Int32),
        device_id=pl.col("device_id").cast(pl.Int32),
        threads_per_block="threads",
        registers_per_thread="registers",
        shared_bytes="shared_bytes",
        is_cluster_launch=pl.lit(None, pl.Boolean),
    )
    found = occupancy(rows, machines)
    return expected.with_columns(found=found["blocks_per_sm"].fill_null(0))


def test_agrees_with_nvidias_occupancy_calculator() -> None:
    compared = blocks_per_sm(
        pl.read_csv(
            DATA / "occupancy_reference.csv", schema_overrides={"compute_capability": pl.String}
        )
    )
    assert compared["compute_capability"].n_unique() == 20
    assert compared.filter(pl.col("found") != pl.col("blocks_per_sm")).rows() == []


def test_agrees_with_the_cuda_runtime_of_an_h200() -> None:
    file = DATA / "occupancy_h200.csv"
    if not file.exists():
        pytest.skip("no answers of a GPU's runtime: run tests/gpu/occupancy_probe.cu on one")
    asked = pl.read_csv(file, schema_overrides={"cc": pl.String}).rename(
        {"cc": "compute_capability"}
    )
    compared = blocks_per_sm(
        asked.with_columns(shared_bytes=pl.col("static_shared") + pl.col("dynamic_shared"))
    )
    assert compared.height > 100
    assert compared.filter(pl.col("found") != pl.col("blocks_per_sm")).rows() == []
