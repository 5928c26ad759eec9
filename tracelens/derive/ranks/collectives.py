"""Match collectives: find the kernels of different ranks that are the same call of their group.

For ranks without a device, host spans are matched instead.
"""

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.ranks.clocks import (
    CLOCKS,
    JITTER_NS,
    MEETS,
    clocks_of,
)
from tracelens.derive.ranks.collective_groups import (
    CALL,
    STOPS,
    UNDESCRIBED,
    assign_groups,
    assign_sequence,
    drop_partial_prefix,
    list_names,
    stop_at_mismatch,
)
from tracelens.derive.ranks.host_collectives import host_calls
from tracelens.derive.ranks.job_clock import on_job_clock, with_uncertainty
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

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
"""Columns of a matched call of one rank. Times are on the job's clock, except for own_start_ns.

- group_key, group: key and description of the process group
- call: index in the group, from 0
- group_size: number of the group's ranks, None if unknown
- n_ranks: number of the group's captured ranks
- own_start_ns: start on the rank's clock
- first_start_ns, last_start_ns: first and last start over the ranks
- awaited_rank: rank that began last
- least_ns: least duration over the ranks
- uncertainty_ns: possible error in comparing the starts of rank and awaited_rank
"""


class Matched(Struct, frozen=True):
    """Holds the matched collectives of a trace."""

    calls: pl.DataFrame  # one row per rank and call, up to the group's first mismatch: CALLS
    stops: pl.DataFrame  # each group's first mismatched call, with a sentence: STOPS
    clocks: pl.DataFrame  # from `clocks_of`
    remarks: list[str]  # sentences on how calls were matched, and which were left out


def match_collectives(trace: Trace) -> Matched:
    """Return the collectives that all captured ranks of their process group issued.

    Calls are matched by sequence number if all calls of a group have one, else by order. A trace of
    one rank has no matched calls.
    """
    return trace.derived(_match)


def _match(trace: Trace) -> Matched:
    empty = pl.DataFrame(schema=CALLS)
    nothing = Matched(
        empty,
        pl.DataFrame(schema=STOPS),
        pl.DataFrame(schema=CLOCKS),
        [],
    )
    if len(trace.manifest.ranks) < 2:
        return nothing
    on_hosts, of_hosts = trace.derived(host_calls)
    if not trace.has("kernels") and on_hosts.is_empty():
        return replace(nothing, remarks=of_hosts)
    kernels, undescribed = _communication_kernels(trace)
    every_call = pl.concat([kernels, on_hosts], how="diagonal_relaxed")
    grouped, alone = assign_groups(every_call)
    numbered, by_order = assign_sequence(grouped)
    complete, early = drop_partial_prefix(numbered)
    paired, stops = stop_at_mismatch(complete)
    consistent, clocks, contradicted = _without_contradictions(trace, paired)
    remarks = [contradicted, *undescribed, *of_hosts, alone, early, by_order]
    calls = empty
    if consistent.height:
        on_one_clock = on_job_clock(consistent, clocks)
        calls = with_uncertainty(_with_starts(on_one_clock), clocks)
    typed = calls.select(pl.col(name).cast(dtype) for name, dtype in CALLS.items())
    return Matched(
        typed,
        stops,
        clocks,
        [*filter(None, remarks)],
    )


def _without_contradictions(
    trace: Trace, paired: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, str | None]:
    """Return the calls that contradict no other call, the ranks' clocks, and a remark.

    A group with contradicting calls is left out. The remark names such groups. It is None if there
    are none.
    """
    clocks = clocks_of(trace, paired)
    on_hosts = paired.filter(
        pl.col("kernel_id").is_null(),
        pl.col("issued").str.contains(MEETS),
    )
    timed = on_job_clock(on_hosts, clocks).join(
        clocks.select("rank", "uncertainty_ns"),
        on="rank",
        how="left",
    )
    # Host calls do not name their group. If calls of several groups are mixed up, one rank seems to
    # end a call before another rank begins it.
    apart = pl.col("start_ns").max() - pl.col("end_ns").min()
    limit = JITTER_NS + 2 * pl.col("uncertainty_ns").max()
    wrong = timed.group_by(CALL).agg(is_wrong=apart > limit).filter("is_wrong")["group_key"]
    if not wrong.len():
        return paired, clocks, None
    is_wrong = pl.col("group_key").is_in(wrong.unique().implode())
    names = paired.filter(is_wrong)["group_id"].unique().sort().to_list()
    remark = (
        f"{list_names(names)}: one rank ended a call before another began it, so these are calls"
        " of several groups, and nothing shows which; they are left out."
    )
    kept = paired.filter(~is_wrong)
    return kept, clocks_of(trace, kept), remark


def _communication_kernels(trace: Trace) -> tuple[pl.DataFrame, list[str]]:
    """Return the communication kernels with their recorded collectives, and remarks.

    The remarks count kernels without a recorded collective. Such kernels are left out if they send
    and receive.
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
    rows = rows_of(
        kernels["rank"],
        kernels["kernel_id"],
        recorded.select("rank", "kernel_id"),
    )
    with_rows = recorded.with_columns(row=rows).drop_nulls("row")
    once = with_rows.unique("row", keep="first", maintain_order=True)
    work = kernels.select(
        "device_id",
        "step",
        "start_ns",
        own_start_ns="start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    described = pl.concat(
        [once, work[once["row"]]],
        how="horizontal",
    )
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
    described: pl.DataFrame,
    others: pl.DataFrame,
    kernel_names: pl.Series,
) -> tuple[pl.DataFrame, list[str]]:
    """Add the communication kernels without a recorded collective; also return remarks.

    Such calls have the name of the kernel's function.
    """
    names = kernel_names.cast(pl.String).str.replace(r"^void ", "").str.replace(r"[<(].*", "")
    others = others.with_columns(group=pl.lit(UNDESCRIBED), name=names)
    # A kernel that sends and receives serves several pairs of ranks at a time, so it cannot be
    # matched.
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


def _with_starts(paired: pl.DataFrame) -> pl.DataFrame:
    """Add the first and last start, the rank that began last, and the least duration."""
    late = paired.sort("start_ns", "rank", descending=[True, False]).group_by(
        CALL, maintain_order=True
    )
    start_ns = pl.col("start_ns")
    of_call = late.agg(
        first_start_ns=start_ns.last(),
        last_start_ns=start_ns.first(),
        awaited_rank=pl.col("rank").first(),
        least_ns=(pl.col("end_ns") - start_ns).min(),
    )
    return paired.join(of_call, on=CALL, maintain_order="left")


def require_ranks(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError if the trace has only one rank."""
    if len(trace.manifest.ranks) < 2:
        raise MissingTableError(
            f"{analysis} needs several ranks, and this trace is of one; name the files of all"
            " ranks, or their folder, in one tracelens collect"
        )


def require_matched(trace: Trace, analysis: str) -> Matched:
    """Return the matched collectives, at least one.

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
