"""Check whether two runs are of one program and did the same work."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.comparing.name_spelling import with_one_spelling
from tracelens.derive.comparing.op_inputs import inputs_of_ops
from tracelens.derive.comparing.significance import Rules
from tracelens.derive.layers.compilation import other_device, shows_compilation
from tracelens.derive.layers.graph_capture import captured_for
from tracelens.derive.layers.graph_replay import has_replays
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

INVALIDATES = {
    "program": "everything: these are two programs",
    "gpu": "every time; nothing is judged without --across-devices",
    "driver": "times of launches and copies",
    "software": "times of ops and kernels, which may be the libraries' doing",
    "ranks": "collectives, and each rank's share of the work",
    "steps": "sums over the capture; values per step can be compared",
    "calls": "totals: one run made more calls; compare values per call",
    "shapes": "every time: the amount of work differs",
    "dtypes": "times of kernels and copies: bytes and arithmetic differ",
    "compiled": "ops and kernels by name; steps and layers can be compared",
    "graphs": "launches, and what the host does meanwhile",
    "profiler": "host times: profilers cost different amounts",
    "options": "host times: recording more costs more",
}
"""Properties of a run, each with the comparisons that are invalid if the property differs."""
_OPTIONS = (
    "record_shapes",
    "with_stack",
    "with_modules",
    "profile_memory",
    "with_flops",
    "light_window",
    "traced",
    "cuda_graph_trace",
)
_TOOLS = ("schemaVersion", "cupti_version", "nsys", "nsys_schema", "gdb", "py-spy")
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


def facts(base: Trace, other: Trace) -> list[tuple[str, str | None, str | None]]:
    """Return the properties in INVALIDATES of two runs: (property, value in base, value in other).

    A value is text, None if it was not recorded.
    """
    alike = shares(base, other)
    percentages = (
        ", ".join(f"{share:.0%} of {kind} in both" for kind, share in alike.items()) or None
    )
    rows = [("program", percentages, base.name if unrelated(base, other) else percentages)]
    for what, about in _ABOUT.items():
        rows.append((what, about(base), about(other)))
        if what == "gpu":
            rows += [
                ("driver", *_versions(base, other, of_driver=True)),
                ("software", *_versions(base, other, of_driver=False)),
            ]
        if what == "calls":
            rows += [
                (column, *inputs_of_ops(base, other, f"input_{column}"))
                for column in ("shapes", "dtypes")
            ]
    return rows


def _versions(base: Trace, other: Trace, *, of_driver: bool) -> tuple[str | None, str | None]:
    """Return each run's versions of the software that both captures record, as one text per run.

    With `of_driver`, only drivers are listed. Otherwise, all software but drivers is listed. Both
    texts are None if there is nothing to list.
    """
    sides = [_known_versions(trace, of_driver=of_driver) for trace in (base, other)]
    in_both = sides[0].keys() & sides[1].keys()
    base_words, other_words = (
        {
            f"{key} {value}".removeprefix("driver ")
            for key in in_both
            for value in sorted(versions[key])
        }
        for versions in sides
    )
    return _listed(base_words), _listed(other_words)


def _known_versions(trace: Trace, *, of_driver: bool) -> dict[str, set[str]]:
    versions: dict[str, set[str]] = {}
    for source in trace.manifest.sources:
        for key, value in (source.get("versions") or {}).items():
            if ("driver" in key) == of_driver and key not in _TOOLS:
                versions.setdefault(key, set()).add(str(value))
    return versions


def _steps(trace: Trace) -> str | None:
    launching = trace.select("kernels", "rank", "step").drop_nulls()
    n = launching.unique().group_by("rank").len()["len"]
    return _between(n.to_list()) if len(n) else ("none marked" if trace.has("kernels") else None)


def _calls(trace: Trace) -> str | None:
    kernels = trace.select("kernels", "rank", "step")
    inside = kernels.drop_nulls("step")
    n = (inside if inside.height else kernels).group_by("rank", "step").len()["len"]
    return (
        f"{_between(n.to_list())} kernels {'a step' if inside.height else 'in all'}"
        if len(n)
        else None
    )


def _options(trace: Trace) -> str | None:
    settings = [source.get("settings") or {} for source in trace.manifest.sources]
    return _listed(
        {f"{key}={options[key]}" for options in settings for key in _OPTIONS if options.get(key)}
    ) or (
        "none" if any(source.get("kind") == "torch" for source in trace.manifest.sources) else None
    )


def _listed(words: set[str]) -> str | None:
    return ", ".join(sorted(words)) or None


def _between(numbers: Sequence[int]) -> str:
    low = min(numbers)
    high = max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


_ABOUT = {
    "gpu": lambda trace: _listed(set(trace.devices["name"]) - {"unknown"}),
    "ranks": lambda trace: f"{len(trace.manifest.ranks):,}",
    "steps": _steps,
    "calls": _calls,
    "compiled": lambda trace: "yes" if shows_compilation(trace) else "no",
    "graphs": lambda trace: (
        ("replayed" if has_replays(trace) else "none") if trace.has("kernels") else None
    ),
    "profiler": lambda trace: _listed(
        {str(s.get("producer", s.get("kind"))) for s in trace.manifest.sources}
    ),
    "options": _options,
}
