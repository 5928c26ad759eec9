"""Match kernels of replayed CUDA graphs with launches recorded during the graph's capture.

1. While a graph is captured, the trace has its launches in order, but no kernels.
2. A replay runs these launches' kernels in the same order.
3. On ROCm, a launch is recorded with its kernel's name, grid and block. Launches and kernels are
   matched by name.
4. On CUDA, a launch is recorded without its kernel. A capture fits a replay if it has as many
   launches as the replay has kernels, and the inputs of the launching ops fit these kernels.
"""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct, field

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.layers.graph_replay import PAIRS, has_replays
from tracelens.derive.layers.launch_fit import BLOCK, GRID, fits
from tracelens.derive.layers.sequence_alignment import align
from tracelens.derive.time.launch_advice import is_capture
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas import TABLES
from tracelens.trace import Trace

EVIDENCE = "graph capture"
_OP = ("name", "input_shapes")
_BEGIN, _END = r"^(cuda|cu|hip)StreamBeginCapture", r"^(cuda|cu|hip)StreamEndCapture"
_MARK = r"^capture_(\d{1,9})_[A-Z]"
"""Pattern of the marks that servers put around a capture, with the batch size."""
_MOST_LENGTHS = 5
_MOST_WRONG = 0.05
"""If a larger share of kernels contradicts their launches, capture and replay do not match."""


class Captured(Struct):
    """Holds the launches recorded while CUDA graphs were captured."""

    work: Trace  # trace with the launches as kernels
    launches: pl.DataFrame  # the launches with their op and input shapes
    # Reasons why replays match none of these captures, added by `pairs`.
    refused: set[str] = field(default_factory=set)

    def pairs(self, trace: Trace) -> pl.DataFrame:
        """Return pairs of replayed kernels and their captured launches, with columns PAIRS.

        base_rank and base_id are the launch's rank and its kernel_id in the trace `self.work`.
        """
        launches = self.launches
        sizes = launches.select("rank", "batch_size").unique().sort("batch_size", "rank")
        captures: dict[tuple[int, int | None], tuple[int | None, int | None]] = {}
        ids_of_kernels: dict[tuple[object, ...], pl.Series | None] = {}
        pair_frames = [PAIRS.to_frame().drop("base_rank")]
        kernels = _replayed_kernels(trace)
        for (rank, _), replay in kernels.group_by("rank", "api_call_id", maintain_order=True):
            n_tokens = replay["n_tokens"][0]
            if (rank, n_tokens) not in captures:
                captures[rank, n_tokens] = self._chosen(rank, n_tokens, sizes)
            capture_rank, batch_size = captures[rank, n_tokens]
            # Replays with the same kernels correspond to the same launches.
            key = (capture_rank, batch_size, *replay["code"])
            if key not in ids_of_kernels:
                ids_of_kernels[key] = self._launches_of(replay, capture_rank, batch_size)
            ids = ids_of_kernels[key]
            if ids is not None:
                pairs = replay.select("rank", "kernel_id", base_id=ids)
                pair_frames.append(pairs.drop_nulls("base_id"))
        base_ranks = launches.select(base_rank="rank", base_id="kernel_id")
        paired = pl.concat(pair_frames)
        all_pairs = paired.join(base_ranks, on="base_id", maintain_order="left")
        return all_pairs.select(PAIRS.names())

    def _chosen(
        self,
        rank: int,
        n_tokens: int | None,
        sizes: pl.DataFrame,
    ) -> tuple[int | None, int | None]:
        """Return the rank and batch size of captures to which a replay may belong; None means any.

        `sizes` has the ranks and batch sizes of all captures.
        """
        # A server replays the smallest graph with room for its tokens.
        size = _size_for(n_tokens, sizes)
        of_size = sizes
        if size is not None:
            of_size = sizes.filter(pl.col("batch_size") == size)
        has_rank = rank in of_size["rank"].to_list()
        return (rank if has_rank else None), size

    def _captures(self, rank: int | None, size: int | None) -> list[pl.DataFrame]:
        wanted = {"rank": rank, "batch_size": size}
        is_wanted = [pl.col(name) == value for name, value in wanted.items() if value is not None]
        return self.launches.filter(*is_wanted).partition_by("rank", "capture", maintain_order=True)

    def _launches_of(
        self,
        kernels: pl.DataFrame,
        rank: int | None,
        size: int | None,
    ) -> pl.Series | None:
        """Return the launch of each kernel of a replay, as a kernel_id of the trace `self.work`.

        Return None if no capture matches the replay.
        """
        captures = self._captures(rank, size)
        wrong, ids = _best(kernels, captures)
        if wrong > _MOST_WRONG and size is not None:
            # A server also replays larger graphs if other ranks need them.
            captures = self._captures(None, None)
            wrong, ids = _best(kernels, captures)
        if wrong <= _MOST_WRONG:
            return ids
        if ids is None:
            reason = _describe_lengths(kernels, captures)
        else:
            reason = (
                f"{wrong:.0%} of the kernels that can be compared do not fit what was captured, as with"
                " another batch size"
            )
        self.refused.add(reason)
        return None


