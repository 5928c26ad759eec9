"""Match collectives: find which kernels of different ranks are one call of their group.

For ranks without a device, spans of the host are matched instead.
"""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.clocks import (
    CLOCKS,
    JITTER_NS,
    MEETS,
    clocks_of,
    on_job_clock,
    with_uncertainty,
)
from tracelens.derive.ranks.host_collectives import host_calls
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
_VARIABLE_SIZE = r"^_?(all_?to_?all|gather$|scatter$|send/recv)"
"""Calls to which ranks may contribute, and from which they may receive, different amounts."""
_UNDESCRIBED = "communication kernels"
"""Description of the group of all kernels that no library described."""
_MAX_LABEL = 60
_MAX_NAMED = 3


class Matched(Struct, frozen=True):
    """The matched collectives of a trace.

    `calls` has one row per rank and call, with columns CALLS. `group_key` identifies a group,
    `group` describes it; `call` counts the group's calls from 0. Times are on the job's clock; only
    own_start_ns is on the rank's own. first_start_ns and last_start_ns are the first and last start
    of any rank, awaited_rank is the one that began last, least_ns is the least duration. n_ranks
    counts the captured ranks of the group, group_size all its ranks, if known. uncertainty_ns is
    the possible error in comparing the starts of rank and awaited_rank, None if not known. `stops`
    has one row per group with a call that does not pair: the call's index, and a sentence. No later
    call of the group is in `calls`. `clocks` is from `clocks_of`. `remarks` are sentences on how
    calls were matched, and which were left out.
    """

    calls: pl.DataFrame
    stops: pl.DataFrame
    clocks: pl.DataFrame
    remarks: list[str]


def match_collectives(trace: Trace) -> Matched:
    """Return the calls that all captured ranks of a process group have; none with one rank.

    Calls are matched by sequence number if all calls of a group have one, else by order within the
    group. Sends and receives are matched by order within each pair of ranks. Kernels that no
    library described are matched by order among themselves. The result is cached.
    """
    return trace.derived(_match)


def _match(trace: Trace) -> Matched:
    empty = pl.DataFrame(schema=CALLS)
    nothing = Matched(empty, pl.DataFrame(schema=STOPS), pl.DataFrame(schema=CLOCKS), [])
    if len(trace.manifest.ranks) < 2:
        return nothing
    on_hosts, of_hosts = trace.derived(host_calls)
    if not trace.has("kernels") and on_hosts.is_empty():
        return replace(nothing, remarks=of_hosts)
    kernels, undescribed = _communication_kernels(trace)
    grouped, alone = assign_groups(pl.concat([kernels, on_hosts], how="diagonal_relaxed"))
    numbered, by_order = assign_sequence(grouped)
    complete, early = drop_partial_prefix(numbered)
    paired, stops = _stop_at_mismatch(complete)
    paired, clocks, contradicted = _without_contradictions(trace, paired)
    found = filter(None, (alone, early, by_order))
    remarks = [*filter(None, [contradicted]), *undescribed, *of_hosts, *found]
    calls = empty
    if paired.height:
        calls = with_uncertainty(_with_starts(on_job_clock(paired, clocks)), clocks)
    typed = calls.select(pl.col(name).cast(dtype) for name, dtype in CALLS.items())
    return Matched(typed, stops, clocks, remarks)


def _without_contradictions(
    trace: Trace, paired: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, str | None]:
    """Leave out groups of host calls that contradict each other; return the clocks and a remark.

    Host calls do not name their process group. If several groups make the same calls, some are
    paired wrongly: then one rank ends a call before another rank begins it.
    """
    clocks = clocks_of(trace, paired)
    on_hosts = paired.filter(pl.col("kernel_id").is_null(), pl.col("issued").str.contains(MEETS))
    timed = on_job_clock(on_hosts, clocks).join(
        clocks.select("rank", "uncertainty_ns"), on="rank", how="left"
    )
    apart = pl.col("start_ns").max() - pl.col("end_ns").min()
    limit = JITTER_NS + 2 * pl.col("uncertainty_ns").max()
    wrong = timed.group_by(_CALL).agg(is_wrong=apart > limit).filter("is_wrong")["group_key"]
    if not wrong.len():
        return paired, clocks, None
    is_wrong = pl.col("group_key").is_in(wrong.unique().implode())
    names = paired.filter(is_wrong)["group_id"].unique().sort().to_list()
    remark = (
        f"{_list_names(names)}: one rank ended a call before another began it, so these are calls"
        " of several groups, and nothing shows which; they are left out."
    )
    kept = paired.filter(~is_wrong)
    return kept, clocks_of(trace, kept), remark


