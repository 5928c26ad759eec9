"""Advise on copies between host and device or within a device, and on moves of managed pages."""

import re
from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.kernels.copy_casts import casts_after_copies
from tracelens.derive.kernels.pinned_copies import LARGE_COPY, pinned_bytes_per_s
from tracelens.derive.processes.cpu_work import COPY, LOOKUPS, SETS
from tracelens.derive.time.advice import Rule
from tracelens.derive.time.cpu_only import busiest_places
from tracelens.derive.time.host_time import launch_places
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.migrations import migrations, stalls_by_place, waiting_kernels
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.trace import Trace

_PLACE = ("rank", "device_id", "step")
_TIMES = ("start_ns", "duration_ns")
_LESS = {
    rf"\baten::(?:{LOOKUPS})$": (
        "Look up fewer elements (none twice), or keep them in a narrower type"
    ),
    rf"\baten::(?:{SETS})$": (
        "Set less memory: allocate once and use it again, or empty() where all is overwritten"
    ),
    "": "Copy less memory: keep one buffer and write into it (out=, copy_), or use a view",
}
"""Advice on copies in a process, by a pattern of the call path; the first match counts."""


def process_copy_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on copies of memory in a process without a device."""
    if program.trace.has("kernels"):
        return
    by_rank = busiest_places(program.trace, COPY).values()
    places = sorted(
        (place for of_rank in by_rank for place in of_rank),
        key=lambda place: -place[1],
    )
    all_ns = sum(ns for _, ns in places)
    for pattern, words in _LESS.items():
        of_kind = [place for place in places if re.search(pattern, place[0])]
        places = [place for place in places if not re.search(pattern, place[0])]
        share = sum(ns for _, ns in of_kind) / max(all_ns, 1)
        ns = round(share * program.parts["copy"])
        yield Rule(
            ns,
            words,
            "copy",
            "top_ops",
            places=of_kind,
        )


def upload_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on copies to the device: to pin memory, overlap, copy less, or cast before copying.

    Only time in which no kernel runs counts.
    """
    columns = ("memcpy_id", "api_call_id", "stream_id", "direction", "source_memory")
    copies = program.trace.select("memcpys", *_PLACE, *_TIMES, *columns)
    to_device = pl.col("direction") == "h2d"
    has_length = pl.col("duration_ns") > 0
    uploads = copies.filter(to_device & has_length & program.is_judged)
    if uploads["duration_ns"].sum() < WORTH_IT * program.total_ns:
        return
    exposed = _with_exposed(program.trace, uploads)
    is_pageable = pl.col("source_memory") == "pageable"
    yield _pinning(program, exposed.filter(is_pageable))
    yield from _overlapping(program, exposed.filter(~is_pageable))
    cast = "Cast before copying: what is copied is cast to a narrower type on the device"
    yield Rule(
        _needless_ns(program.trace, exposed),
        cast,
        "copy",
        "copy_cost",
    )


def _pinning(program: JudgedProgram, exposed: pl.DataFrame) -> Rule:
    """Advise pinned memory for copies from pageable memory."""
    ns = int(exposed["exposed_ns"].sum())
    text = "Pin the host memory of copies to the device, and copy with non_blocking=True"
    places = _places(program.trace, exposed)
    return Rule(
        ns,
        text,
        "copy",
        "copy_cost",
        places=places,
        expression="pinned",
    )


def _overlapping(program: JudgedProgram, exposed: pl.DataFrame) -> Iterator[Rule]:
    """Advise to overlap copies with computing, and to copy less if most copies cannot overlap."""
    ns = int(exposed["exposed_ns"].sum())
    beside_ns = min(ns, program.hideable_ns["copy"])
    text = "Copy input beside computing: on a stream of its own, a step ahead"
    if _have_own_stream(program.trace, exposed):
        text = (
            "Copy to the device earlier, a step ahead: copies have a stream of their own, but"
            " nothing computes beside them"
        )
    places = _places(program.trace, exposed)
    yield Rule(
        beside_ns,
        text,
        "copy",
        "copy_cost",
        places=places,
    )
    if ns > 2 * beside_ns:
        less = "Copy less to the device: as a narrower type, or keep there what is used again"
        yield Rule(ns - beside_ns, less, "copy", "copy_cost")


def _needless_ns(trace: Trace, exposed: pl.DataFrame) -> int:
    """Return the copy time in ns that is saved by casting before the copies instead of after."""
    casts = casts_after_copies(trace).join(exposed, on=["rank", "memcpy_id"])
    written_bytes = pl.col("written_bytes")
    read_bytes = pl.col("read_bytes")
    narrowing = casts.filter(read_bytes > written_bytes)
    needless_share = 1 - written_bytes / read_bytes
    needless_ns = pl.col("exposed_ns") * needless_share
    return int(narrowing.select(needless_ns.sum()).item() or 0)


