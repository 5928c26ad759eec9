"""Make cards of verdicts; ranks with the same verdict share a card."""

from collections.abc import Collection
from typing import Any

from tracelens.derive.rank_ranges import group_ranks, list_ranks
from tracelens.derive.time.bounds import bound_words
from tracelens.report import Section

_SECTIONS = {
    "compute": "top_kernels",
    "copy": "copy_cost",
    "communication": "time_breakdown",
    "waiting": "time_breakdown",
    "straggler": "waiting",
}
"""The section with more details, for each value of the verdict's column `bound`."""
_PROCESS_SECTIONS = {"compute": "top_ops", "copy": "top_ops"}
"""Entries that replace those of `_SECTIONS` for ranks without a device."""
_CAUSES = ("input", "allocation", "sync", "loading", "launch", "host")
_MOST_CARDS = 16


def list_cards(verdict: Section, processes: Collection[int] = ()) -> list[dict[str, Any]]:
    """Return one card per distinct verdict, with the ranks that have it.

    A card has `words` on the two largest parts of the time, and the evidence. Verdicts on single
    steps have no card. `processes` are the ranks without a device, whose cards use other words.
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
    shown_by = _SECTIONS | (_PROCESS_SECTIONS if {*rows} <= {*processes} else {})
    for ranks, text in group_ranks(texts)[:_MOST_CARDS]:
        bound, words, evidence = text.split("\n", 2)
        cards.append(
            {
                "where": list_ranks(ranks) if several else "",
                "bound": bound,
                "is_known": bound != "straggler" and (bound in _SECTIONS or bound in _CAUSES),
                "words": words,
                "evidence": evidence,
                "see": f"see {shown_by.get(bound, 'idle_gaps')}",
            }
        )
    return cards


def _words(row: dict[str, Any], *, is_process: bool) -> str:
    """Return the two largest parts of a row's time with their shares, in words."""
    share = row.get(
        "bound_frac",
        row["value"] if row["unit"] == "1" else None,
    )
    parts = row["bound"], share, row.get("second"), row.get("second_frac")
    return bound_words(*parts, is_process=is_process)
