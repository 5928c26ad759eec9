"""Advice: changes that would help a program, as far as its trace shows, and the time that each may save at most."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.kernels.copy_casts import casts_after_copies
from tracelens.derive.time.host_activity import PROFILER
from tracelens.derive.time.rank_time import PARTS, idle_places, judged_ranks
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

_WORTH_IT = 0.02
"""The least share of the time that an advice has to save to be given."""
_MANY = 5
_UNFUSED_LAUNCHES = 20
"""An optimizer that launches more kernels a step than this, none of them for many tensors, is
not fused."""
_LARGE_SCORES = 128 * 128

_BY_CAUSE = {
    "input": "Have input ready before it is asked for",
    "allocation": "Allocate outside the loop, and keep what is allocated",
    "sync": "Avoid the wait for the device",
    "loading": "Load and compile before the steps: warm up, keep shapes fixed",
    "host": "Do this elsewhere, less often, or at the same time as the work",
}
_BY_LOADER = {
    "_SingleProcess": "The data loader works in the main process; give it workers (num_workers)",
    "_MultiProcessing": "The loader's workers do not keep up; more of them, or cheaper decoding",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A trace's idle places, its kernels by site and primitive, and its judged time by part, all ranks together.

    Idle times are without what the profiler adds. `is_judged` is a condition for device work:
    launched in a step, or on a rank that marks none.
    """

    trace: Trace
    places: pl.DataFrame
    kernels: pl.DataFrame
    judged: dict[str, int]
    n_steps: int
    is_judged: pl.Expr

    @property
    def total_ns(self) -> int:
        """All judged time; at least 1, as it is divided by."""
        return max(sum(self.judged.values()), 1)


def advise(trace: Trace) -> list[str]:
    """Sentences, the largest saving first: what to do, where, the most it can save, and the section that shows it.

    Savings are upper bounds for one change alone: the idle time of that cause, or the time of the
    kernels.
    """
    ranks = judged_ranks(trace)
    judged = {part: sum(rank.parts[part] for rank in ranks) for part in PARTS}
    recorded = {part: max(sum(rank.recorded[part] for rank in ranks), 1) for part in PARTS}
    n_steps = sum(rank.n_steps for rank in ranks)
    counts = pl.col("cause").replace_strict(
        {part: judged[part] / recorded[part] for part in CAUSES}
    )
    places = idle_places(trace).filter(pl.col("what").ne_missing(PROFILER))
    places = places.with_columns(idle_ns=(pl.col("idle_ns") * counts).round().cast(pl.Int64))
    marked = [rank.rank for rank in ranks if rank.n_steps]
    is_judged = pl.col("step").is_not_null() | ~pl.col("rank").is_in(marked)
    found = _Found(trace, places, _kernels(trace, is_judged), judged, n_steps, is_judged)
    rules = (_idle, _copies, _optimizer, _layout, _attention, _communication)
    worth = [
        advice
        for rule in rules
        for advice in rule(found)
        if advice[0] >= _WORTH_IT * found.total_ns
    ]
    return [
        _sentence(found, *advice) for advice in sorted(worth, key=lambda advice: -advice[0])[:_MANY]
    ]


def _sentence(found: _Found, saved: int, text: str, section: str) -> str:
    each = (
        f"{saved / found.n_steps / 1e6:.2f} ms a step"
        if found.n_steps
        else f"{saved / 1e6:.2f} ms in all"
    )
    return f"{text}: up to {each} ({saved / found.total_ns:.0%}; see {section})."


_Advice = tuple[int, str, str]


def _idle(found: _Found) -> Iterator[_Advice]:
    """For each cause of idle time, the place with most of it."""
    by_place = found.places.group_by("cause", "what", maintain_order=True).agg(
        pl.col("idle_ns").sum()
    )
    for (cause,), part in by_place.partition_by("cause", as_dict=True, maintain_order=True).items():
        top = part.sort("idle_ns", descending=True, maintain_order=True)
        what, saved = top["what"][0], int(top["idle_ns"][0])
        if cause == "launch" and not found.trace.has("kernels"):
            words = (
                "Call fewer ops from Python: torch.compile removes most of the time between them,"
                " larger batches help"
            )
            yield int(part["idle_ns"].sum()), words, "idle_gaps, top_ops"
        elif cause == "launch":
            words = (
                "Launch less: a CUDA graph or torch.compile removes launches, larger batches make"
                " them matter less"
            )
            yield int(part["idle_ns"].sum()), words, "idle_gaps, dispatch_depth"
        elif cause in _BY_CAUSE:
            words = next(
                (say for loader, say in _BY_LOADER.items() if loader in (what or "")),
                _BY_CAUSE[cause],
            )
            yield saved, f"{words} ({what})" if what else words, "idle_gaps"