def _replayed_kernels(trace: Trace) -> pl.DataFrame:
    """Return kernels of replays in the order of nodes, with `code` and the step's n_tokens.

    Kernels with the same code have the same name, grid and block.
    """
    columns = (
        *("rank", "kernel_id", "name", "primitive", "link", "step"),
        *("api_call_id", "graph_node_id", "start_ns", *GRID, *BLOCK),
    )
    is_replayed = pl.col("link") == "graph"
    kernels = trace.select("kernels", *columns, where=is_replayed)
    as_text = kernels.cast({pl.Categorical: pl.String})
    in_order = as_text.sort("rank", "api_call_id", "graph_node_id", "start_ns")
    steps = steps_of(trace).select("rank", "step", "n_tokens")
    n_tokens = steps.unique(["rank", "step"])
    with_tokens = in_order.join(
        n_tokens,
        on=["rank", "step"],
        how="left",
        maintain_order="left",
    )
    code = pl.struct("name", *GRID, *BLOCK).hash(seed=0)
    return with_tokens.with_columns(code=code)


def _size_for(n_tokens: int | None, sizes: pl.DataFrame) -> int | None:
    """Return the smallest captured batch size with room for the tokens; None if there is none.

    `sizes` are sorted by batch size.
    """
    if not n_tokens:
        return None
    for size in sizes["batch_size"].drop_nulls():
        if size >= n_tokens:
            return int(size)
    return None


def _describe_lengths(kernels: pl.DataFrame, captures: Sequence[pl.DataFrame]) -> str:
    """Say how many kernels a replay has, and how many launches captures have."""
    lengths = sorted({launches.height for launches in captures})
    shown = [str(length) for length in lengths[:_MOST_LENGTHS]]
    return f"replays have {kernels.height:,} kernels, captures {', '.join(shown)} launches"


def _best(
    kernels: pl.DataFrame, captures: Sequence[pl.DataFrame]
) -> tuple[float, pl.Series | None]:
    """Return the result of `_compared` for the capture that fits the kernels best.

    If no capture can be compared, the share is 1 and the ids are None.
    """
    compared = [_compared(kernels, launches) for launches in captures]
    paired = [(wrong, ids) for wrong, ids in compared if ids is not None]
    return min(
        paired,
        key=lambda share_and_ids: share_and_ids[0],
        default=(1.0, None),
    )


