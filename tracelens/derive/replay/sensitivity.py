"""What a step would gain from each op, layer and cause taking less time."""

from __future__ import annotations

import polars as pl

from tracelens.derive.replay.edges import COLLECTIVE, COPY, KERNEL
from tracelens.derive.replay.graph import Flags
from tracelens.derive.replay.predict import savings
from tracelens.derive.replay.replay import Replay
from tracelens.derive.replay.subject import Subject
from tracelens.derive.replay.unprofiled import UnprofiledStep
from tracelens.trace import Trace

SHARE = 0.1
"""How much less each thing takes in turn, as a share."""
_MOST = 12
"""How many ops, and how many layers, are tried: those with most time."""


def sensitivity_of(trace: Trace, replay: Replay, step: UnprofiledStep | None) -> pl.DataFrame:
    """List the ops, layers and causes with most time: total_ns, and saved_ns for a tenth less."""
    subject = Subject(trace, replay)
    groups = [
        *_largest(subject, "op", subject.labels.ops),
        *_largest(subject, "layer", _outer(subject.labels.layers)),
        *_causes(subject),
    ]
    gains = savings(trace, replay, step, [chosen for *_, chosen in groups], SHARE)
    rows = [
        (replay.window.rank, subject_kind, name, total, saved)
        for (subject_kind, name, _), (total, saved) in zip(groups, gains, strict=True)
    ]
    schema = {
        "rank": pl.Int32,
        "kind": pl.String,
        "what": pl.String,
        "total_ns": pl.Int64,
        "saved_ns": pl.Int64,
    }
    return pl.DataFrame(rows, schema, orient="row")


def _outer(layers: list[str | None]) -> list[str | None]:
    """Cut module paths after the third part."""
    return [None if path is None else ".".join(path.split(".")[:3]) for path in layers]


def _largest(subject: Subject, kind: str, names: list[str | None]) -> list[tuple[str, str, Flags]]:
    """Return the names with most time, each with its edges."""
    frame = pl.DataFrame(
        {"name": pl.Series(names, dtype=pl.String), "ns": subject.replay.table.graph.weights}
    )
    sums = frame.drop_nulls().group_by("name").agg(pl.col("ns").sum())
    largest = sums.sort("ns", "name", descending=[True, False]).head(_MOST)["name"].to_list()
    texts = frame["name"]
    return [(kind, name, (texts == name).fill_null(value=False).to_numpy()) for name in largest]


def _causes(subject: Subject) -> list[tuple[str, str, Flags]]:
    """List what the host does, and what the device does, each with its edges."""
    table = subject.replay.table
    causes = sorted({cause for cause in subject.labels.causes if cause})
    subjects = [("cause", cause, subject.of_cause(cause)) for cause in causes]
    for kind, word in ((KERNEL, "kernels"), (COPY, "copies"), (COLLECTIVE, "collectives")):
        chosen = table.kinds == kind
        if chosen.any():
            subjects.append(("cause", word, chosen))
    return subjects
