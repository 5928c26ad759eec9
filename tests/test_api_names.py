"""Function names of the CUDA runtime, the CUDA driver and HIP, and what each call does."""

import polars as pl
import pytest

from tracelens.derive.events.api_names import api_kind, strip_version
from tracelens.schemas import TABLES


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC_v11060"),
        ("cuMemAlloc_v2", "cuMemAlloc_v2"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"),
        ("cuLaunchKernel", "cuLaunchKernel"),
        ("cuda_v3020_inner", "cuda_v3020_inner"),
        (None, None),
    ],
)
def test_only_four_digit_versions_go(raw: str | None, expected: str | None) -> None:
    frame = pl.DataFrame({"raw": [raw]}, schema={"raw": pl.String})
    assert frame.select(strip_version(pl.col("raw"))).item() == expected


KINDS = {
    "kernel_launch": (
        """cudaLaunchKernel cudaLaunchKernelExC_v11060 cudaLaunchCooperativeKernel cudaLaunchKernel_ptsz
        cudaLaunch cuLaunch cuLaunchGrid cuLaunchGridAsync cuLaunchKernel cuLaunchKernelEx cuLaunchCooperativeKernel
        cudaLaunchCooperativeKernelMultiDevice hipLaunchKernel hipModuleLaunchKernel hipExtModuleLaunchKernel
        hipExtLaunchKernel hipLaunchCooperativeKernel hipLaunchByPtr hipExtLaunchMultiKernelMultiDevice
        hipDrvLaunchKernelEx"""
    ),
    "graph_launch": "cudaGraphLaunch cuGraphLaunch hipGraphLaunch",
    "memcpy": (
        """cudaMemcpy cudaMemcpyAsync cudaMemcpy2DAsync cudaMemcpyToSymbol cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2
        cudaMemcpyPeerAsync hipMemcpyWithStream hipMemcpyAsync"""
    ),
    "memset": "cudaMemset cudaMemsetAsync cuMemsetD8Async cuMemsetD32_v2 hipMemsetAsync",
    "sync": (
        """cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cudaStreamWaitEvent cuCtxSynchronize
        cuStreamSynchronize cuStreamWaitValue32 cudaThreadSynchronize hipDeviceSynchronize hipStreamWaitEvent"""
    ),
    "memory": (
        """cudaMalloc cudaMallocAsync cudaMallocHost cudaFree cudaFreeHost cudaFreeAsync cudaHostAlloc
        cudaHostRegister cudaHostUnregister cudaMemPrefetchAsync cudaMemGetInfo cuMemAlloc_v2 cuMemFree_v2 cuMemCreate
        cuMemAddressReserve cuMemMap cuMemSetAccess cuMemHostAlloc cuArrayCreate_v2 hipMalloc hipFree hipHostMalloc
        hipExtMallocWithFlags"""
    ),
    "other": (
        """cudaGetDevice cudaStreamIsCapturing cudaEventRecord cudaEventQuery cudaLaunchHostFunc cuLaunchHostFunc
        cudaGraphAddMemcpyNode cudaGraphAddKernelNode cudaGraphInstantiate cudaHostGetDevicePointer
        cuModuleLoadData cudaFuncGetAttributes cudaOccupancyMaxActiveClusters cudaGraphUpload notMemcpy hipGetDevice"""
    ),
}


@pytest.mark.parametrize(("expected", "names"), KINDS.items())
def test_kinds(expected: str, names: str) -> None:
    frame = pl.DataFrame({"api": names.split()}).with_columns(kind=api_kind(pl.col("api")))
    assert frame.filter(pl.col("kind") != expected).to_dicts() == []


def test_a_call_without_a_name_is_unknown() -> None:
    frame = pl.DataFrame({"api": [None]}, schema={"api": pl.String})
    assert frame.select(api_kind(pl.col("api"))).item() == "unknown"


def test_the_kinds_are_those_of_the_schema() -> None:
    kind = next(column for column in TABLES["api_calls"] if column.name == "kind")
    assert set(KINDS) | {"unknown"} == set(kind.values)
