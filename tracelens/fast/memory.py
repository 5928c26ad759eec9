"""Arrays as the kernels see them: by address."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.fast import MODE

Words = npt.NDArray[np.int64]
"""Words of 64 bits."""


def zeros(n: int, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
    """So many zeros, there only where they are written.

    NumPy asks Linux for huge pages, and one that the machine below a virtual one has to find first takes up to 8 ms,
    four times what it takes in small ones.
    """
    if not n or not sys.platform.startswith("linux"):
        return np.zeros(n, dtype)
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype)


def bytes_at(array: np.ndarray[Any, Any]) -> int:
    """The address of the array's first byte."""
    address: int = array.__array_interface__["data"][0]
    return address


def lend(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, which the kernels may touch from now on: only the checked machine asks."""
    if MODE == "checked":
        from tracelens.fast.checked import LENT  # noqa: PLC0415 - for tests only

        LENT.lend(array)
    return array
