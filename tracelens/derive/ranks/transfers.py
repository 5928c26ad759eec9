"""Compare the transfers of collectives by group and size, and find the slow groups."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ranks.collectives import match_collectives
from tracelens.trace import Trace

SAME_CALL = ["name", "dtype", "size_in_bytes", "size_out_bytes"]
"""Columns that are equal for collectives that move the same data."""
SLOW = 1.5
"""A group is slow if its transfers take this many times as long as its peers'."""
_LEAST_NS = 5_000
"""A smaller difference between two transfers may come from the device clock."""
_NETWORK = 20.0
"""A network is slow if it is this many times slower than the links within hosts.

Even a normal network often has only a tenth of the links' speed.
"""
_LARGE_BYTES = 1 << 20
"""The time of smaller transfers depends on latency, not bandwidth."""
# As nccl-tests' doc/PERFORMANCE.md defines them. Names are torch's, and those of NCCL's kernels.
_TWICE = "(?i)all_?reduce"
_ALL_BUT_OWN = "(?i)gather|scatter|to_?all"


def each_transfer(trace: Trace) -> pl.DataFrame:
    """Return one row per matched call with group_key, step, sizes, transfer_ns and skew_ns.

    - transfer_ns: least duration over the ranks, because the last rank to begin does not wait
    - skew_ns: from the first rank's start to the last rank's start
    """
    calls = match_collectives(trace).calls
    skew_ns = pl.col("last_start_ns") - pl.col("first_start_ns")
    return calls.group_by("group_key", "call").agg(
        pl.col("group", "name", "dtype", "n_ranks", "step").first(),
        pl.col("size_in_bytes", "size_out_bytes", "group_size").max(),
        transfer_ns=pl.col("least_ns").first(),
        skew_ns=skew_ns.first(),
    )


def group_transfers(trace: Trace, steps: frozenset[int] | None = None) -> pl.DataFrame:
    """Return one row per group, collective, element type and size, with times, rates and `slow`.

    Columns: group_key, ranks (a list), and COLLECTIVES_ACROSS except link_frac. If `steps` are
    given, only their calls are used.
    """
    calls = each_transfer(trace)
    if steps is not None:
        calls = calls.filter(pl.col("step").is_in([*steps]))
    ns = pl.col("transfer_ns")
    skew_ns = pl.col("skew_ns")
    n_bytes = pl.max_horizontal("size_in_bytes", "size_out_bytes")
    rated = calls.with_columns(
        algbw=pl.when(ns > 0).then(n_bytes * 1e9 / ns),
        carried=_carried_share(),
    )
    algbw = pl.col("algbw")
    busbw = algbw * pl.col("carried")
    groups = rated.group_by("group_key", *SAME_CALL).agg(
        pl.col("group").first(),
        pl.col("n_ranks", "group_size").max(),
        n_calls=pl.len(),
        transfer_mean_ns=ns.mean(),
        transfer_median_ns=ns.median(),
        transfer_total_ns=ns.sum(),
        skew_mean_ns=skew_ns.mean(),
        skew_max_ns=skew_ns.max(),
        algbw_bytes_per_s=algbw.mean(),
        busbw_bytes_per_s=busbw.mean(),
    )
    with_members = groups.join(_members(trace), on="group_key")
    return _mark_slow(_with_peers(with_members))


def _carried_share() -> pl.Expr:
    """Return the factor from a collective's algorithm bandwidth to its bus bandwidth."""
    name = pl.col("name")
    n_ranks = pl.coalesce("group_size", "n_ranks")
    share_of_others = (n_ranks - 1) / n_ranks
    of_twice = pl.when(name.str.contains(_TWICE)).then(2 * share_of_others)
    of_others = of_twice.when(name.str.contains(_ALL_BUT_OWN)).then(share_of_others)
    return of_others.otherwise(1.0)


