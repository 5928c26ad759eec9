"""Decide whether a captured launch may have started a kernel that a replay ran."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tracelens.derive.kernels.recorded_dtypes import listed
from tracelens.derive.layers.library_calls import MAIN, runs_as

GRID, BLOCK = (tuple(f"{what}_{axis}" for axis in "xyz") for what in ("grid", "block"))


def fits(row: dict[str, Any]) -> bool | None:
    """Return whether a launch may have started the kernel; None if no property shows it."""
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

    Return None if no rule is for this kernel, or no shape is known.
    """
    if not shapes:
        return None
    for pattern, rule in _RULES:
        match = re.search(pattern, kernel)
        if match:
            return rule(match, grid, shapes)
    return None


_VECTOR_THREADS = 128
"""Threads of a block of torch's vectorised kernels.

A thread takes 4 or 8 elements, or as many as the name says.
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
"""Kernels whose grid follows from the shapes of the op's inputs alone."""


def _blocks(shapes: list[list[int]], of_a_block: int) -> int:
    """Count a kernel's blocks: each takes `of_a_block` elements of the broadcast shape."""
    n_axes = max(map(len, shapes))
    padded = []
    for shape in shapes:
        missing = n_axes - len(shape)
        padded.append([1] * missing + shape)
    broadcast = map(max, zip(*padded, strict=True))
    n_elements: int = math.prod(broadcast)
    return math.ceil(n_elements / of_a_block)


def _shapes(text: str | None) -> list[list[int]]:
    """Return the shapes of an op's tensors.

    The other inputs, and tensors without dimensions, are left out.
    """
    return [shape for shape in listed(text) if _is_shape(shape)]


def _is_shape(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(type(length) is int and length > 0 for length in value)
