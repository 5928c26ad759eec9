"""Layers of replayed CUDA graphs' kernels, taken from a capture of the same program that ran without graphs.

A replay is one call, so nothing around it says which layer each of its kernels belongs to. Without graphs the same
program launches the same kernels in the same order, one by one: the two sequences of names are aligned, each distinct
one once, and a replayed kernel takes the layer of the kernel it is aligned with.
"""

from difflib import SequenceMatcher

import polars as pl

from tracelens.derive.layers.splitting import cumulated, split_duration
from tracelens.trace import Trace

BASE_EVIDENCE = "base capture"
UNATTRIBUTED = "(unattributed)"
_LEAST_ALIKE = 0.5
"""With a smaller part of a sequence matched, the base ran another program, and nothing is placed."""
_LONGEST_RUN = 20_000
"""Kernels taken of a base without steps: alignment takes time proportional to the product of both lengths."""
_MOST_EDITS = 300
_PATHS_ONLY = ("none", "root module only", "module span", "backward sequence")
"""Evidence from the launch, which all kernels of a replay share."""
_OF_BASE = ("layer", "class_name", "phase")


def has_replays(trace: Trace) -> bool:
    """Whether kernels ran as nodes of replayed CUDA graphs."""
    return bool((trace.select("kernels", "link")["link"] == "graph").any())


def place_replays(placed: pl.DataFrame, trace: Trace, base: Trace, base_parts: pl.DataFrame) -> pl.DataFrame:
    """The kernels of `placed`, with replayed ones placed as in the base where both have the same sequence.

    Both frames hold a row a kernel and layer. A kernel that was split in the base is split in the same proportions; its
    parts sum to its own duration.
    """
    pairs = _pairs(trace, base)
    open_rows = placed.filter((pl.col("link") == "graph") & pl.col("evidence").is_in(_PATHS_ONLY))
    replayed = open_rows.join(pairs, on=["rank", "kernel_id"]).join(
        _fractions(base_parts), on=["base_rank", "base_id"], suffix="_base", maintain_order="left_right"
    )
    if replayed.is_empty():
        return placed
    key = ["rank", "kernel_id"]
    finer = (pl.col("layer") == UNATTRIBUTED) | (pl.col("layer_base") + ".").str.starts_with(pl.col("layer") + ".")
    replayed = replayed.filter((finer & (pl.col("layer_base") != UNATTRIBUTED)).any().over(key))
    replayed = split_duration(replayed).with_columns(
        layer="layer_base",
        class_name="class_name_base",
        phase=pl.coalesce("phase_base", "phase"),
        evidence=pl.lit(BASE_EVIDENCE),
        duration_ns="estimate_ns",
    )
    rest = placed.join(replayed.select(key).unique(), on=key, how="anti", maintain_order="left")
    return pl.concat([rest, replayed.select(rest.columns)])


def _fractions(parts: pl.DataFrame) -> pl.DataFrame:
    """The base's parts of kernels with each part's fraction of its kernel, as `split_duration` takes them."""
    key = ["rank", "kernel_id"]
    whole, equal = pl.col("duration_ns").sum().over(key), 1 / pl.len().over(key)
    fractions = parts.with_columns(
        pl.when(whole > 0).then(pl.col(column) / whole).otherwise(equal).alias(f"{name}_frac")
        for name, column in (("estimate", "duration_ns"), ("low", "low_ns"), ("high", "high_ns"))
    )
    columns = (*_OF_BASE, "until_frac", "is_last", "low_frac", "high_frac")
    return cumulated(fractions, key).select(*columns, base_rank="rank", base_id="kernel_id")


def _pairs(trace: Trace, base: Trace) -> pl.DataFrame:
    """Each replayed kernel (rank, kernel_id) with the base's kernel that it corresponds to (base_rank, base_id)."""
    mine, theirs = _coded(trace, base)
    runs = {rank: _run(part) for (rank,), part in theirs.group_by("rank", maintain_order=True)}
    only = next(iter(runs)) if len(runs) == 1 else None
    replayed = mine.filter((pl.col("link") == "graph").any().over("rank", "unit"))
    found = []
    aligned: dict[tuple[object, ...], list[int | None]] = {}
    for (rank, _), unit in replayed.group_by("rank", "unit", maintain_order=True):
        base_rank = rank if rank in runs else only
        if base_rank is None:
            continue
        codes = tuple(unit["code"])
        if (base_rank, codes) not in aligned:
            aligned[base_rank, codes] = align(codes, tuple(runs[base_rank]["code"]))
        place = pl.Series(aligned[base_rank, codes], dtype=pl.Int64)
        paired = unit.select("rank", "kernel_id", "link").with_columns(
            base_rank=pl.lit(base_rank, pl.Int32), base_id=runs[base_rank]["kernel_id"].gather(place)
        )
        paired = paired.filter(pl.col("link") == "graph").drop("link")
        if paired["base_id"].count() >= _LEAST_ALIKE * paired.height:
            found.append(paired.drop_nulls("base_id"))
    schema = {"rank": pl.Int32, "kernel_id": pl.Int64, "base_rank": pl.Int32, "base_id": pl.Int64}
    return pl.concat(found) if found else pl.DataFrame(schema=schema)


