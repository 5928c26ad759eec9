"""Decide whether a launch recorded during a graph's capture fits a kernel of a replay."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tracelens.derive.kernels.recorded_dtypes import listed
from tracelens.derive.layers.library_calls import MAIN, runs_as

GRID, BLOCK = (tuple(f"{what}_{axis}" for axis in "xyz") for what in ("grid", "block"))


def fits(row: dict[str, Any]) -> bool | None:
    """Return whether a launch fits a kernel; None if nothing recorded can show it.

    `row` describes the kernel and the launch:

    - kernel: name, primitive, grid and block
    - launch: kernel_id, op, input_shapes, launched (the launched kernel's name, empty if unknown),
      and the launch's grid with the prefix launch_
    """
    is_of_name = row["launched"] in ("", row["name"].removesuffix(".kd"))
    if row["kernel_id"] is None or not is_of_name:
        return False
    primitives = runs_as(row["op"] or "")
    is_main = row["primitive"] in MAIN
    if primitives is not None and is_main and row["primitive"] not in primitives:
        return False
    grid = [row[name] for name in GRID]
    launch_grid = [row[f"launch_{name}"] for name in GRID]
    if None in grid:
        return None
    if None not in launch_grid:
        # Some of HIP's functions take the grid as a number of threads.
        block = [row[name] or 1 for name in BLOCK]
        threads = [n_blocks * size for n_blocks, size in zip(grid, block, strict=True)]
        return launch_grid in (grid, threads)
    return _fits_shapes(
        row["name"],
        grid,
        _shapes(row["input_shapes"]),
    )


def _fits_shapes(
    kernel: str,
    grid: Sequence[int],
    shapes: list[list[int]],
) -> bool | None:
    """Return whether the kernel's grid follows from the op's input shapes, by one of _RULES.

    Return None if no rule covers this kernel, or no shape is known.
    """
    if not shapes:
        return None
    for pattern, rule in _RULES:
        match = re.search(pattern, kernel)
        if match:
            return rule(match, grid, shapes)
    return None


_VECTOR_THREADS = 128
"""Number of threads in a block of torch's vectorised kernels.

A thread computes 4 or 8 elements, or the number in the kernel's name.
"""
_Rule = Callable[
    [
        re.Match[str],
        Sequence[int],
        list[list[int]],
    ],
    bool,
]
_RULES: tuple[tuple[str, _Rule], ...] = (
    (
        r"(?:^|[\s:])elementwise_kernel<(\d+), (\d+),",
        lambda match, grid, shapes: (
            grid[0]
            == _blocks(
                shapes,
                int(match[1]) * int(match[2]),
            )
        ),
    ),
    (
        r"vectorized_elementwise_kernel<(\d+),",
        lambda match, grid, shapes: (
            grid[0] in {_blocks(shapes, _VECTOR_THREADS * n) for n in (4, 8, int(match[1]))}
        ),
    ),
    (
        r"layer_norm_kernel",
        lambda _, grid, shapes: grid[0] == math.prod(shapes[0]) // math.prod(shapes[-1]),
    ),
    (
        r"^fmha_cutlassF",
        lambda _, grid, shapes: grid[2] == shapes[0][0],
    ),
    (
        r"flash_fwd_kernel<|bn_fw_inf\w*NCHW",
        lambda _, grid, shapes: grid[1] == shapes[0][0],
    ),
)
"""Patterns for kernels' names, each with a function that compares the grid with input shapes."""


def _blocks(shapes: list[list[int]], elements_per_block: int) -> int:
    """Return the number of blocks that compute all elements of the broadcast shape."""
    n_axes = max(map(len, shapes))
    padded = []
    for shape in shapes:
        missing = n_axes - len(shape)
        padded.append([1] * missing + shape)
    broadcast = map(max, zip(*padded, strict=True))
    n_elements: int = math.prod(broadcast)
    return math.ceil(n_elements / elements_per_block)


def _shapes(text: str | None) -> list[list[int]]:
    """Return the shapes of an op's input tensors that have at least one dimension."""
    return [shape for shape in listed(text) if _is_shape(shape)]


def _is_shape(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(type(length) is int and length > 0 for length in value)
