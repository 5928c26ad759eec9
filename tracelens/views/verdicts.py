"""The verdicts on ranks, those of which the same can be said together."""

from typing import Any

from tracelens.derive.rank_ranges import group_ranks, list_ranks
from tracelens.report import Section
from tracelens.views.values import quantity

_SHOWN_BY = {
    "compute": "top_kernels",
    "copy": "copy_cost",
    "communication": "time_breakdown",
    "waiting": "time_breakdown",
    "straggler": "waiting",
}
_CAUSES = ("input", "allocation", "sync", "loading", "launch", "host")
_MOST_CARDS = 16


def list_cards(verdict: Section) -> list[dict[str, Any]]:
    """A card for each bound and its evidence, with the ranks of which that is said; steps are left to the table."""
    frame = verdict.frame
    if "step" in frame.columns and frame["step"].null_count():
        frame = frame.filter(frame["step"].is_null())
    several = frame.height > 1
    rows = {row["rank"]: row for row in frame.iter_rows(named=True)}
    texts = (
        (rank, f"{row['bound']}\n{_value(row)}\n{row['evidence']}") for rank, row in rows.items()
    )
    found = []
    for ranks, text in group_ranks(texts)[:_MOST_CARDS]:
        bound, value, evidence = text.split("\n", 2)
        found.append(
            {
                "where": list_ranks(ranks) if several else "",
                "bound": bound,
                "is_known": bound != "straggler" and (bound in _SHOWN_BY or bound in _CAUSES),
                "value": value,
                "evidence": evidence,
                "see": f"see {_SHOWN_BY.get(bound, 'idle_gaps')}",
            }
        )
    return found


def _value(row: dict[str, Any]) -> str:
    return "" if row["value"] is None else quantity(row["value"], row["unit"])