def _coded(trace: Trace, base: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The kernels of both in order, without replays in the base; equal names have equal codes."""
    mine, theirs = _sequences(trace), _sequences(base).filter(pl.col("link") != "graph")
    if _tools(trace) != _tools(base):
        # Tools write template arguments and unnamed namespaces in different ways.
        bare = pl.col("name").cast(pl.String).str.extract(r"^(?:void )?([^<(]+)")
        mine, theirs = mine.with_columns(bare), theirs.with_columns(bare)
    names = pl.concat([mine["name"], theirs["name"]]).cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1)
    return mine.with_columns(code=names.head(mine.height)), theirs.with_columns(code=names.slice(mine.height))


def _tools(trace: Trace) -> set[object]:
    return {source.get("producer") for source in trace.manifest.sources} & {"torch.profiler", "Nsight Systems"}


def _sequences(trace: Trace) -> pl.DataFrame:
    """Kernels in launch order, those of a replay in the order of the graph's nodes where the source has it.

    `unit` groups them: a step (0 or more), or outside of steps a launch (below 0).
    """
    columns = ("rank", "kernel_id", "name", "link", "step", "api_call_id", "graph_node_id", "start_ns")
    launches = trace.select("api_calls", "rank", "api_call_id", "start_ns").rename({"start_ns": "launch_ns"})
    kernels = trace.select("kernels", *columns).join(launches, on=["rank", "api_call_id"], how="left")
    ordered = kernels.sort("rank", pl.coalesce("launch_ns", "start_ns"), "graph_node_id", "start_ns", "kernel_id")
    return ordered.with_columns(unit=pl.coalesce("step", -1 - pl.col("api_call_id")))


def _run(kernels: pl.DataFrame) -> pl.DataFrame:
    """One run of the program: a step with the most common sequence, or the first kernels where no step is marked."""
    steps = kernels.drop_nulls("step").group_by("step", maintain_order=True).agg("code")
    if steps.is_empty():
        return kernels.head(_LONGEST_RUN)
    alike = steps.group_by("code", maintain_order=True).agg(pl.len(), pl.col("step").first())
    return kernels.filter(pl.col("step") == alike.sort("len", descending=True, maintain_order=True)["step"][0])


def align(mine: tuple[int, ...], theirs: tuple[int, ...]) -> list[int | None]:
    """For each of `mine` the index of its match in `theirs`, in increasing order; null for no match.

    The common beginning and end are paired at once, so that only what differs is searched.
    """
    shorter = min(len(mine), len(theirs))
    head = next((i for i in range(shorter) if mine[i] != theirs[i]), shorter)
    tail = next((i for i in range(shorter - head) if mine[-1 - i] != theirs[-1 - i]), shorter - head)
    found: list[int | None] = [*range(head), *[None] * (len(mine) - head)]
    middles = mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]
    for at, place in _few_edits(*middles) or _blocks(*middles):
        found[head + at] = head + place
    for i in range(1, tail + 1):
        found[-i] = len(theirs) - i
    return found


def _blocks(mine: tuple[int, ...], theirs: tuple[int, ...]) -> list[tuple[int, int]]:
    """Places paired by difflib: the longest common block first, then what lies before and after it."""
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]


def _few_edits(mine: tuple[int, ...], theirs: tuple[int, ...]) -> list[tuple[int, int]]:
    """Places paired in a longest common subsequence, by Myers' greedy algorithm; none past _MOST_EDITS differences.

    Difflib's time grows with the square of how often names repeat; of two runs of a program that differ little, this
    one's grows with the length alone.
    """
    reach, steps = {1: 0}, []
    for n_edits in range(min(_MOST_EDITS, len(mine) + len(theirs)) + 1):
        steps.append(reach.copy())
        for diagonal in range(-n_edits, n_edits + 1, 2):
            x = _onward(reach, diagonal, n_edits)
            while x < len(mine) and 0 <= x - diagonal < len(theirs) and mine[x] == theirs[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= len(mine) and x - diagonal >= len(theirs):
                return _walked_back(steps, len(mine), diagonal)
    return []


def _onward(reach: dict[int, int], diagonal: int, n_edits: int) -> int:
    """The place in `mine` where a diagonal begins: one of mine is skipped from below, or one of theirs from above."""
    down = diagonal == -n_edits or (diagonal != n_edits and reach[diagonal - 1] < reach[diagonal + 1])
    return reach[diagonal + 1] if down else reach[diagonal - 1] + 1


def _walked_back(steps: list[dict[int, int]], x: int, diagonal: int) -> list[tuple[int, int]]:
    """The matched pairs on the path that reached the end."""
    pairs = []
    for n_edits in range(len(steps) - 1, -1, -1):
        begun = _onward(steps[n_edits], diagonal, n_edits)
        pairs += [(at, at - diagonal) for at in range(begun, x)]
        if begun == steps[n_edits].get(diagonal + 1) and (
            diagonal == -n_edits or (diagonal != n_edits and steps[n_edits][diagonal - 1] < begun)
        ):
            diagonal, x = diagonal + 1, begun
        else:
            diagonal, x = diagonal - 1, begun - 1
    return pairs