def _communication_kernels(trace: Trace) -> tuple[pl.DataFrame, list[str]]:
    """Return the communication kernels, with their collective if their library recorded it.

    Also return remarks on the kernels whose library recorded none. Sends and receives among these
    are left out.
    """
    recorded = trace.collectives
    columns = (
        *("rank", "kernel_id", "device_id", "step", "start_ns", "duration_ns"),
        *("is_communication", "name"),
    )
    communicates = pl.col("is_communication").fill_null(value=False)
    # All communication kernels of a thousand ranks take only 300 MB. Some kernels of other ranks
    # are read, too, as their ids are the same; `rows_of` leaves them out.
    is_asked = communicates | pl.col("kernel_id").is_in(recorded["kernel_id"].unique().implode())
    kernels = trace.select("kernels", *columns, where=is_asked)
    rows = rows_of(kernels["rank"], kernels["kernel_id"], recorded.select("rank", "kernel_id"))
    with_rows = recorded.with_columns(row=rows).drop_nulls("row")
    once = with_rows.unique("row", keep="first", maintain_order=True)
    work = kernels.select(
        "device_id",
        "step",
        "start_ns",
        own_start_ns="start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    described = pl.concat([once, work[once["row"]]], how="horizontal")
    no_flags = pl.repeat(False, kernels.height, dtype=pl.Boolean, eager=True)
    is_described = no_flags.scatter(once["row"], True)
    is_other = kernels.select(communicates).to_series() & ~is_described
    rest = is_other.arg_true()
    if not rest.len():
        return described, []
    ids = kernels.select("rank", "kernel_id")[rest]
    others = pl.concat([ids, work[rest]], how="horizontal")
    return _with_undescribed(described, others, kernels["name"].gather(rest))


def _with_undescribed(
    described: pl.DataFrame, others: pl.DataFrame, kernel_names: pl.Series
) -> tuple[pl.DataFrame, list[str]]:
    """Add the other communication kernels, with their function's name; also return remarks.

    One kernel serves all sends and receives that a rank has at that time. They differ between
    ranks, so these kernels are left out.
    """
    names = kernel_names.cast(pl.String).str.replace(r"^void ", "").str.replace(r"[<(].*", "")
    others = others.with_columns(group=pl.lit(_UNDESCRIBED), name=names)
    is_pair = names.str.contains("(?i)send_?recv")
    matched = others.filter(~is_pair)
    remarks = []
    if matched.height:
        remarks.append(
            f"{matched.height:,} communication kernels have no recorded collective: matched by"
            " order."
        )
    if is_pair.any():
        remarks.append(
            f"{int(is_pair.sum()):,} kernels that send and receive have no recorded peer, and are"
            " left out."
        )
    return pl.concat([described, matched], how="diagonal"), remarks


def assign_groups(kernels: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Add group_key, n_ranks and issued (the recorded name) to calls.

    Two ranks that send and receive are a group, whose calls are send/recv. If only one rank of a
    group was captured, its calls are left out; the remark counts them.
    """
    name = pl.col("name")
    kernels = _with_peers(kernels)
    is_pair = name.is_in(_PAIR) & pl.col("peer").is_not_null()
    sends = name == _PAIR[0]
    sender = pl.when(sends).then("rank").otherwise("peer")
    receiver = pl.when(sends).then("peer").otherwise("rank")
    texts = kernels.select(
        group=pl.coalesce("group_id", "group", pl.lit("")),
        members=pl.coalesce("group_ranks", pl.lit("")),
        peers=pl.when(is_pair).then(pl.format("{}>{}", sender, receiver)).otherwise(pl.lit("")),
    )
    # Each distinct key is built once, because the key of a group of a thousand ranks has 5 kB.
    of_members = each_pair_once(texts["group"], texts["members"], _joined).to_series()
    key = each_pair_once(of_members, texts["peers"], _joined).to_series()
    grouped = kernels.with_columns(
        # Each rank numbers its own sends and receives, so these numbers match nothing.
        sequence=pl.when(~is_pair).then("sequence"),
        name=pl.when(is_pair).then(pl.lit("/".join(_PAIR))).otherwise("name"),
        group_key=each_once(key, lambda words: words.str.strip_chars()),
        issued=name,
    )
    n_ranks = pl.col("rank").n_unique().over("group_key").cast(pl.Int64)
    grouped = grouped.with_columns(n_ranks=n_ranks)
    several = grouped.filter(pl.col("n_ranks") > 1)
    n_alone = grouped.height - several.height
    if not n_alone:
        return several, None
    return several, f"{n_alone:,} collectives are of groups of which one rank was captured."


def _joined(words: pl.DataFrame) -> pl.DataFrame:
    return words.select(pl.concat_str(pl.all(), separator=" "))


def _with_peers(kernels: pl.DataFrame) -> pl.DataFrame:
    """Fill in the peer of sends and receives in a group of two ranks: the other rank."""
    members = each_once(
        kernels["group_ranks"].fill_null("[]"),
        lambda words: words.str.json_decode(pl.List(pl.Int64)),
    )
    other = pl.when(members.list.len() == 2).then(members.list.sum() - pl.col("rank"))
    is_of_two = pl.col("name").is_in(_PAIR)
    return kernels.with_columns(
        peer=pl.when(is_of_two).then(pl.coalesce("peer", other.cast(pl.Int32))).otherwise("peer")
    )


def assign_sequence(grouped: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Add `call`, the index in the group, and is_ordered; sort by rank, group and call.

    The index follows the recorded sequence numbers if all calls of a group have one, else the order
    of starts on each rank. The remark names the groups that are matched by order.
    """
    lacks_numbers = pl.col("sequence").is_null().any().over("group_key")
    by_start = grouped.sort("start_ns", "kernel_id", maintain_order=True)
    marked = by_start.with_columns(is_ordered=lacks_numbers)
    numbered = marked.with_columns(
        sequence=pl.when("is_ordered").then(pl.lit(0)).otherwise("sequence")
    )
    # A rank may issue several calls with one number.
    key = ["group_key", "sequence", "place"]
    placed = numbered.with_columns(
        place=pl.int_range(pl.len()).over("group_key", "rank", "sequence")
    )
    distinct = placed.select(key).unique().sort(key)
    indices = distinct.with_columns(call=pl.int_range(pl.len()).over("group_key"))
    calls = placed.join(indices, on=key).sort("rank", "group_key", "call")
    is_described = (pl.col("group") != _UNDESCRIBED).fill_null(value=True)
    by_order = calls.filter("is_ordered", is_described)
    if not by_order.height:
        return calls, None
    names = by_order["group"].drop_nulls().unique().sort().to_list()
    return (
        calls,
        f"Collectives of {_list_names(names) or 'a group'} have no numbers, so they are matched by order.",
    )


def drop_partial_prefix(numbered: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Leave out a group's first calls if a captured rank lacks them; the remark counts them.

    A rank lacks the first calls if its profiler began later, which is no mistake of the program.
    """
    call = pl.col("call")
    firsts = numbered.group_by("group_key", "rank").agg(call.min())
    begins = firsts.group_by("group_key").agg(begin=call.max())
    calls = numbered.join(begins, on="group_key", maintain_order="left")
    complete = calls.filter(call >= pl.col("begin"))
    n_early = calls.height - complete.height
    if not n_early:
        return complete, None
    return complete, (
        f"{n_early:,} collectives began before every rank of their group was captured: left out."
    )


def _list_names(names: list[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMED])
    rest = len(names) - _MAX_NAMED
    return shown + (f" and {rest} more" if rest > 0 else "")


def _stop_at_mismatch(numbered: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return each group's calls before its first mismatch, and those first mismatches as STOPS."""
    sizes = ["size_in_bytes", "size_out_bytes"]
    has_one_size = ~pl.col("name").str.contains(_VARIABLE_SIZE)
    sized = numbered.with_columns(
        pl.when(has_one_size).then(pl.col(name)).alias(f"_{name}") for name in sizes
    )
    same = ["name", "dtype", *(f"_{name}" for name in sizes)]
    n_ranks = pl.col("n_ranks")
    call = pl.col("call")
    stop = pl.col("stop")
    of_call = sized.group_by(_CALL).agg(
        n=pl.col("rank").n_unique(),
        n_ranks=n_ranks.first(),
        n_kinds=pl.struct(same).n_unique(),
    )
    mismatched = of_call.filter((pl.col("n") < n_ranks) | (pl.col("n_kinds") > 1))
    firsts = mismatched.group_by("group_key").agg(stop=call.min())
    with_stops = numbered.join(firsts, on="group_key", how="left", maintain_order="left")
    matched = with_stops.filter(stop.is_null() | (call < stop))
    texts = _describe_stops(with_stops.filter(stop.is_not_null()))
    stops = pl.DataFrame([*texts], schema=STOPS, orient="row").sort("call", "group_key")
    return matched.drop("stop"), stops


def _describe_stops(stopped: pl.DataFrame) -> Iterator[tuple[str, int, str]]:
    """Yield each group that stops: its key, the call's index, and a sentence on the mismatch."""
    for (key,), group in stopped.group_by("group_key", maintain_order=True):
        call = int(group["stop"][0])
        rows = group.filter(pl.col("call") == call)
        missing = sorted({*group["rank"]} - {*rows["rank"]})
        label = str(group["group"][0] or key)
        words = (
            rows["issued"]
            if rows["name"].n_unique() > 1 or missing
            else rows.select(_call_in_words()).to_series()
        )
        usual = words.mode().sort()[0]
        if 2 * len(missing) > rows.height + len(missing):
            text = f"{list_ranks(rows['rank'])} issued {usual} where others issued nothing"
        elif missing:
            text = f"{list_ranks(missing)} issued nothing where others issued {usual}"
        else:
            theirs = words.filter(words != usual).unique().sort()
            ranks = list_ranks(rows.filter(words != usual)["rank"])
            text = f"{ranks} issued {theirs[0]} where others issued {usual}"
        yield str(key), call, f"{text}, call {call:,} of {label[:_MAX_LABEL]}"


def _call_in_words() -> pl.Expr:
    """Return an expression that describes a call: its name, and type and sizes if known."""
    sizes = pl.format("of {} to {} bytes", "size_in_bytes", "size_out_bytes")
    return pl.concat_str("issued", "dtype", sizes, separator=" ", ignore_nulls=True)


def _with_starts(paired: pl.DataFrame) -> pl.DataFrame:
    """Add the first and last start, the rank that began last, and the least duration."""
    late = paired.sort("start_ns", "rank", descending=[True, False]).group_by(
        _CALL, maintain_order=True
    )
    start_ns = pl.col("start_ns")
    of_call = late.agg(
        first_start_ns=start_ns.last(),
        last_start_ns=start_ns.first(),
        awaited_rank=pl.col("rank").first(),
        least_ns=(pl.col("end_ns") - start_ns).min(),
    )
    return paired.join(of_call, on=_CALL, maintain_order="left")


def require_ranks(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError if the trace has only one rank."""
    if len(trace.manifest.ranks) < 2:
        raise MissingTableError(
            f"{analysis} needs several ranks, and this trace is of one; name the files of all"
            " ranks, or their folder, in one tracelens collect"
        )


def require_matched(trace: Trace, analysis: str) -> Matched:
    """Return the matched collectives.

    Raises MissingTableError with one rank, or if no collectives match.
    """
    require_ranks(trace, analysis)
    matched = match_collectives(trace)
    if matched.calls.is_empty():
        why = (
            *matched.stops["text"],
            *matched.remarks,
            "no rank has communication kernels, or spans of gloo or MPI",
        )[0]
        raise MissingTableError(
            f"{analysis} needs collectives that several ranks have, and none match here:"
            f" {why.rstrip('.')} (they come from tracelens collect of all ranks' files of one run)"
        )
    return matched
