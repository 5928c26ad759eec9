"""Check whether two runs are of one program and did the same work."""

import polars as pl

from tracelens.derive.comparing.name_spelling import with_one_spelling
from tracelens.derive.comparing.significance import Rules
from tracelens.derive.layers.compilation import other_device
from tracelens.derive.layers.graph_capture import captured_for
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

_SOME, _MOST = 0.1, 0.5


def not_judged(base: Trace, other: Trace, rules: Rules) -> str | None:
    """Return why the rows of a comparison may not be judged, None if they may be judged."""
    if rules.across_devices or other_device(base, other) is None:
        return None
    return "two kinds of GPU (--across-devices judges them all the same)"


def same_steps(base: Trace, other: Trace) -> bool:
    """Return whether both runs mark the same number of steps, so that sums may be compared."""
    steps = [steps_of(trace).height for trace in (base, other)]
    return steps[0] == steps[1] > 0


def shares(base: Trace, other: Trace) -> dict[str, float]:
    """Return how much two runs have in common, as a share from 0 to 1 for each kind.

    The kinds are "kernel time", "layers" and "ops". A kind that one run did not record is left out.
    Ops are left out if both runs have kernels.
    """
    return base.derived(_shares, other)


def _shares(base: Trace, other: Trace) -> dict[str, float]:
    shares_by_kind = {}
    for kind, table, key, weight in (
        ("kernel time", "kernels", "name", "duration_ns"),
        ("layers", "layers", "module_path", None),
        ("ops", "spans", "name", "duration_ns"),
    ):
        if kind == "ops" and base.has("kernels") and other.has("kernels"):
            continue
        sides = [_weights(trace, table, key, weight) for trace in (base, other)]
        if kind == "kernel time":
            sides = [_spelled_weights(base, other, side) for side in sides]
        if all(side.height for side in sides):
            of = [
                float(
                    weights.join(other_weights, on="key", how="semi")
                    .select(pl.col("n").sum())
                    .item()
                )
                / float(weights["n"].sum())
                for weights, other_weights in (sides, sides[::-1])
            ]
            # Kernels and ops: the smaller of the two runs' shares, because all programs have some
            # kernels in both. Layers: the larger share, because a compiled run may name only
            # outermost layers.
            shares_by_kind[kind] = max(of) if kind == "layers" else min(of)
    return shares_by_kind


def _weights(
    trace: Trace,
    table: str,
    key: str,
    weight: str | None,
) -> pl.DataFrame:
    where = pl.col("kind") == "op" if table == "spans" else None
    frame = trace.select(
        table,
        key,
        *([weight] if weight else []),
        where=where,
    )
    n = pl.col(weight).sum() if weight else pl.lit(1)
    return (
        frame.group_by(pl.col(key).alias("key"))
        .agg(n=n)
        .filter(pl.col("n") > 0)
        .cast({"key": pl.String})
    )


def _spelled_weights(base: Trace, other: Trace, weights: pl.DataFrame) -> pl.DataFrame:
    spelled = with_one_spelling(base, other, weights, "key")
    total = pl.col("n").sum()
    return spelled.group_by("key").agg(total)


ANY_PROGRAM = "--force"
"""The option of `report` that compares runs of two programs."""


def unrelated(base: Trace, other: Trace) -> str | None:
    """Return why two runs cannot be compared; None if they are of one program."""
    capture = _of_capture(base, other) or _of_capture(other, base)
    if capture is not None:
        return capture
    shares_by_kind = shares(base, other)
    layers = shares_by_kind.get("layers")
    rest = shares_by_kind.get("kernel time", shares_by_kind.get("ops"))
    if not shares_by_kind:
        return _unlike_captures(base, other)
    if (layers or 0) >= _MOST or (rest or 0) >= (_SOME if layers is None else _MOST):
        return None
    percentages = " and ".join(f"{share:.0%} of {kind}" for kind, share in shares_by_kind.items())
    return (
        f"{base.name} and {other.name} are two programs: only {percentages} are in both;"
        f" compare runs of one program ({ANY_PROGRAM} compares them all the same)"
    )


def _of_capture(capture: Trace, replay: Trace) -> str | None:
    """Return why a capture of CUDA graphs cannot be compared with a run that replays graphs.

    Return None if the traces are not such a pair.
    """
    captured = captured_for(replay, capture)
    if captured is None:
        return None
    if captured.pairs(replay).is_empty():
        return (
            f"{capture.name} is a capture of CUDA graphs, but not of those that {replay.name}"
            f" replays: {', '.join(sorted(captured.refused))}"
        )
    return (
        f"{capture.name} is the capture of {replay.name}'s CUDA graphs, not a run to compare with;"
        " to have ops and layers from it, report the replay against the capture"
    )


def _unlike_captures(base: Trace, other: Trace) -> str | None:
    """Return why two captures cannot be compared: they hold different kinds of data.

    Return None if both hold a timeline, call stacks or timings.
    """
    contents = {
        "a timeline": ("kernels", "spans"),
        "call stacks": ("stacks",),
        "timings": ("timings",),
    }
    held = [
        [words for words, tables in contents.items() if any(map(trace.has, tables))]
        for trace in (base, other)
    ]
    if not all(held) or {*held[0]} & {*held[1]}:
        return None
    return (
        f"{base.name} holds {' and '.join(held[0])}, {other.name} {' and '.join(held[1])}: there is"
        " nothing to compare; name two captures of one kind"
    )
