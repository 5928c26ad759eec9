"""Limits by compute capability, against the tables that NVIDIA publishes."""

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.derive.kernels.device_limits import FILLED, complete_devices
from tracelens.schemas import TABLES

KB = 1024

# CUDA programming guide 13.0, "Technical Specifications per Compute Capability": resident threads,
# warps and blocks an SM, KB of shared memory an SM. Up to 7.2, which 13.0 no longer lists: the same
# table of the guide of CUDA 12.9.
PUBLISHED = {
    "5.0": (2048, 64, 32, 64),
    "5.2": (2048, 64, 32, 96),
    "6.0": (2048, 64, 32, 64),
    "6.1": (2048, 64, 32, 96),
    "7.0": (2048, 64, 32, 96),
    "7.5": (1024, 32, 16, 64),
    "8.0": (2048, 64, 32, 164),
    "8.6": (1536, 48, 16, 100),
    "8.7": (1536, 48, 16, 164),
    "8.9": (1536, 48, 24, 100),
    "9.0": (2048, 64, 32, 228),
    "10.0": (2048, 64, 32, 228),
    "11.0": (1536, 48, 24, 228),
    "12.0": (1536, 48, 24, 100),
}


@pytest.mark.parametrize("capability", PUBLISHED)
def test_published_limits(capability: str) -> None:
    threads, warps, blocks, shared = PUBLISHED[capability]
    (row,) = complete_devices(
        make_trace(devices=[{"compute_capability": capability}]).devices
    ).to_dicts()
    assert {name: row[name] for name in FILLED} == {
        "warp_size": 32,
        "max_threads_per_sm": threads,
        "max_warps_per_sm": warps,
        "max_blocks_per_sm": blocks,
        "registers_per_sm": 64 * KB,
        "shared_memory_per_sm_bytes": shared * KB,
    }


def test_what_the_source_gives_stands_and_the_order_too() -> None:
    devices = make_trace(
        devices=[
            {
                "name": "NVIDIA H200",
                "compute_capability": "9.0",
                "max_threads_per_sm": 2000,
                "sm_count": 132,
            },
            {"name": "AMD Instinct MI300X", "warp_size": 64, "sm_count": 304},
            {"name": "of the future", "compute_capability": "99.0"},
            {"name": "NVIDIA A10", "compute_capability": "8.6"},
        ]
    ).devices
    completed = TABLES["devices"].check(complete_devices(devices))
    assert completed["name"].to_list() == devices["name"].to_list()
    assert completed["max_threads_per_sm"].to_list() == [2000, None, None, 1536]
    assert completed["max_warps_per_sm"].to_list() == [64, None, None, 48]
    assert completed["warp_size"].to_list() == [32, 64, None, 32]
    assert completed["sm_count"].to_list() == [132, 304, None, None]


def test_a_gfx_number_is_not_a_compute_capability() -> None:
    """PyTorch for ROCm reports gfx90a as 9.0 and gfx1100 as 11.0."""
    devices = make_trace(
        devices=[
            {"name": "AMD Instinct MI250X", "compute_capability": "9.0"},
            {"name": "gfx90a", "compute_capability": "9.0", "warp_size": 64},
            {"name": "Radeon RX 7900 XTX", "compute_capability": "11.0", "warp_size": 32},
        ]
    ).devices
    assert complete_devices(devices)["max_blocks_per_sm"].to_list() == [None, None, None]


def test_no_devices() -> None:
    empty = TABLES["devices"].empty()
    assert complete_devices(empty).schema == pl.Schema(TABLES["devices"].schema)
