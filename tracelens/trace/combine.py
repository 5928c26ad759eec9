"""Combine the captures of one program's run, from one or several sources, into a trace."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

import polars as pl
from msgspec.structs import asdict, replace

from tracelens.errors import SourceError, UsageError
from tracelens.schemas import EVENT_TABLES, ROW_IDS, SPAN_POINTERS, TABLES
from tracelens.storage.table import Stored
from tracelens.trace import Trace
from tracelens.trace.capture import SOURCE_UNREAD, Capture, Manifest, is_rank
from tracelens.trace.cleaning import clean
from tracelens.trace.collected import Collected
from tracelens.trace.collector import COLLECTORS
from tracelens.trace.rank_topology import RankPlace, rank_rows
from tracelens.trace.same_run import RankFacts, refuse_unrelated
from tracelens.trace.writing import RankPart


def combine(
    captures: Sequence[Capture],
    *,
    ranks: Sequence[int] = (),
    events: str | None = None,
    is_one_run: bool = False,
    force_mix: bool = False,
) -> Trace:
    """Return one trace of all captures.

    Events come from one profiler per rank, stacks and counters from all captures.

    - `ranks`: one rank per profiler capture, in order, or a single rank for all captures.
    - `events`: the profiler to use if several profilers captured a rank.
    - `is_one_run`: skip the check that all captures are of one program. If `ranks` are given, this
      check is always skipped.
    - `force_mix`: warn if captures cannot be ranks of one program, instead of raising SourceError.

    Raises SourceError if two captures of one profiler claim the same rank. Raises UsageError if
    `ranks` does not fit the captures.
    """
    for capture in captures:
        clean(capture)
    profiled = [capture for capture in captures if _is_profile(capture)]
    others = [capture for capture in captures if not _is_profile(capture)]
    settled = _settle(profiled or others, ranks)
    if profiled:
        settled += [
            (ranks[0] if len(ranks) == 1 else capture.rank or 0, capture) for capture in others
        ]
    chosen = _one_profiler_a_rank(settled, events)
    for rank, capture in settled:
        if not is_rank(rank):
            raise SourceError(
                f"{capture.source.name}: claims rank {rank}; ranks are whole numbers from 0 on,"
                " below 2^31: give the right one with --rank"
            )
    if not (ranks or is_one_run):
        _refuse_other_programs(profiled, force_mix=force_mix)
    kept = [(rank, capture, _tables(rank, capture, chosen)) for rank, capture in settled]
    _renumber(kept)
    parts_by_table: dict[str, list[_Part]] = {
        name: [(rank, capture, tables[name]) for rank, capture, tables in kept if name in tables]
        for name in TABLES
    }
    parts_by_table["provenance"] = _provenance_once(parts_by_table["provenance"])
    devices = parts_by_table["devices"]
    devices_of_events = [part for part in devices if chosen.get(part[0]) is part[1]]
    parts_by_table["devices"] = devices_of_events or devices
    parts: dict[str, Sequence[RankPart]] = {
        name: [(rank, frame) for rank, _, frame in tables]
        for name, tables in parts_by_table.items()
    }
    parts["ranks"] = rank_rows(
        [RankPlace.of(rank, capture) for rank, capture in [*chosen.items()] or settled]
    )
    return Collected(_manifest(settled, parts), parts)


_Part: TypeAlias = tuple[int, Capture, pl.DataFrame | Stored]


def _refuse_other_programs(profiled: Sequence[Capture], *, force_mix: bool) -> None:
    """Raise SourceError if captures of one profiler cannot be ranks of one program."""
    for kind in dict.fromkeys(capture.kind for capture in profiled):
        of_kind = [RankFacts.of(capture) for capture in profiled if capture.kind == kind]
        refuse_unrelated(of_kind, force_mix=force_mix)


def _is_profile(capture: Capture) -> bool:
    return capture.kind in COLLECTORS and COLLECTORS[capture.kind].is_profiler


def _settle(captures: Sequence[Capture], ranks: Sequence[int]) -> list[tuple[int, Capture]]:
    """Return each capture with its rank: the requested rank, else the rank that the source states.

    A capture with neither gets the lowest rank that no capture of its kind has.
    """
    if ranks:
        _check_requested(ranks, captures)
        of_captures = [*ranks] * (len(captures) // len(ranks))
        return list(zip(of_captures, captures, strict=True))
    settled: list[tuple[int, Capture]] = []
    for kind in dict.fromkeys(capture.kind for capture in captures):
        of_kind = [capture for capture in captures if capture.kind == kind]
        taken = {capture.rank for capture in of_kind}
        free = (rank for rank in itertools.count() if rank not in taken)
        for capture in of_kind:
            if capture.rank is not None:
                settled.append((capture.rank, capture))
                continue
            settled.append((next(free), capture))
            if len(of_kind) > 1:
                text = "sources that do not say their rank; it was taken from their order"
                capture.diagnostics.add("warning", "rank_assumed", text)
    return settled


def _check_requested(ranks: Sequence[int], captures: Sequence[Capture]) -> None:
    """Raise UsageError if the requested ranks are invalid, or do not fit the captures.

    One rank may be requested for several captures if their kinds of source differ.
    """
    wrong = [rank for rank in ranks if not is_rank(rank)]
    if wrong:
        raise UsageError(f"--rank {wrong[0]}: ranks are whole numbers from 0 on, below 2^31")
    if len(ranks) == len(captures):
        return
    if len(ranks) != 1:
        raise UsageError(
            f"--rank was given {len(ranks)} times for {len(captures)} sources; give it once for"
            " each"
        )
    if len({capture.kind for capture in captures}) < len(captures):
        raise UsageError(
            f"one --rank for {len(captures)} sources; give --rank once for each, in their order"
        )


def _one_profiler_a_rank(
    settled: Iterable[tuple[int, Capture]],
    events: str | None,
) -> dict[int, Capture]:
    """Return one capture per rank, the source of the rank's events.

    Profiler `events` has priority, then the order of COLLECTORS decides. Raises SourceError if two
    captures of one profiler claim the same rank.
    """
    order = {kind: number for number, kind in enumerate(COLLECTORS)} | {events: -1}
    chosen: dict[int, Capture] = {}
    for rank, capture in settled:
        if not _is_profile(capture):
            continue
        other = chosen.get(rank)
        if other is not None and other.kind == capture.kind:
            raise SourceError(
                f"{capture.source.name} and {other.source.name} both claim rank {rank}"
                f" ({capture.rank_origin}); give --rank once for each file, in their order, or"
                " collect them into two traces"
            )
        if other is None or order[capture.kind] < order[other.kind]:
            chosen[rank] = capture
    for rank, capture in settled:
        kept = chosen.get(rank)
        if kept is not None and _is_profile(capture) and capture is not kept:
            capture.diagnostics.add(
                "info",
                "events_of_other_profiler",
                f"{capture.kind}'s events were left out: {kept.kind}'s are kept",
            )
    return chosen


def _tables(
    rank: int, capture: Capture, chosen: Mapping[int, Capture]
) -> dict[str, pl.DataFrame | Stored]:
    """Return the capture's tables that have rows.

    `chosen` has, for each rank, the capture whose events are used. Any other profiler capture of
    the rank loses its tables of events and layers.
    """
    tables = capture.tables | capture.stored | {"diagnostics": capture.diagnostics.frame()}
    left_out = (
        (*EVENT_TABLES, "layers")
        if _is_profile(capture) and chosen.get(rank) is not capture
        else ()
    )
    return {name: frame for name, frame in tables.items() if frame.height and name not in left_out}


def _renumber(kept: Sequence[tuple[int, Capture, dict[str, pl.DataFrame | Stored]]]) -> None:
    """Replace the tables in `kept` so that the ids of a rank's captures differ.

    A capture's ids continue after the last id of the rank's previous capture. Columns that point to
    these ids change with them.
    """
    next_ids: dict[tuple[int, str], int] = {}
    n_captures = Counter(rank for rank, *_ in kept)
    for rank, _, tables in kept:
        if n_captures[rank] == 1:
            continue
        first_ids: dict[str, int] = {}
        for name, row_id in ROW_IDS.items():
            if name not in tables:
                continue
            first_ids[row_id] = next_ids.get((rank, row_id), 0)
            highest = pl.col(row_id).max().cast(pl.Int64)
            n_ids = int(tables[name].lazy().select(highest).collect().item()) + 1
            next_ids[rank, row_id] = first_ids[row_id] + n_ids
        first_ids |= dict.fromkeys(SPAN_POINTERS, first_ids.get("span_id", 0))
        if any(first_ids.values()):
            for name, frame in tables.items():
                tables[name] = _with_ids_from(frame.lazy().collect(), first_ids)


def _with_ids_from(rows: pl.DataFrame, first_ids: Mapping[str, int]) -> pl.DataFrame:
    """Return the rows with each column of ids increased by its number in `first_ids`."""
    return rows.with_columns(
        pl.col(column).cast(pl.Int64) + first
        for column, first in first_ids.items()
        if column in rows.columns
    )


def _provenance_once(parts: list[_Part]) -> list[_Part]:
    """Return the parts of the table `provenance`, each graph of a rank in only one part.

    A part has the rows of one capture. If several captures of a rank describe the same graph, only
    the rows of one capture are kept.
    """
    known: dict[int, list[str]] = {}
    kept: list[_Part] = []
    # "torch" (recorded at compile time) sorts before "trace_log" (read from a log).
    for rank, capture, frame in sorted(parts, key=lambda part: part[1].kind):
        if isinstance(frame, pl.DataFrame):
            new = frame.filter(~pl.col("graph_key").is_in(known.get(rank, [])))
            known.setdefault(rank, []).extend(new["graph_key"].unique())
            kept.append((rank, capture, new))
    return [part for part in kept if part[2].height]


def _manifest(
    settled: Sequence[tuple[int, Capture]],
    parts: Mapping[str, Sequence[RankPart]],
) -> Manifest:
    captures = [capture for _, capture in settled]
    profiled = [capture for capture in captures if _is_profile(capture)]
    sampled = [c for c in captures if "counters" in c.tables | c.stored]
    timed = profiled or sampled or captures
    bases = {capture.time_base for capture in timed}
    # An empty capture had no source to name.
    with_source = [
        (rank, capture)
        for rank, capture in settled
        if capture.source.size_bytes or capture.tables | capture.stored
    ]
    are_read = [("loss", SOURCE_UNREAD) not in capture.diagnostics.counts for capture in captures]
    return Manifest(
        tracelens_version=installed_version(),
        sources=[_described(rank, capture) for rank, capture in with_source],
        ranks=sorted({rank for rank, _ in settled}),
        time_base=bases.pop() if len(bases) == 1 else "trace_start",
        time_precision_ns=max(capture.time_precision_ns for capture in timed),
        complete=all(are_read) and all(capture.complete for capture in captures),
        dropped=[
            {"rank": rank} | row
            for rank, frame in parts["diagnostics"]
            if isinstance(frame, pl.DataFrame)
            for row in _losses(frame)
        ],
        empty_tables={name: _why_empty(name, captures) for name in TABLES if not parts[name]},
    )


def _losses(diagnostics: pl.DataFrame) -> list[dict[str, object]]:
    """Return one dictionary per kind of loss: `code`, `count`, `text`."""
    losses = diagnostics.filter(severity="loss").select("code", "count", "text")
    return losses.sort("code", "text").to_dicts()


def _described(rank: int, capture: Capture) -> dict[str, object]:
    return asdict(capture.source) | {
        "rank": rank,
        "rank_origin": (
            capture.rank_origin if rank == capture.rank or capture.rank is None else "asked for"
        ),
        "producer": capture.producer,
        "versions": capture.versions,
        "settings": capture.settings,
        "complete": capture.complete,
    }


def _why_empty(name: str, captures: Sequence[Capture]) -> str:
    if name == "diagnostics":
        return "nothing was lost or odd"
    reasons = dict.fromkeys(
        capture.reasons[name] for capture in captures if name in capture.reasons
    )
    return "; ".join(
        reasons
        or dict.fromkeys(f"a {capture.kind} source does not hold it" for capture in captures)
    )


def add_timings(trace: Trace, measured: Trace) -> Trace:
    """Return `trace` with the timings of `measured`, another trace of the same program.

    Layers that only `measured` has are added. Events and stacks of `measured` are left out.
    """
    tables = {name: trace.frame(name) for name in TABLES}
    for name in ("timings", "diagnostics", "layers"):
        tables[name] = pl.concat([tables[name], measured.frame(name)])
    tables["layers"] = tables["layers"].unique(
        ["rank", "module_path"], keep="first", maintain_order=True
    )
    manifest = replace(
        trace.manifest,
        sources=[*trace.manifest.sources, *measured.manifest.sources],
        ranks=sorted({*trace.manifest.ranks, *measured.manifest.ranks}),
        complete=trace.manifest.complete and measured.manifest.complete,
        n_rows={},
        empty_tables={
            name: why
            for name, why in trace.manifest.empty_tables.items()
            if not tables[name].height
        },
    )
    return Trace(manifest, {name: frame.lazy() for name, frame in tables.items()})


def installed_version() -> str:
    """Return the installed distribution's version, `unknown` if it is not installed."""
    try:
        return version("tracelens-toolkit")
    except PackageNotFoundError:
        return "unknown"
