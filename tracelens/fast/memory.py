"""Arrays as the kernels see them: by address."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.fast import MODE

Words = npt.NDArray[np.int64]
"""Words of 64 bits."""


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
