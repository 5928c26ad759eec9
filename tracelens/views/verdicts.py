"""Make cards of verdicts; ranks with the same verdict share one."""

from collections.abc import Collection
from typing import Any

from tracelens.derive.rank_ranges import group_ranks, list_ranks
from tracelens.derive.time.bounds import bound_words
from tracelens.report import Section

_SHOWN_BY = {
    "compute": "top_kernels",
    "copy": "copy_cost",
    "communication": "time_breakdown",
    "waiting": "time_breakdown",
    "straggler": "waiting",
}
_OF_PROCESSES = {"compute": "top_ops", "copy": "top_ops"}
"""Sections that show a bound for ranks without a device, if they differ from the usual ones."""
_CAUSES = ("input", "allocation", "sync", "loading", "launch", "host")
_MOST_CARDS = 16


def list_cards(verdict: Section, processes: Collection[int] = ()) -> list[dict[str, Any]]:
    """Make one card for each pair of parts and its evidence, with the ranks that share it.

    `words` gives the largest part of the time and the next one, with their shares. Rows of single
    steps are left to the table. `processes` are the ranks that use no device.
    """
    frame = verdict.frame
    if "step" in frame.columns and frame["step"].null_count():
        frame = frame.filter(frame["step"].is_null())
    several = frame.height > 1
    rows = {row["rank"]: row for row in frame.iter_rows(named=True)}
    texts = []
    for rank, row in rows.items():
        evidence = "; ".join(
            filter(
                None,
                (row["evidence"], row.get("caveat")),
            )
        )
        words = _words(row, is_process=rank in processes)
        texts.append((rank, f"{row['bound']}\n{words}\n{evidence}"))
    cards = []
    shown_by = _SHOWN_BY | (_OF_PROCESSES if {*rows} <= {*processes} else {})
    for ranks, text in group_ranks(texts)[:_MOST_CARDS]:
        bound, words, evidence = text.split("\n", 2)
        cards.append(
            {
                "where": list_ranks(ranks) if several else "",
                "bound": bound,
                "is_known": bound != "straggler" and (bound in _SHOWN_BY or bound in _CAUSES),
                "words": words,
                "evidence": evidence,
                "see": f"see {shown_by.get(bound, 'idle_gaps')}",
            }
        )
    return cards


def _words(row: dict[str, Any], *, is_process: bool) -> str:
    """Write the two largest parts of a row with their shares.

    A row of `job` has its bound's share in `value`.
    """
    share = row.get(
        "bound_frac",
        row["value"] if row["unit"] == "1" else None,
    )
    parts = row["bound"], share, row.get("second"), row.get("second_frac")
    return bound_words(*parts, is_process=is_process)
