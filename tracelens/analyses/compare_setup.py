"""Compare two runs' machine, software and work, and say what each difference invalidates."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import polars as pl
from msgspec import Struct

from tracelens.analyses.analysis import Analysis
from tracelens.derive.comparing.comparability import shares, unrelated
from tracelens.derive.comparing.op_inputs import inputs_of_ops
from tracelens.derive.layers.compilation import shows_compilation
from tracelens.derive.layers.graph_replay import has_replays
from tracelens.errors import MissingTableError
from tracelens.schemas.results.comparing import COMPARE_SETUP
from tracelens.trace import Trace

_RAN = ("kernels", "spans", "timings", "stacks")
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

_Texts: TypeAlias = tuple[str | None, str | None]
"""The texts about base and about other; None if not recorded."""


class _Property(Struct, frozen=True):
    """Declares a property in which two runs should agree."""

    what: str
    # What cannot be compared if the runs differ in the property
    invalidates: str
    compare: Callable[[Trace, Trace], _Texts]


def _of_each(describe: Callable[[Trace], str | None]) -> Callable[[Trace, Trace], _Texts]:
    """Return a function that describes both runs."""
    return lambda base, other: (describe(base), describe(other))


def _programs(base: Trace, other: Trace) -> _Texts:
    """Return what the runs share, or for other its name if they are two programs."""
    alike = shares(base, other)
    percentages = (
        ", ".join(f"{share:.0%} of {kind} in both" for kind, share in alike.items()) or None
    )
    return percentages, base.name if unrelated(base, other) else percentages


def _versions(base: Trace, other: Trace, *, of_driver: bool) -> _Texts:
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


def _gpus(trace: Trace) -> str | None:
    return _listed(set(trace.devices["name"]) - {"unknown"})


def _ranks(trace: Trace) -> str:
    return f"{len(trace.manifest.ranks):,}"


def _compiled(trace: Trace) -> str:
    return "yes" if shows_compilation(trace) else "no"


def _graphs(trace: Trace) -> str | None:
    if not trace.has("kernels"):
        return None
    return "replayed" if has_replays(trace) else "none"


def _profilers(trace: Trace) -> str | None:
    return _listed({str(s.get("producer", s.get("kind"))) for s in trace.manifest.sources})


_PROPERTIES = (
    _Property("program", "everything: these are two programs", _programs),
    _Property(
        "gpu",
        "every time; nothing is judged without --across-devices",
        _of_each(_gpus),
    ),
    _Property(
        "driver",
        "times of launches and copies",
        partial(_versions, of_driver=True),
    ),
    _Property(
        "software",
        "times of ops and kernels, which may be the libraries' doing",
        partial(_versions, of_driver=False),
    ),
    _Property("ranks", "collectives, and each rank's share of the work", _of_each(_ranks)),
    _Property(
        "steps",
        "sums over the capture; values per step can be compared",
        _of_each(_steps),
    ),
    _Property(
        "calls",
        "totals: one run made more calls; compare values per call",
        _of_each(_calls),
    ),
    _Property(
        "shapes",
        "every time: the amount of work differs",
        partial(inputs_of_ops, column="input_shapes"),
    ),
    _Property(
        "dtypes",
        "times of kernels and copies: bytes and arithmetic differ",
        partial(inputs_of_ops, column="input_dtypes"),
    ),
    _Property(
        "compiled",
        "ops and kernels by name; steps and layers can be compared",
        _of_each(_compiled),
    ),
    _Property("graphs", "launches, and what the host does meanwhile", _of_each(_graphs)),
    _Property("profiler", "host times: profilers cost different amounts", _of_each(_profilers)),
    _Property("options", "host times: recording more costs more", _of_each(_options)),
)
"""The properties of two runs to compare."""


def compare_setup(base: Trace, other: Trace) -> pl.DataFrame:
    """Compare the runs' properties: one row per property, different ones first.

    Raises MissingTableError if one of the traces recorded nothing.
    """
    if not all(any(trace.has(name) for name in _RAN) for trace in (base, other)):
        raise MissingTableError(
            "compare_setup needs kernels, ops, timings or stacks in both traces; tracelens collect"
            " torch gives the first two"
        )
    rows = [(item.what, *item.compare(base, other), item.invalidates) for item in _PROPERTIES]
    schema = dict.fromkeys(("what", "base", "other", "invalidates"), pl.String)
    properties = pl.DataFrame(rows, schema=schema, orient="row")
    base_text, other_text = pl.col("base"), pl.col("other")
    # A comparison with None is neither true nor false.
    status = (
        pl.when(base_text == other_text)
        .then(pl.lit("same"))
        .when(base_text != other_text)
        .then(pl.lit("differs"))
        .otherwise(pl.lit("unknown"))
    )
    frame = properties.with_columns(
        status=status,
        invalidates=pl.when(base_text != other_text).then("invalidates"),
    )
    return COMPARE_SETUP.conform(frame.sort(pl.col("status") != "differs", maintain_order=True))


def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Say what each difference invalidates, and list the properties that were not recorded."""
    refused = unrelated(base, other)
    sentences = [f"{refused[0].upper()}{refused[1:]}."] if refused else []
    sentences += [
        f"The runs differ in {what}: {base_value} in base, {other_value} in new;"
        f" not to be compared: {why}."
        for what, base_value, other_value, why in (
            frame.filter(status="differs").select("what", "base", "other", "invalidates").rows()
        )
        if what != "program"
    ]
    unknown = frame.filter(status="unknown")["what"].to_list()
    if unknown:
        sentences.append(f"Not known for at least one run: {', '.join(unknown)}.")
    return sentences


ANALYSIS = Analysis(
    "Did the two runs do the same work?",
    COMPARE_SETUP,
    compare_setup,
    notes=notes,
    shown=("what", "status", "base", "other", "invalidates"),
)
