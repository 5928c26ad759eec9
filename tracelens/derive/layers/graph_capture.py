"""Kernels of replayed CUDA graphs, matched with recorded launches.

The launches were recorded while their graph was captured. While a graph is captured its launches
run nothing: a trace of that has host events only, ops, modules and calls. In order they stand for
the nodes that a replay runs. ROCm writes the kernel, grid and block into a launch's arguments, CUDA
nothing; there a capture is taken for a graph's if it has as many launches, and if what the ops were
given agrees with the kernels that ran.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracelens.derive.kernels.recorded_dtypes import listed
from tracelens.derive.layers.graph_replay import PAIRS
from tracelens.derive.layers.library_calls import MAIN, runs_as
from tracelens.derive.layers.sequence_alignment import align
from tracelens.schemas import TABLES
from tracelens.trace import Trace

EVIDENCE = "graph capture"
_OP = ("name", "input_shapes")
_BEGIN, _END = r"^(cuda|cu|hip)StreamBeginCapture", r"^(cuda|cu|hip)StreamEndCapture"
_MOST_WRONG = 0.05
"""A larger share of contradictions means that capture and replay are of two graphs."""
_GRID, _BLOCK = (tuple(f"{what}_{axis}" for axis in "xyz") for what in ("grid", "block"))


@dataclass
class Captured:
    """Graphs that were captured: `work` has the launches as its kernels.

    `launches` has them with op and shapes.
    """

    work: Trace
    launches: pl.DataFrame
    refused: set[str] = field(default_factory=set)
    """Why replays are not of any of these captures, a clause each; filled by `pairs`."""

    def pairs(self, trace: Trace) -> pl.DataFrame:
        """Return each replayed kernel (rank, kernel_id) with its captured launch.

        The launch is base_rank and base_id; see PAIRS.
        """
        columns = (
            "rank",
            "kernel_id",
            "name",
            "primitive",
            "link",
            "api_call_id",
            "graph_node_id",
            "start_ns",
        )
        kernels = trace.select("kernels", *columns, *_GRID, *_BLOCK).filter(
            pl.col("link") == "graph"
        )
        kernels = kernels.cast({pl.Categorical: pl.String}).sort(
            "rank", "api_call_id", "graph_node_id", "start_ns"
        )
        code = pl.struct("name", *_GRID, *_BLOCK).hash(seed=0)
        captures: dict[int, list[pl.DataFrame]] = {}
        for (rank, _), launches in self.launches.group_by("rank", "capture", maintain_order=True):
            captures.setdefault(rank, []).append(launches)
        only = next(iter(captures)) if len(captures) == 1 else None
        known: dict[tuple[object, ...], pl.Series | None] = {}
        pair_frames = [PAIRS.to_frame()]
        for (rank, _), unit in kernels.with_columns(code=code).group_by(
            "rank", "api_call_id", maintain_order=True
        ):
            base_rank = rank if rank in captures else only
            if base_rank is None:
                continue
            key = (base_rank, *unit["code"])
            if key not in known:
                known[key] = self._launches_of(unit, captures[base_rank])
            if (ids := known[key]) is not None:
                pairs = unit.select(
                    "rank", "kernel_id", base_rank=pl.lit(base_rank, pl.Int32), base_id=ids
                )
                pair_frames.append(pairs.drop_nulls("base_id"))
        return pl.concat(pair_frames)

    def _launches_of(
        self, kernels: pl.DataFrame, captures: Sequence[pl.DataFrame]
    ) -> pl.Series | None:
        """Return for each kernel of a replay the kernel_id of its launch in `work`.

        None where no capture is of this graph.
        """
        fits = [
            (wrong, ids)
            for launches in captures
            for wrong, ids in [_compared(kernels, launches)]
            if ids is not None
        ]
        wrong, ids = min(fits, key=lambda fit: fit[0], default=(1.0, None))
        if wrong <= _MOST_WRONG:
            return ids
        sizes = ", ".join(map(str, sorted({launches.height for launches in captures})[:5]))
        why = (
            f"{wrong:.0%} of the kernels that can be compared do not fit what was captured, as with"
            " another batch size"
        )
        self.refused.add(
            f"replays have {kernels.height:,} kernels, captures {sizes} launches"
            if ids is None
            else why
        )
        return None


def captured_graphs(trace: Trace) -> Captured | None:
    """Return the launches of graphs that were captured while the trace was recorded.

    Return None where none were.
    """
    columns = (
        "rank",
        "api_call_id",
        "kind",
        "api",
        "start_ns",
        "process_id",
        "span_id",
        "kernel",
        *_GRID,
        *_BLOCK,
    )
    calls = trace.select("api_calls", *columns)
    api = pl.col("api").cast(pl.String)
    if not calls.select(api.str.contains(_BEGIN).any()).item():
        return None
    calls = calls.sort("start_ns", "api_call_id").with_columns(
        capture=api.str.contains(_BEGIN).cum_sum().over("rank", "process_id"),
        n_ended=api.str.contains(_END).cum_sum().over("rank", "process_id"),
    )
    ran, ops = (
        trace.select("kernels", "rank", "api_call_id"),
        trace.select("spans", "rank", "span_id", *_OP),
    )
    launches = (
        calls.filter(pl.col("kind") == "kernel_launch", pl.col("capture") == pl.col("n_ended") + 1)
        .join(ran, on=["rank", "api_call_id"], how="anti", maintain_order="left")
        .join(ops.rename({"name": "op"}), on=["rank", "span_id"], how="left", maintain_order="left")
        .with_columns(kernel_id=pl.int_range(pl.len(), dtype=pl.Int64))
        .cast({pl.Categorical: pl.String})
    )
    if launches.is_empty():
        return None
    triton = pl.when(pl.col("op").str.starts_with("triton_")).then("op")
    launches = launches.with_columns(
        name=pl.coalesce(pl.col("kernel").str.strip_suffix(".kd"), triton, pl.lit(""))
    )
    unknown = pl.lit("unknown")
    kernels = launches.with_columns(
        duration_ns=1,
        device_id=0,
        link=pl.lit("launched"),
        is_communication=False,
        library=unknown,
        primitive=unknown,
    )
    tables = {name: trace.scan(name) for name in TABLES} | {
        "kernels": TABLES["kernels"].conform(kernels).lazy()
    }
    return Captured(Trace(trace.manifest, tables), launches)


def _compared(kernels: pl.DataFrame, launches: pl.DataFrame) -> tuple[float, pl.Series | None]:
    """Pair a replay's kernels with a capture's launches; return the contradicting share, and pairs.

    Where all launches name their kernels the two sequences are aligned, and what is not aligned
    contradicts. Else they are paired in order if there are equally many. Without pairs the share is
    1.
    """
    if (launches["name"] != "").all():
        names = pl.concat([kernels["name"].str.strip_suffix(".kd"), launches["name"]])
        codes = names.cast(pl.Categorical).to_physical()
        aligned = align(tuple(codes.head(kernels.height)), tuple(codes.tail(launches.height)))
        places = pl.Series(aligned, dtype=pl.Int64)
    elif kernels.height == launches.height:
        places = pl.int_range(kernels.height, eager=True)
    else:
        return 1.0, None
    paired = launches.select("op", "input_shapes", "kernel_id", *_GRID, launched="name").select(
        pl.all().gather(places)
    )
    paired = paired.rename({name: f"own_{name}" for name in _GRID})
    both = pl.concat([kernels.drop("kernel_id"), paired], how="horizontal")
    known = [fits for row in both.iter_rows(named=True) if (fits := _fits(row)) is not None]
    return known.count(False) / len(known) if known else 0.0, paired["kernel_id"]


def _fits(row: dict[str, Any]) -> bool | None:
    """Return whether a kernel may be what was launched; None where nothing tells."""
    if row["kernel_id"] is None or row["launched"] not in ("", row["name"].removesuffix(".kd")):
        return False
    primitives = runs_as(row["op"] or "")
    if primitives is not None and row["primitive"] in MAIN and row["primitive"] not in primitives:
        return False
    grid, block, own_grid = (
        [row[name] for name in of] for of in (_GRID, _BLOCK, [f"own_{name}" for name in _GRID])
    )
    if None in grid:
        return None
    if None not in own_grid:
        # Some of HIP's functions take the grid in threads.
        return own_grid in (
            grid,
            [blocks * (threads or 1) for blocks, threads in zip(grid, block, strict=True)],
        )
    shapes = _shapes(row["input_shapes"])
    matches = ((re.search(pattern, row["name"]), rule) for pattern, rule in _RULES if shapes)
    return next((rule(match, grid, shapes) for match, rule in matches if match), None)


_VECTOR_THREADS = 128
"""Threads of a block of torch's kernels on vectors; a thread takes 4, 8 or as many elements as
the name says."""
_Rule = Callable[[re.Match[str], Sequence[int], list[list[int]]], bool]
_RULES: tuple[tuple[str, _Rule], ...] = (
    (
        r"(?:^|[\s:])elementwise_kernel<(\d+), (\d+),",
        lambda match, grid, shapes: grid[0] == _blocks(shapes, int(match[1]) * int(match[2])),
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
    (r"^fmha_cutlassF", lambda _, grid, shapes: grid[2] == shapes[0][0]),
    (r"flash_fwd_kernel<|bn_fw_inf\w*NCHW", lambda _, grid, shapes: grid[1] == shapes[0][0]),
)
"""Kernels whose grid follows from the shapes of the op's inputs alone."""


def _blocks(shapes: list[list[int]], of_a_block: int) -> int:
    """Count a kernel's blocks, which take `of_a_block` elements of the broadcast shapes each."""
    longest = max(map(len, shapes))
    padded = ([1] * (longest - len(shape)) + shape for shape in shapes)
    n_elements: int = math.prod(map(max, zip(*padded, strict=True)))
    return math.ceil(n_elements / of_a_block)


def _shapes(text: str | None) -> list[list[int]]:
    """Return the shapes of an op's tensors.

    The other inputs, and tensors without dimensions, are left out.
    """
    lists = (shape for shape in listed(text) if isinstance(shape, list))
    return [shape for shape in lists if shape and all(type(n) is int and n > 0 for n in shape)]
