"""Group the ranks' collectives, number each group's calls, and find a group's first mismatch."""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.rank_ranges import list_ranks

CALL = ["group_key", "call"]
STOPS = {"group_key": pl.String, "call": pl.Int64, "text": pl.String}
_PAIR = ("send", "recv")
_VARIABLE_SIZE = r"^_?(all_?to_?all|gather$|scatter$|send/recv)"
"""Collectives in which each rank may send or receive a different number of bytes."""
UNDESCRIBED = "communication kernels"
"""Description of the group of all kernels that no library described."""
_MAX_LABEL = 60
_MAX_NAMED = 3


def assign_groups(kernels: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Add group_key, n_ranks and issued (the recorded name) to calls; also return a remark.

    A sender and its receiver are a group with calls named send/recv. A group with only one captured
    rank is left out. The remark counts the calls of the groups left out. It is None if all stay.
    """
    calls = _with_peers(kernels)
    name = pl.col("name")
    is_pair = name.is_in(_PAIR) & pl.col("peer").is_not_null()
    pair_name = pl.lit("/".join(_PAIR))
    grouped = calls.with_columns(
        # Each rank numbers its own sends and receives, so these numbers match nothing.
        sequence=pl.when(~is_pair).then("sequence"),
        name=pl.when(is_pair).then(pair_name).otherwise(name),
        group_key=_group_keys(calls, is_pair),
        issued=name,
    )
    n_ranks = pl.col("rank").n_unique().over("group_key")
    sized = grouped.with_columns(n_ranks=n_ranks.cast(pl.Int64))
    several = sized.filter(pl.col("n_ranks") > 1)
    n_alone = sized.height - several.height
    if not n_alone:
        return several, None
    return several, f"{n_alone:,} collectives are of groups of which one rank was captured."


def _group_keys(calls: pl.DataFrame, is_pair: pl.Expr) -> pl.Series:
    """Return each call's group_key: the group's name and ranks, or a pair's sender and receiver."""
    is_send = pl.col("name") == _PAIR[0]
    sender = pl.when(is_send).then("rank").otherwise("peer")
    receiver = pl.when(is_send).then("peer").otherwise("rank")
    ends = pl.format("{}>{}", sender, receiver)
    empty = pl.lit("")
    texts = calls.select(
        group=pl.coalesce("group_id", "group", empty),
        members=pl.coalesce("group_ranks", empty),
        peers=pl.when(is_pair).then(ends).otherwise(empty),
    )
    # Each distinct key is built once, because the key of a group of a thousand ranks has 5 kB.
    of_members = each_pair_once(texts["group"], texts["members"], _joined)
    key = each_pair_once(of_members.to_series(), texts["peers"], _joined)
    return each_once(
        key.to_series(),
        lambda words: words.str.strip_chars(),
    )


def _joined(words: pl.DataFrame) -> pl.DataFrame:
    text = pl.concat_str(pl.all(), separator=" ")
    return words.select(text)


def _with_peers(kernels: pl.DataFrame) -> pl.DataFrame:
    """Fill in the missing peer of sends and receives in a group of two ranks."""
    members = each_once(
        kernels["group_ranks"].fill_null("[]"),
        lambda words: words.str.json_decode(pl.List(pl.Int64)),
    )
    has_two = members.list.len() == 2
    other_of_two = members.list.sum() - pl.col("rank")
    other = pl.when(has_two).then(other_of_two).cast(pl.Int32)
    is_of_pair = pl.col("name").is_in(_PAIR)
    peer = pl.when(is_of_pair).then(pl.coalesce("peer", other))
    return kernels.with_columns(peer=peer.otherwise("peer"))


def assign_sequence(grouped: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Add the columns `call` (index in the group) and is_ordered; also return a remark.

    A group is indexed by sequence number if all its calls have one. Any other group is indexed by
    start, and is_ordered is True. The remark names the groups indexed by start. Without such groups
    it is None. Calls are sorted by rank, group and index.
    """
    by_start = grouped.sort("start_ns", "kernel_id", maintain_order=True)
    sequence = pl.col("sequence")
    lacks_numbers = sequence.is_null().any().over("group_key")
    marked = by_start.with_columns(is_ordered=lacks_numbers)
    number = pl.when("is_ordered").then(pl.lit(0)).otherwise(sequence)
    numbered = marked.with_columns(sequence=number)
    # A rank may issue several calls with one number.
    repeat = pl.int_range(pl.len()).over("group_key", "rank", "sequence")
    placed = numbered.with_columns(repeat=repeat)
    key = ["group_key", "sequence", "repeat"]
    distinct = placed.select(key).unique().sort(key)
    index = pl.int_range(pl.len()).over("group_key")
    indices = distinct.with_columns(call=index)
    indexed = placed.join(indices, on=key)
    calls = indexed.sort("rank", "group_key", "call")
    return calls, _describe_order(calls)


def _describe_order(calls: pl.DataFrame) -> str | None:
    """Return a remark that names the groups indexed by starts; None if there are none."""
    is_described = (pl.col("group") != UNDESCRIBED).fill_null(value=True)
    by_order = calls.filter("is_ordered", is_described)
    if by_order.is_empty():
        return None
    names = by_order["group"].drop_nulls().unique().sort()
    groups = list_names(names.to_list()) or "a group"
    return f"Collectives of {groups} have no numbers, so they are matched by order."


def drop_partial_prefix(numbered: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Leave out a group's first calls if a captured rank lacks them; also return a remark.

    The remark counts the calls that are left out. It is None if no call is left out.
    """
    call = pl.col("call")
    firsts = numbered.group_by("group_key", "rank").agg(call.min())
    # A rank lacks them if its profiler began later, which is no mistake of the program.
    begins = firsts.group_by("group_key").agg(begin=call.max())
    calls = numbered.join(begins, on="group_key", maintain_order="left")
    complete = calls.filter(call >= pl.col("begin"))
    n_early = calls.height - complete.height
    if not n_early:
        return complete, None
    return complete, (
        f"{n_early:,} collectives began before every rank of their group was captured: left out."
    )


def list_names(names: list[str]) -> str:
    """Return a phrase with the first names and the number of further names."""
    shown = ", ".join(names[:_MAX_NAMED])
    rest = len(names) - _MAX_NAMED
    return shown + (f" and {rest} more" if rest > 0 else "")


def stop_at_mismatch(numbered: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return each group's calls before its first mismatch, and the first mismatches as STOPS."""
    call = pl.col("call")
    firsts = _mismatched(numbered).group_by("group_key").agg(stop=call.min())
    with_stops = numbered.join(firsts, on="group_key", how="left", maintain_order="left")
    stop = pl.col("stop")
    has_no_stop = stop.is_null()
    matched = with_stops.filter(has_no_stop | (call < stop))
    sentences = _describe_stops(with_stops.filter(~has_no_stop))
    stops = pl.DataFrame([*sentences], schema=STOPS, orient="row")
    return matched.drop("stop"), stops.sort("call", "group_key")


def _mismatched(numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that some rank did not issue, or that differ in name, type or size."""
    has_one_size = ~pl.col("name").str.contains(_VARIABLE_SIZE)
    n_bytes_in = pl.when(has_one_size).then("size_in_bytes")
    n_bytes_out = pl.when(has_one_size).then("size_out_bytes")
    kind = pl.struct("name", "dtype", n_bytes_in, n_bytes_out)
    calls = numbered.group_by(CALL).agg(
        pl.col("n_ranks").first(),
        n_issuing=pl.col("rank").n_unique(),
        n_kinds=kind.n_unique(),
    )
    is_incomplete = pl.col("n_issuing") < pl.col("n_ranks")
    return calls.filter(is_incomplete | (pl.col("n_kinds") > 1))


def _describe_stops(stopped: pl.DataFrame) -> Iterator[tuple[str, int, str]]:
    """Yield one row of STOPS per group: its key, the mismatched call's index, and a sentence."""
    for (key,), group in stopped.group_by("group_key", maintain_order=True):
        call = int(group["stop"][0])
        rows = group.filter(pl.col("call") == call)
        ranks = {*group["rank"]}
        missing = sorted(ranks - {*rows["rank"]})
        label = str(group["group"][0] or key)
        text = _describe_mismatch(rows, missing)
        yield str(key), call, f"{text}, call {call:,} of {label[:_MAX_LABEL]}"


def _describe_mismatch(rows: pl.DataFrame, missing: list[int]) -> str:
    """Return a sentence on the ranks that did not issue what most ranks issued in a call.

    `rows` has the ranks that issued a call, `missing` the ranks that issued none.
    """
    has_one_name = rows["name"].n_unique() == 1 and not missing
    description = _call_in_words() if has_one_name else pl.col("issued")
    words = rows.select(description).to_series()
    usual = words.mode().sort()[0]
    if len(missing) > rows.height:
        return f"{list_ranks(rows['rank'])} issued {usual} where others issued nothing"
    if missing:
        return f"{list_ranks(missing)} issued nothing where others issued {usual}"
    is_unusual = words != usual
    unusual = words.filter(is_unusual).unique().sort()
    ranks = list_ranks(rows.filter(is_unusual)["rank"])
    return f"{ranks} issued {unusual[0]} where others issued {usual}"


def _call_in_words() -> pl.Expr:
    """Return an expression that describes a call: its name, and type and sizes if known."""
    sizes = pl.format("of {} to {} bytes", "size_in_bytes", "size_out_bytes")
    words = ["issued", "dtype", sizes]
    return pl.concat_str(words, separator=" ", ignore_nulls=True)
