"""Matching the collectives of all ranks: which kernels of different ranks are one call of their group."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.clocks import CLOCKS, clocks_of, on_job_clock, with_uncertainty
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

_CALL = ["group_key", "call"]
CALLS = {
    "rank": pl.Int32,
    "kernel_id": pl.Int64,
    "group_key": pl.Categorical,
    "call": pl.Int64,
    "group": pl.String,
    "group_size": pl.Int32,
    "name": pl.String,
    "dtype": pl.String,
    "size_in_bytes": pl.Int64,
    "size_out_bytes": pl.Int64,
    "device_id": pl.Int32,
    "step": pl.Int64,
    "own_start_ns": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "first_start_ns": pl.Int64,
    "last_start_ns": pl.Int64,
    "awaited_rank": pl.Int32,
    "least_ns": pl.Int64,
    "n_ranks": pl.Int64,
    "uncertainty_ns": pl.Int64,
}
STOPS = {"group_key": pl.String, "call": pl.Int64, "text": pl.String}
_PAIR = ("send", "recv")
_EACH_ITS_OWN = r"^_?(all_?to_?all|gather$|scatter$|send/recv)"
"""Calls in which ranks may give and receive different amounts."""
_UNTOLD = "communication kernels"
_MOST_TEXT = 60


@dataclass(frozen=True, slots=True)
class Matched:
    """The matched collectives of a trace.

    `calls`: a row a rank's call, columns as in CALLS. `group_key` tells groups apart, `group` is
    for people; `call` counts the group's calls from 0; times are on the job's clock, but for
    own_start_ns, on the rank's own. first_start_ns and last_start_ns are the first and last start
    of any rank, awaited_rank the one that began last, least_ns the least duration, n_ranks the
    number of captured ranks, group_size of all where it is known. The two ranks' starts can be
    compared to uncertainty_ns, for their clocks' sake; null where nothing tells. `stops`: a row a
    group with a call that does not pair: its index and a sentence; nothing after it is in `calls`.
    `clocks`: as from `clocks_of`. `remarks`: sentences on how calls were matched, and which were
    left out.
    """

    calls: pl.DataFrame
    stops: pl.DataFrame
    clocks: pl.DataFrame
    remarks: list[str]


def match_collectives(trace: Trace) -> Matched:
    """The calls of each process group that all its captured ranks have; empty with one rank.

    Matched by the sequence number where a group's calls all have one, else by order within the
    group; sends and receives by order within each pair of ranks; kernels that no library described
    by order among themselves. Computed once for a trace.
    """
    return trace.derived(_match)


def _match(trace: Trace) -> Matched:
    empty = pl.DataFrame(schema=CALLS)
    if len(trace.manifest.ranks) < 2 or not trace.has("kernels"):
        return Matched(empty, pl.DataFrame(schema=STOPS), pl.DataFrame(schema=CLOCKS), [])
    found, remarks = _found(trace)
    numbered, more = _numbered(found)
    paired, stops = _paired(numbered)
    clocks = clocks_of(trace, paired)
    calls = (
        with_uncertainty(_with_starts(on_job_clock(paired, clocks)), clocks)
        if paired.height
        else empty
    )
    typed = calls.select(pl.col(name).cast(dtype) for name, dtype in CALLS.items())
    return Matched(typed, stops, clocks, remarks + more)


def _found(trace: Trace) -> tuple[pl.DataFrame, list[str]]:
    """Every communication kernel with what its library told of it; sentences on those that are left out."""
    told = trace.collectives
    columns = (
        "rank",
        "kernel_id",
        "device_id",
        "step",
        "start_ns",
        "duration_ns",
        "is_communication",
        "name",
    )
    communicates = pl.col("is_communication").fill_null(value=False)
    # Few kernels communicate: all of a thousand ranks take 300 MB. The same numbers on other ranks
    # do no harm.
    is_asked = communicates | pl.col("kernel_id").is_in(told["kernel_id"].unique().implode())
    kernels = trace.select("kernels", *columns, where=is_asked)
    rows = rows_of(kernels["rank"], kernels["kernel_id"], told.select("rank", "kernel_id"))
    told = (
        told.with_columns(row=rows)
        .drop_nulls("row")
        .unique("row", keep="first", maintain_order=True)
    )
    work = kernels.select(
        "device_id",
        "step",
        "start_ns",
        own_start_ns="start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    described = pl.concat([told, work[told["row"]]], how="horizontal")
    is_told = (
        pl.repeat(0, kernels.height, dtype=pl.UInt8, eager=True)
        .scatter(told["row"], 1)
        .cast(pl.Boolean)
    )
    untold = (kernels.select(communicates).to_series() & ~is_told).arg_true()
    if not untold.len():
        return described, []
    names = kernels["name"].gather(untold).cast(pl.String)
    bare = names.str.replace(r"^void ", "").str.replace(r"[<(].*", "")
    others = pl.concat(
        [kernels.select("rank", "kernel_id")[untold], work[untold]], how="horizontal"
    ).with_columns(group=pl.lit(_UNTOLD), name=bare)
    # One kernel serves all sends and receives of a rank at a time, and these are not the same on
    # each rank.
    pairs = bare.str.contains("(?i)send_?recv")
    others, remarks = others.filter(~pairs), []
    if others.height:
        remarks.append(
            f"{others.height:,} communication kernels do not tell their collective: matched by"
            " order."
        )
    if pairs.any():
        remarks.append(
            f"{int(pairs.sum()):,} kernels that send and receive do not tell to whom, and are left"
            " out."
        )
    return pl.concat([described, others], how="diagonal"), remarks


def _numbered(found: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The calls of groups with several captured ranks, with group_key, call and how many ranks the group has."""
    is_pair = pl.col("name").is_in(_PAIR) & pl.col("peer").is_not_null()
    ends = (
        pl.when(pl.col("name") == _PAIR[0])
        .then(pl.struct(a="rank", b="peer"))
        .otherwise(pl.struct(a="peer", b="rank"))
    )
    peers = pl.format("{}>{}", ends.struct.field("a"), ends.struct.field("b"))
    texts = found.select(
        pl.coalesce("group_id", "group", pl.lit("")),
        pl.coalesce("group_ranks", pl.lit("")),
        between=pl.when(is_pair).then(peers).otherwise(pl.lit("")),
    )
    # Each distinct key is put together once: of a thousand ranks, those in a group are 5 kB.
    key, ranks, between = texts
    for more in (ranks, between):
        key = each_pair_once(
            key, more, lambda words: words.select(pl.concat_str(pl.all(), separator=" "))
        ).to_series()
    found = found.with_columns(
        # A number of its own on each rank, so that it matches nothing.
        sequence=pl.when(~is_pair).then("sequence"),
        name=pl.when(is_pair).then(pl.lit("/".join(_PAIR))).otherwise("name"),
        group_key=each_once(key, lambda words: words.str.strip_chars()),
        issued=pl.col("name"),
    )
    found = found.with_columns(n_ranks=pl.col("rank").n_unique().over("group_key").cast(pl.Int64))
    alone, found = found.filter(pl.col("n_ranks") == 1), found.filter(pl.col("n_ranks") > 1)
    remarks = (
        [f"{alone.height:,} collectives are of groups of which one rank was captured."]
        if alone.height
        else []
    )
    own = ["group_key", "rank"]
    found = found.sort("start_ns", "kernel_id", maintain_order=True).with_columns(
        is_ordered=pl.col("sequence").is_null().any().over("group_key")
    )
    found = found.with_columns(sequence=pl.when("is_ordered").then(pl.lit(0)).otherwise("sequence"))
    found = found.with_columns(place=pl.int_range(pl.len()).over(*own, "sequence"))
    numbers = (
        found.select("group_key", "sequence", "place")
        .unique()
        .sort("group_key", "sequence", "place")
    )
    numbers = numbers.with_columns(call=pl.int_range(pl.len()).over("group_key"))
    found = found.join(numbers, on=["group_key", "sequence", "place"]).sort(
        "rank", "group_key", "call"
    )
    # A rank whose profiler began later lacks the first numbers, which is no mistake of the
    # program's.
    begins = (
        found.group_by(own)
        .agg(pl.col("call").min())
        .group_by("group_key")
        .agg(begin=pl.col("call").max())
    )
    found = found.join(begins, on="group_key", maintain_order="left")
    early = found.filter(pl.col("call") < pl.col("begin"))
    if early.height:
        remarks.append(
            f"{early.height:,} collectives began before every rank of their group was captured:"
            " left out."
        )
    by_order = found.filter("is_ordered", (pl.col("group") != _UNTOLD).fill_null(value=True))
    names = by_order["group"].drop_nulls().unique().sort().to_list()
    if by_order.height:
        remarks.append(f"No sequence numbers in {_some(names) or 'a group'}: matched by order.")
    return found.filter(pl.col("call") >= pl.col("begin")), remarks


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _paired(numbered: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The calls before the first of each group that does not pair, and those firsts."""
    sizes = ["size_in_bytes", "size_out_bytes"]
    alike = ~pl.col("name").str.contains(_EACH_ITS_OWN)
    told = numbered.with_columns(
        pl.when(alike).then(pl.col(name)).alias(f"_{name}") for name in sizes
    )
    same = ["name", "dtype", *(f"_{name}" for name in sizes)]
    of_call = told.group_by(_CALL).agg(
        n=pl.col("rank").n_unique(),
        n_ranks=pl.col("n_ranks").first(),
        n_kinds=pl.struct(same).n_unique(),
    )
    bad = of_call.filter((pl.col("n") < pl.col("n_ranks")) | (pl.col("n_kinds") > 1))
    firsts = bad.group_by("group_key").agg(stop=pl.col("call").min())
    with_stops = numbered.join(firsts, on="group_key", how="left", maintain_order="left")
    good = with_stops.filter(pl.col("stop").is_null() | (pl.col("call") < pl.col("stop")))
    texts = _texts(with_stops.filter(pl.col("stop").is_not_null()))
    return good.drop("stop"), pl.DataFrame([*texts], schema=STOPS, orient="row").sort(
        "call", "group_key"
    )


def _texts(stopped: pl.DataFrame) -> Iterator[tuple[str, int, str]]:
    """For each group that stops its key, the call, and a sentence on what differs."""
    for (key,), group in stopped.group_by("group_key", maintain_order=True):
        call = int(group["stop"][0])
        rows = group.filter(pl.col("call") == call)
        missing = sorted({*group["rank"]} - {*rows["rank"]})
        label = str(group["group"][0] or key)
        words = (
            rows["issued"]
            if rows["name"].n_unique() > 1 or missing
            else rows.select(_words()).to_series()
        )
        usual = words.mode().sort()[0]
        others = rows.filter(words != usual)
        ranks = others["rank"].to_list()
        if 2 * len(missing) > rows.height + len(missing):
            text = f"{list_ranks(rows['rank'])} issued {usual} where others issued nothing"
        elif missing:
            text = f"{list_ranks(missing)} issued nothing where others issued {usual}"
        else:
            theirs = words.filter(words != usual).unique().sort()
            text = f"{list_ranks(ranks)} issued {theirs[0]} where others issued {usual}"
        yield str(key), call, f"{text}, call {call:,} of {label[:_MOST_TEXT]}"


def _words() -> pl.Expr:
    """A call in words: its name, and element type and sizes where known."""
    sizes = pl.format("of {} to {} bytes", "size_in_bytes", "size_out_bytes")
    return pl.concat_str("issued", "dtype", sizes, separator=" ", ignore_nulls=True)


def _with_starts(paired: pl.DataFrame) -> pl.DataFrame:
    """The calls with the first and last start of any rank, who began last, and the least duration."""
    late = paired.sort("start_ns", "rank", descending=[True, False]).group_by(
        _CALL, maintain_order=True
    )
    of_call = late.agg(
        first_start_ns=pl.col("start_ns").last(),
        last_start_ns=pl.col("start_ns").first(),
        awaited_rank=pl.col("rank").first(),
        least_ns=(pl.col("end_ns") - pl.col("start_ns")).min(),
    )
    return paired.join(of_call, on=_CALL, maintain_order="left")


def require_ranks(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError where the trace is of one rank."""
    if len(trace.manifest.ranks) < 2:
        raise MissingTableError(
            f"{analysis} needs several ranks, and this trace is of one; name the files of all"
            " ranks, or their folder, in one tracelens collect"
        )


def require_matched(trace: Trace, analysis: str) -> Matched:
    """The matched collectives.

    Raises MissingTableError where the trace is of one rank, or none match.
    """
    require_ranks(trace, analysis)
    found = match_collectives(trace)
    if found.calls.is_empty():
        why = (*found.stops["text"], *found.remarks, "no rank has communication kernels")[0]
        raise MissingTableError(
            f"{analysis} needs collectives that several ranks have, and none match here:"
            f" {why.rstrip('.')} (they come from tracelens collect of all ranks' files of one run)"
        )
    return found
