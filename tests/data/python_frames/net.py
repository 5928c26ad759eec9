"""Calls between Python and C of every kind, down to a library.

Each function is called by what its name says.
"""

import ctypes
import functools
import sys
from collections.abc import Iterator

LIBRARY = ctypes.CDLL(sys.argv[1])
CALLS: list[int] = []


def leaf(n: int) -> int:
    for value in CALLS:
        LIBRARY.cudnnConvolutionForward(value)
    return n


class Plain:
    def __init__(self) -> None:
        leaf(3)


def key(n: int) -> int:
    Plain()
    return n


class Sorting:
    def __init__(self) -> None:
        sorted([1, 2], key=key)


class Meta(type):
    def __call__(cls) -> object:
        return super().__call__()


class Made(Sorting, metaclass=Meta):
    pass


def inner() -> Iterator[object]:
    yield Made()


def outer() -> Iterator[object]:
    yield from inner()


class Module:
    def __call__(self, *args: int) -> None:
        return self._call_impl(*args)

    def _call_impl(self, *args: int) -> None:
        forward = self.forward
        return forward(*args)

    def forward(self, *_: int) -> None:
        for _made in outer():
            pass


def step() -> None:
    Module()(1)


for _ in range(50):  # until the interpreter has made special instructions of the calls
    step()
CALLS.append(1)
list(map(lambda _: functools.partial(step)(), [1]))  # noqa: C417 - map's C code is meant
# ruff: noqa: D101, D102 - a program to be debugged, whose lines are in what was recorded