def download_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise pinned memory for large copies to pageable host memory.

    Only time in which no kernel runs counts.
    """
    columns = ("api_call_id", "direction", "destination_memory", "size_bytes")
    is_download = pl.col("direction") == "d2h"
    is_slow = is_download & (pl.col("destination_memory") == "pageable")
    copies = program.trace.select(
        "memcpys",
        *_PLACE,
        *_TIMES,
        *columns,
        where=is_slow,
    )
    size_bytes = pl.col("size_bytes")
    downloads = copies.filter(program.is_judged & (size_bytes > LARGE_COPY))
    per_s = pinned_bytes_per_s(program.trace, "d2h")
    if downloads.is_empty() or per_s is None:
        return
    exposed = _with_exposed(program.trace, downloads)
    # Only the copy gets shorter, because the host still has to wait for the data.
    pinned_ns = (size_bytes / per_s * 1e9).cast(pl.Int64)
    saved_ns = (pl.col("exposed_ns") - pinned_ns).clip(0)
    all_saved_ns = int(exposed.select(saved_ns.sum()).item())
    words = "Copy results into pinned memory: to pageable memory they go through a buffer"
    places = _places(program.trace, exposed)
    yield Rule(
        all_saved_ns,
        words,
        "copy",
        "copy_cost",
        places=places,
    )


def other_copy_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on large copies within the device, and on large copies from the device to the host.

    Copies to pageable memory are left out. Only time in which no kernel runs counts.
    """
    columns = ("stream_id", "direction", "destination_memory", "size_bytes")
    copies = program.trace.select("memcpys", *_PLACE, *_TIMES, *columns)
    is_large = pl.col("size_bytes") > LARGE_COPY
    is_other = pl.col("direction").is_in(["d2d", "d2h"])
    large = copies.filter(program.is_judged & is_large & is_other)
    if large.is_empty():
        return
    exposed = _with_exposed(program.trace, large)
    is_within = pl.col("direction") == "d2d"
    is_download = (pl.col("direction") == "d2h") & (pl.col("destination_memory") != "pageable")
    within, downloads = (
        int(exposed.filter(kind)["exposed_ns"].sum()) for kind in (is_within, is_download)
    )
    less = "Copy less within the device: clone(), contiguous() and cat() copy; write in place"
    yield Rule(within, less, "copy", "top_ops")
    overlap = (
        "Wait later for copies to the host: they have a stream of their own, but nothing computes"
        " beside them"
        if _have_own_stream(program.trace, exposed.filter(is_download))
        else "Copy results beside computing: on a stream of its own, and wait for them later"
    )
    yield Rule(
        min(downloads, program.hideable_ns["copy"]),
        overlap,
        "copy",
        "copy_cost",
    )


def _have_own_stream(trace: Trace, exposed: pl.DataFrame) -> bool:
    """Return whether most exposed time of copies is on streams that run no kernels."""
    stream = ["rank", "device_id", "stream_id"]
    of_kernels = trace.select("kernels", *stream).unique()
    on_own_stream = exposed.drop_nulls("stream_id").join(
        of_kernels,
        on=stream,
        how="anti",
    )
    return 2 * int(on_own_stream["exposed_ns"].sum()) > int(exposed["exposed_ns"].sum())


def _places(trace: Trace, exposed: pl.DataFrame) -> list[tuple[str, int]]:
    """Return the call paths that issue copies, with the copies' exposed ns, the largest first.

    Only copies that are issued in Python code or in a named region count.
    """
    placed = exposed.join(launch_places(trace), on=["rank", "api_call_id"])
    sums = placed.group_by("what").agg(pl.col("exposed_ns").sum())
    texts = sums.cast({"what": pl.String})
    ordered = texts.sort("exposed_ns", "what", descending=[True, False])
    return ordered.rows()


def _with_exposed(trace: Trace, copies: pl.DataFrame) -> pl.DataFrame:
    """Add exposed_ns to copies, the time in which no kernel runs on the copy's device."""
    device = ["rank", "device_id"]
    kernels = trace.select("kernels", *device, *_TIMES)
    hidden_ns = covered_ns(copies, kernels, device)
    return copies.with_columns(exposed_ns=pl.col("duration_ns") - hidden_ns)


def page_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise to move pages of managed memory before kernels use them."""
    moves = migrations(program.trace)
    if not moves.height:
        return
    waiting = waiting_kernels(program.trace, moves).filter(program.is_judged)
    places = stalls_by_place(program.trace, waiting)
    words = (
        "Move pages of managed memory before kernels touch them (cudaMemPrefetchAsync), or copy"
        " from pinned memory"
    )
    yield Rule(
        sum(ns for _, ns in places),
        words,
        "compute",
        "copy_cost",
        places=places,
    )