def captured_graphs(trace: Trace) -> Captured | None:
    """Return the launches recorded while CUDA graphs were captured, None if there are none."""
    captured = _captured_launches(trace)
    if captured.is_empty():
        return None
    is_triton = pl.col("op").str.starts_with("triton_")
    name_of_triton = pl.when(is_triton).then("op")
    kernel = pl.col("kernel").str.strip_suffix(".kd")
    launches = _with_batch_sizes(captured, trace).with_columns(
        name=pl.coalesce(kernel, name_of_triton, pl.lit(""))
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


def captured_for(trace: Trace, base: Trace) -> Captured | None:
    """Return the launches that `base` recorded while it captured CUDA graphs.

    Return None if `base` also runs kernels. Return None if `trace` replays no graph.
    """
    if not is_capture(base) or not has_replays(trace):
        return None
    return captured_graphs(base)


def is_capture_of(base: Trace, trace: Trace) -> bool:
    """Return whether the base only captures graphs, and the trace replays some of them."""
    captured = captured_for(trace, base)
    return captured is not None and not captured.pairs(trace).is_empty()


def _captured_launches(trace: Trace) -> pl.DataFrame:
    """Return the launches during graph captures, with op and input_shapes.

    The column `capture` numbers the captures of a process.
    """
    columns = (
        *("rank", "api_call_id", "kind", "api", "start_ns", "process_id", "span_id", "kernel"),
        *GRID,
        *BLOCK,
    )
    calls = trace.select("api_calls", *columns)
    api = pl.col("api").cast(pl.String)
    begins_capture = api.str.contains(_BEGIN)
    if not calls.select(begins_capture.any()).item():
        return calls.clear()
    in_order = calls.sort("start_ns", "api_call_id").with_columns(
        capture=begins_capture.cum_sum().over("rank", "process_id"),
        n_ended=api.str.contains(_END).cum_sum().over("rank", "process_id"),
    )
    is_launch = pl.col("kind") == "kernel_launch"
    is_captured = pl.col("capture") == pl.col("n_ended") + 1
    ran = trace.select("kernels", "rank", "api_call_id")
    ops = trace.select("spans", "rank", "span_id", *_OP).rename({"name": "op"})
    return (
        in_order.filter(is_launch, is_captured)
        .join(
            ran,
            on=["rank", "api_call_id"],
            how="anti",
            maintain_order="left",
        )
        .join(
            ops,
            on=["rank", "span_id"],
            how="left",
            maintain_order="left",
        )
        .with_columns(kernel_id=pl.int_range(pl.len(), dtype=pl.Int64))
        .cast({pl.Categorical: pl.String})
    )


def _with_batch_sizes(launches: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add batch_size: the number in a server's mark around the capture, None without a mark."""
    name = pl.col("name").cast(pl.String)
    is_annotation = pl.col("kind") == "annotation"
    is_mark = is_annotation & name.str.contains(_MARK)
    columns = ("process_id", "name", "start_ns", "duration_ns")
    marks = trace.select("spans", *columns, where=is_mark)
    batch_size = name.str.extract(_MARK).cast(pl.Int64)
    sized = marks.with_columns(
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        batch_size=batch_size,
    )
    return during(launches, sized, "batch_size", pl.Int64)


def _compared(kernels: pl.DataFrame, launches: pl.DataFrame) -> tuple[float, pl.Series | None]:
    """Compare each kernel of a replay with a captured launch.

    Return the share of kernels that do not fit, and the kernel_id of each kernel's captured launch.
    If kernels cannot be paired with launches, the share is 1 and the ids are None.
    """
    names_kernels = (launches["name"] != "").all()
    if names_kernels:  # a kernel that is not aligned does not fit
        launch_rows = _aligned_by_name(kernels["name"], launches["name"])
    elif kernels.height == launches.height:
        launch_rows = pl.int_range(kernels.height, eager=True)
    else:
        return 1.0, None
    launch_grid = {f"launch_{axis}": axis for axis in GRID}
    columns = launches.select(
        "op",
        "input_shapes",
        "kernel_id",
        launched="name",
        **launch_grid,
    )
    launch_of_kernel = columns.select(pl.all().gather(launch_rows))
    ids = launch_of_kernel["kernel_id"]
    pairs = pl.concat(
        [kernels.drop("kernel_id"), launch_of_kernel],
        how="horizontal",
    )
    verdicts = [fits(row) for row in pairs.iter_rows(named=True)]
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return 0.0, ids
    return known.count(False) / len(known), ids


def _aligned_by_name(kernels: pl.Series, launches: pl.Series) -> pl.Series:
    """Return, for each kernel, the row of the launch aligned by name, None for no launch."""
    bare_names = kernels.str.strip_suffix(".kd")
    names = pl.concat([bare_names, launches])
    codes = names.cast(pl.Categorical).to_physical()
    kernel_codes = tuple(codes.head(kernels.len()))
    launch_codes = tuple(codes.tail(launches.len()))
    rows = align(kernel_codes, launch_codes)
    return pl.Series(rows, dtype=pl.Int64)
