"""Describe a host that does other work for a part of the time, and itself waits for another."""

from msgspec import Struct

from tracelens.answers.words import place_text
from tracelens.derive.time.idle_advice import has_both, split_waits
from tracelens.derive.time.time_parts import RankTime, TimeModel

_WORKS, _WAITS = "does other work", "waits itself"


class WorkAndWaits(Struct, frozen=True):
    """The words on such a host, the shares of its two parts, and where the smaller one lies."""

    words: str
    shares: str
    smaller_part: str


def work_and_waits(model: TimeModel, rank: RankTime, percent: int) -> WorkAndWaits | None:
    """Describe the host's two parts, the larger one first; None if one of them is small.

    `percent` is what both together have of the time, so that the two numbers sum to it.
    """
    places = model.idle.filter(rank=rank.rank, cause="host").drop_nulls("what")
    rows = [(str(what), int(ns)) for what, ns in places.select("what", "idle_ns").iter_rows()]
    if not has_both(rows):
        return None
    parts = dict(zip((_WORKS, _WAITS), split_waits(rows), strict=True))
    times = {words: sum(ns for _, ns in part) for words, part in parts.items()}
    larger, smaller = sorted(times, key=lambda words: -times[words])
    n_smaller = round(percent * times[smaller] / sum(times.values()))
    where, _ = max(parts[smaller], key=lambda place: place[1])
    subject = "The program" if rank.is_process else "The GPU waits while the program"
    return WorkAndWaits(
        f"{subject} {larger} or {smaller}",
        f"{percent - n_smaller} % and {n_smaller} %",
        f"it {smaller}: {place_text(where)}",
    )
