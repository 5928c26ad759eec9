"""The machine operations of `compiled` in plain Python, each access checked against the memory that was lent.

Slow by a factor of a thousand; tests run the kernels on it to see that no input makes them leave their buffers.
"""

from __future__ import annotations

import struct
import threading
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_MASK = (1 << 64) - 1
F = TypeVar("F", bound=Callable[..., Any])


class Lent:
    """Memory that kernels may touch: whole arrays, by address."""

    def __init__(self) -> None:
        """Nothing is lent."""
        self._starts: list[int] = []
        self._arrays: dict[int, memoryview] = {}
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Take everything back: nothing may be running."""
        self._starts, self._arrays = [], {}

    def lend(self, array: np.ndarray[Any, Any]) -> None:
        """Allow access to the array's bytes; one at the same place before is replaced."""
        start = array.__array_interface__["data"][0]
        with self._lock:
            self._arrays[start] = array.reshape(-1).view(np.uint8).data
            if start not in self._starts:  # another thread may be looking something up in the old list
                self._starts = sorted([*self._starts, start])

    def find(self, address: int, size: int) -> tuple[memoryview, int]:
        """The array and the place in it; raises IndexError for what is not lent."""
        starts = self._starts
        at = bisect_right(starts, address) - 1
        if at >= 0:
            start = starts[at]
            array = self._arrays[start]
            if address + size <= start + len(array):
                return array, address - start
        raise IndexError(f"{size} bytes at {address:#x} are in no buffer")


LENT = Lent()


def load8(address: int) -> int:
    """The byte at the address."""
    array, at = LENT.find(address, 1)
    return array[at]


def load32(address: int) -> int:
    """Four bytes at the address, little-endian, from 0 on."""
    array, at = LENT.find(address, 4)
    value: int = struct.unpack_from("<I", array, at)[0]
    return value


def load64(address: int) -> int:
    """Eight bytes at the address, little-endian, signed."""
    array, at = LENT.find(address, 8)
    value: int = struct.unpack_from("<q", array, at)[0]
    return value


def store64(address: int, value: int) -> None:
    """Write eight bytes."""
    array, at = LENT.find(address, 8)
    struct.pack_into("<q", array, at, wrap(int(value)))


def store32(address: int, value: int) -> None:
    """Write four bytes, of which the value needs no more."""
    array, at = LENT.find(address, 4)
    struct.pack_into("<I", array, at, int(value))


def special32(address: int) -> int:
    """Bit k: byte k of 32 is a quote, a backslash or a control character."""
    array, at = LENT.find(address, 32)
    return sum(1 << k for k, byte in enumerate(array[at : at + 32]) if byte in {0x22, 0x5C} or byte < 0x20)


def high32(address: int) -> int:
    """Bit k: byte k of 32 is not ASCII."""
    array, at = LENT.find(address, 32)
    return sum(1 << k for k, byte in enumerate(array[at : at + 32]) if byte >= 0x80)


def trailing_zeros(word: int) -> int:
    """Number of zero bits below the lowest one; 64 for zero."""
    word &= _MASK
    return (word & -word).bit_length() - 1 if word else 64


def float_bits(value: float) -> int:
    """The bits of a float64 as an integer."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits


def wrap(value: int) -> int:
    """The integer as 64 bits hold it, signed."""
    return ((value + (1 << 63)) & _MASK) - (1 << 63)


def plus(one: int, other: int) -> int:
    """The sum as 64 bits hold it."""
    return wrap(one + other)


def times(one: int, other: int) -> int:
    """The product as 64 bits hold it."""
    return wrap(one * other)


def inline(function: F) -> F:
    """The function itself."""
    return function


call = entry = inline


def make_ready(function: object) -> bool:  # noqa: ARG001 - the signature of compiled.make_ready
    """Nothing is compiled here."""
    return False