def _members(trace: Trace) -> pl.DataFrame:
    """Return one row per group: group_key, its captured ranks, and their hosts.

    The hosts are None if the host of any of these ranks is not known.
    """
    calls = match_collectives(trace).calls.select("group_key", "rank").unique()
    ranks = calls.join(
        trace.ranks.select("rank", "node"),
        on="rank",
        how="left",
    )
    node = pl.col("node")
    return ranks.group_by("group_key").agg(
        ranks=pl.col("rank").sort(),
        hosts=pl.when(node.is_not_null().all()).then(node.unique()),
    )


def _with_peers(groups: pl.DataFrame) -> pl.DataFrame:
    """Add peers_ns, the usual time of the same transfer in groups of equal size, and slowdown.

    slowdown is the group's median time divided by peers_ns. Both are None without such groups.
    """
    # Waiting for a rank that was not given would count as transfer.
    is_whole = (pl.col("group_size") <= pl.col("n_ranks")).fill_null(value=True)
    alike = [*SAME_CALL, "n_ranks"]
    transfer_median_ns = pl.col("transfer_median_ns")
    n_hosts = pl.col("hosts").list.len()
    whole_groups = groups.filter(is_whole)
    peers = whole_groups.group_by(alike).agg(
        n_groups=pl.len(),
        peers_ns=transfer_median_ns.quantile(0.5, "lower"),
        fewest_hosts=n_hosts.min(),
    )
    both = groups.join(peers, on=alike, how="left", nulls_equal=True, maintain_order="left")
    has_peers = is_whole & (pl.col("n_groups") > 1)
    compared = both.with_columns(peers_ns=pl.when(has_peers).then("peers_ns"))
    peers_ns = pl.col("peers_ns")
    slowdown = pl.when(peers_ns > 0).then(transfer_median_ns / peers_ns)
    return compared.with_columns(slowdown=slowdown)


def _mark_slow(groups: pl.DataFrame) -> pl.DataFrame:
    """Add `slow`: the cause of slow transfers, "link" or "network", None for other groups."""
    is_slow = _is_slower_than_peers()
    n_hosts = pl.col("hosts").list.len()
    # The network is the cause if the group spans more hosts than its peers, or if slow groups have
    # neither a rank nor a host in common.
    is_network = (n_hosts > pl.col("fewest_hosts")).fill_null(value=False)
    slow = groups.filter(is_slow).unique("group_key")
    share_cause = _have_common(slow["ranks"]) or _have_common(slow["hosts"])
    if slow.height > 1 and not share_cause:
        is_network = pl.lit(value=True)
    by_network = (is_slow & is_network) | _crosses_slow_network()
    cause = pl.when(by_network).then(pl.lit("network"))
    return groups.with_columns(slow=cause.when(is_slow).then(pl.lit("link")))


def _is_slower_than_peers() -> pl.Expr:
    """Return whether a group's transfers take SLOW times as long as its peers'."""
    more_ns = pl.col("transfer_median_ns") - pl.col("peers_ns")
    is_slow = (pl.col("slowdown") >= SLOW) & (more_ns > _LEAST_NS)
    return is_slow.fill_null(value=False)


def _crosses_slow_network() -> pl.Expr:
    """Return whether a group spans hosts and has a far lower bus rate than groups in one host."""
    n_hosts = pl.col("hosts").list.len()
    n_bytes = pl.max_horizontal("size_in_bytes", "size_out_bytes")
    is_large = n_bytes >= _LARGE_BYTES
    rate = pl.col("busbw_bytes_per_s")
    rate_within_host = rate.filter(is_large & (n_hosts == 1)).median()
    is_far_slower = rate * _NETWORK < rate_within_host
    is_slow = is_large & (n_hosts > 1) & is_far_slower
    return is_slow.fill_null(value=False)


def _have_common(members: pl.Series) -> bool:
    """Return whether all lists share an element; false if there is no list, or if one is None."""
    lists = members.to_list()
    if not lists or None in lists:
        return False
    first, *others = lists
    return bool({*first}.intersection(*others))
