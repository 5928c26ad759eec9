"""List the columns that lead from a row of one table to a row of another."""

from typing import NamedTuple

from tracelens.schemas import ROW_IDS, SPAN_POINTERS, TABLES

RULE = (
    "Ids are unique within a rank: join on rank and the id. Without rank, each row is joined"
    " with rows of every other rank, and sums are too large without any warning."
)
_KEYS = ROW_IDS | {"devices": "device_id", "steps": "step"}
"""The column that identifies a row within a rank, by table."""


class Join(NamedTuple):
    """A column that holds the key of a row of another table of the same rank."""

    column: str
    table: str
    key: str


def key_of(table: str) -> list[str]:
    """Return the columns that identify a row of the table, empty if rows have no key."""
    return ["rank", _KEYS[table]] if table in _KEYS else []


def joins_of(table: str) -> list[Join]:
    """Return the joins from a table to other tables.

    To use a join, also match the column `rank` of both tables.
    """
    tables = {key: name for name, key in _KEYS.items()}
    joins = []
    for name in TABLES[table].names:
        target = "spans" if name in SPAN_POINTERS else tables.get(name)
        if target is not None and (target != table or name in SPAN_POINTERS):
            joins.append(Join(name, target, _KEYS[target]))
    return joins
