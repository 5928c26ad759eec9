"""Work on managed memory: the host writes and reads what the device computes on.

    nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true -t cuda,nvtx -s none
    --cpuctxsw=none -c cudaProfilerApi --capture-range-end=stop python take.py

A buffer of 64 MiB is allocated with cudaMallocManaged. In each of four steps the host fills it, the
device doubles it twice, and the host sums it: its pages move to the device and back, as they are
touched. Four more steps move them ahead with cudaMemPrefetchAsync.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import torch

N_BYTES = 64 << 20
N_STEPS = 4


class Location(ctypes.Structure):
    """CUDA's cudaMemLocation."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


def runtime() -> ctypes.CDLL:
    """Return CUDA's runtime that torch loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return ctypes.CDLL(next(word for word in maps.split() if "libcudart" in word))


class Managed:
    """Managed memory as torch and numpy see it."""

    def __init__(self, cuda: ctypes.CDLL) -> None:
        pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(N_BYTES)
        is_global = ctypes.c_uint(1)
        if code := cuda.cudaMallocManaged(ctypes.byref(pointer), size, is_global):
            raise RuntimeError(f"cudaMallocManaged returned {code}")
        self.pointer, self.cuda = pointer, cuda
        n = N_BYTES // 4
        self.__cuda_array_interface__ = {
            "shape": (n,),
            "typestr": "<f4",
            "data": (pointer.value, False),
            "version": 2,
        }
        numbers = (ctypes.c_float * n).from_address(pointer.value or 0)
        self.on_host = np.frombuffer(numbers, np.float32)
        self.on_device = torch.as_tensor(self, device="cuda")

    def prefetch(self, *, to_device: bool) -> None:
        """Ask for all pages to be moved, by CUDA 13's signature of the function."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        place = Location(1, 0) if to_device else Location(2, 0)
        size = ctypes.c_size_t(N_BYTES)
        flags = ctypes.c_uint(0)
        if code := self.cuda.cudaMemPrefetchAsync(self.pointer, size, place, flags, stream):
            raise RuntimeError(f"cudaMemPrefetchAsync returned {code}")


def step(memory: Managed, number: int, *, ahead: bool) -> float:
    """Fill the buffer, double it twice and sum it.

    With `ahead`, its pages are prefetched before each access.
    """
    torch.cuda.nvtx.range_push(f"step {number}")
    memory.on_host.fill(number)
    if ahead:
        memory.prefetch(to_device=True)
    memory.on_device.mul_(2).mul_(2)
    if ahead:
        memory.prefetch(to_device=False)
    torch.cuda.synchronize()
    total = float(memory.on_host.sum())
    torch.cuda.nvtx.range_pop()
    return total


def main() -> None:
    """Touch the memory once, then record."""
    torch.cuda.init()
    torch.ones(8, device="cuda").mul_(2)
    memory = Managed(runtime())
    print(
        step(memory, 1, ahead=False),
        step(memory, 1, ahead=True),
        flush=True,
    )
    torch.cuda.cudart().cudaProfilerStart()
    for number in range(2 * N_STEPS):
        print(step(memory, number, ahead=number >= N_STEPS), flush=True)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