def _copies(found: _Found) -> Iterator[_Advice]:
    """Copies from pageable memory that no kernel hides, and copies of wider elements than are computed with."""
    columns = (
        "rank",
        "device_id",
        "memcpy_id",
        "step",
        "direction",
        "source_memory",
        "start_ns",
        "duration_ns",
    )
    copies = found.trace.select("memcpys", *columns).filter(
        (pl.col("direction") == "h2d") & (pl.col("duration_ns") > 0) & found.is_judged
    )
    if copies["duration_ns"].sum() < _WORTH_IT * found.total_ns:
        return
    kernels = found.trace.select("kernels", "rank", "device_id", "start_ns", "duration_ns")
    copies = copies.with_columns(
        exposed=pl.col("duration_ns") - covered_ns(copies, kernels, ["rank", "device_id"])
    )
    pageable = copies.filter(pl.col("source_memory") == "pageable")["exposed"].sum()
    words = (
        "Pin the host memory of copies to the device, and copy with non_blocking=True, so that"
        " kernels hide them"
    )
    yield int(pageable), words, "copy_cost"
    casts = casts_after_copies(found.trace).join(copies, on=["rank", "memcpy_id"])
    wide = 1 - pl.col("written_bytes") / pl.col("read_bytes")
    saved = (
        casts.filter(pl.col("read_bytes") > pl.col("written_bytes"))
        .select((pl.col("exposed") * wide).sum())
        .item()
    )
    yield (
        int(saved or 0),
        "Cast before copying: what is copied is cast to a narrower type on the device",
        "copy_cost",
    )


def _kernels(trace: Trace, is_judged: pl.Expr) -> pl.DataFrame:
    """Judged kernels by rank, site and primitive: n, ns, and the site's op, phase and module_path."""
    kernels = trace.select("kernels", "rank", "step", "site_id", "primitive", "duration_ns")
    kernels = kernels.filter(is_judged) if kernels["step"].null_count() else kernels
    by_site = (
        kernels.lazy()
        .group_by("rank", "site_id", "primitive")
        .agg(n=pl.len(), ns=pl.col("duration_ns").sum())
    )
    sites = trace.select("sites", "rank", "site_id", "op", "phase", "module_path")
    return (
        by_site.collect()
        .join(sites, on=["rank", "site_id"], how="left")
        .cast({pl.Categorical: pl.String})
    )


def _optimizer(found: _Found) -> Iterator[_Advice]:
    """An optimizer that takes the tensors one by one: it saves the idle time of launching its kernels."""
    own = found.kernels.filter(pl.col("phase") == "optimizer")
    n_own = int(own["n"].sum())
    n_launches = n_own / max(found.n_steps, 1)
    fused = own["op"].str.contains("foreach|fused").fill_null(value=False)
    if n_launches < _UNFUSED_LAUNCHES or int(own.filter(fused)["n"].sum()) * 2 > n_own:
        return
    idle = found.places.filter(
        (pl.col("cause") == "launch")
        & pl.col("what").is_in(own["op"].drop_nulls().unique().implode())
    )
    same_ops = found.kernels.filter(pl.col("op").is_in(own["op"].unique().implode()))
    share = n_own / max(int(same_ops["n"].sum()), 1)
    words = (
        f"Use a fused optimizer (foreach=True or fused=True): it launches {n_launches:,.0f} kernels"
        " a step one by one"
    )
    yield int(int(idle["idle_ns"].sum()) * share), words, "dispatch_depth"


def _layout(found: _Found) -> Iterator[_Advice]:
    """Layout transforms around convolutions."""
    of_convolutions = (pl.col("primitive") == "layout") & pl.col("op").str.contains("conv")
    saved = found.kernels.filter(of_convolutions.fill_null(value=False))["ns"].sum()
    yield (
        int(saved),
        "Keep images in channels_last: convolutions transpose their operands",
        "layer_attribution",
    )


def _attention(found: _Found) -> Iterator[_Advice]:
    """Softmax over large scores between batched products, instead of one fused attention kernel."""
    softmax = found.kernels.filter(
        (pl.col("primitive") == "softmax") & pl.col("op").str.contains(r"^aten::_?softmax")
    )
    saved = int(softmax["ns"].sum())
    if saved < _WORTH_IT * found.total_ns or not _has_large_scores(found.trace):
        return
    products = (
        found.kernels["op"].str.contains(r"^aten::(bmm|baddbmm|matmul)$").fill_null(value=False)
    )
    if products.any():
        words = (
            "Use scaled_dot_product_attention: softmax over large scores runs between batched"
            " matrix products"
        )
        yield saved, words, "top_kernels"


def _has_large_scores(trace: Trace) -> bool:
    """Whether a softmax's recorded input shape is a batch of large matrices."""
    own = trace.select("spans", "input_shapes", where=pl.col("name") == "aten::_softmax")
    shapes = (
        own["input_shapes"]
        .unique()
        .cast(pl.String)
        .str.extract(r"^\[\[(?:\d+, ?)+(\d+, ?\d+)\]")
        .drop_nulls()
    )
    sizes = (
        shapes.str.split(",")
        .list.eval(pl.element().str.strip_chars().cast(pl.Int64))
        .list.agg(pl.element().product())
    )
    return bool((sizes >= _LARGE_SCORES).any())


def _communication(found: _Found) -> Iterator[_Advice]:
    """Communication that no computation hides, and waiting for other ranks."""
    words = "Overlap communication with computing (buckets, a later wait)"
    yield int(found.judged["communication"]), words, "time_breakdown"
    words = "Give all ranks equally much to do: collectives wait for the slowest rank"
    yield int(found.judged["waiting"]), words, "waiting"
