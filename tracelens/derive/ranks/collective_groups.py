"""Group the collectives of ranks, number the calls of each group, and stop where ranks differ."""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.rank_ranges import list_ranks

CALL = ["group_key", "call"]
STOPS = {"group_key": pl.String, "call": pl.Int64, "text": pl.String}
_PAIR = ("send", "recv")
_VARIABLE_SIZE = r"^_?(all_?to_?all|gather$|scatter$|send/recv)"
"""Calls to which ranks may contribute, and from which they may receive, different amounts."""
UNDESCRIBED = "communication kernels"
"""Description of the group of all kernels that no library described."""
_MAX_LABEL = 60
_MAX_NAMED = 3


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
    is_described = (pl.col("group") != UNDESCRIBED).fill_null(value=True)
    by_order = calls.filter("is_ordered", is_described)
    if not by_order.height:
        return calls, None
    names = by_order["group"].drop_nulls().unique().sort().to_list()
    return (
        calls,
        f"Collectives of {list_names(names) or 'a group'} have no numbers, so they are matched by order.",
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


def list_names(names: list[str]) -> str:
    """List the first names, and the number of the others."""
    shown = ", ".join(names[:_MAX_NAMED])
    rest = len(names) - _MAX_NAMED
    return shown + (f" and {rest} more" if rest > 0 else "")


def stop_at_mismatch(numbered: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
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
    of_call = sized.group_by(CALL).agg(
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
