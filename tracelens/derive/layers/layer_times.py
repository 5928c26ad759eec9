"""Read times of layers, from kernels by step or from the table `timings`, and join two runs."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from tracelens.derive.columns.side_by_side import side_by_side
from tracelens.derive.layers.attribution import attribute_kernels
from tracelens.derive.time.program_phases import in_program
from tracelens.schemas.device import PRIMITIVES
from tracelens.trace import Trace

Sides: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
REGION = "(compiled region)"
DEVICES = {"interpreted": "cpu", "cpp": "cpu", "cuda": "gpu", "triton": "gpu"}
EAGER = ("interpreted", "cuda")
VARIANT = ("method", "synchronized", "profiled", "clock", "quantity")
"""The columns that identify a way of measuring."""
_BOUNDS = ("low_ns", "estimate_ns", "high_ns")
_SIDE = ("low_ns", "estimate_ns", "high_ns", "evidence")
_KEY = ("rank", "layer", "phase")


def kernel_times(trace: Trace) -> pl.DataFrame:
    """Return the GPU time per step of each layer and phase.

    - rank, layer, class_name, phase, evidence
    - n: kernels per step
    - low_ns, estimate_ns, high_ns, primitive_*_ns: per step

    Kernels outside of steps are left out. If no step is marked, the whole trace is one step.
    """
    launching = trace.select("kernels", "rank", "step")
    steps = launching.filter(in_program(trace)).unique()
    n_marked = pl.col("step").drop_nulls().len()
    n_steps = steps.group_by("rank").agg(n_steps=n_marked.clip(1))
    per_step = [*_BOUNDS, *(f"primitive_{word}_ns" for word in PRIMITIVES)]
    times = attribute_kernels(trace, in_steps=True).join(n_steps, on="rank")
    kernels_per_step = pl.col("n_kernels") / pl.col("n_steps")
    n = kernels_per_step.round().cast(pl.Int64).alias("n")
    return times.select(
        "rank",
        "layer",
        "class_name",
        "phase",
        "evidence",
        n,
        pl.col(per_step) / pl.col("n_steps"),
    )


def both_kernel_times(base: Trace, other: Trace) -> Sides | None:
    """Return the `kernel_times` of each trace, or None if a trace has no kernels."""
    if not base.has("kernels") or not other.has("kernels"):
        return None
    with ThreadPoolExecutor(2) as pool:
        base_times, other_times = pool.map(kernel_times, (base, other))
    return base_times, other_times


def measured_times(trace: Trace) -> pl.DataFrame:
    """Return medians and quartiles of each layer's measured times, warm-up left out.

    - rank, layer, configuration, compile_mode, VARIANT, class_name, n
    - low_ns, estimate_ns, high_ns: lower quartile, median, upper quartile
    """
    ns = pl.col("duration_ns")
    classes = trace.layers.select("rank", "class_name", layer="module_path").unique(
        ["rank", "layer"]
    )
    return (
        trace.timings.filter(
            ~pl.col("is_warmup"),
            pl.col("module_path").is_not_null(),
        )
        .rename({"module_path": "layer"})
        .filter(pl.col("layer") != REGION)
        .group_by("rank", "configuration", "compile_mode", *VARIANT, "layer", maintain_order=True)
        .agg(
            n=pl.len().cast(pl.Int64),
            low_ns=ns.quantile(0.25, "linear"),
            estimate_ns=ns.median(),
            high_ns=ns.quantile(0.75, "linear"),
        )
        .join(
            classes,
            on=["rank", "layer"],
            how="left",
            maintain_order="left",
        )
    )


def region_cost(trace: Trace, configuration: str | None) -> float | None:
    """Return the median time in ns to call a compiled region; None if it was never measured.

    If a configuration is given, only its times are used.
    """
    is_measured = ~pl.col("is_warmup")
    is_region = pl.col("module_path") == REGION
    rows = trace.timings.filter(is_measured, is_region)
    if configuration is not None:
        rows = rows.filter(pl.col("configuration") == configuration)
    median = rows["duration_ns"].median()
    return max(float(median), 0.0) if isinstance(median, (int, float)) else None  # below 0 is noise


def are_numbered(layers: pl.DataFrame) -> bool:
    """Return whether the layers' paths number modules by class, such as ResNet_0.Conv2d_3.

    Paths in traces have this form. Other paths consist of the names of attributes.
    """
    named = layers.drop_nulls("class_name")
    if named.is_empty():
        return False
    last_name = named["layer"].cast(pl.String).str.extract(r"([^.]+?)_\d+$")
    is_class = last_name == named["class_name"].cast(pl.String)
    return bool(is_class.fill_null(False).all())


class Way(NamedTuple):
    """Holds a way of timing: a configuration, its compile mode, and the values of VARIANT."""

    configuration: str
    compile_mode: str | None
    variant: tuple[Any, ...]


def layer_pairs(base: Trace, other: Trace, kernels: Sides | None) -> pl.DataFrame:
    """Return the times of both traces, one row per layer, phase and kind of time.

    One kind is kernel times (`kernels`). The other kinds are measured times, one kind per pair from
    `measured_ways`. All columns are columns of COMPARE_LAYERS. Without times, the frame has no
    columns.
    """
    parts = []
    if kernels is not None:
        parts.append(_joined(*kernels).with_columns(method=pl.lit("kernels")))
    sides = measured_times(base), measured_times(other)
    for way, other_way in measured_ways(*sides):
        parts.append(
            _joined(
                _of(sides[0], way),
                _of(sides[1], other_way),
            ).with_columns(
                method=pl.lit(way.variant[0]),
                base_configuration=pl.lit(way.configuration),
                other_configuration=pl.lit(other_way.configuration),
                compile_mode=pl.lit(other_way.compile_mode, pl.String),
            )
        )
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def measured_ways(base: pl.DataFrame, other: pl.DataFrame) -> list[tuple[Way, Way]]:
    """Return the pairs of ways of timing to compare, from two frames of `measured_times`.

    Eager times of base are paired with compiled times of other, on the same device if possible.
    """
    return _measured_pairs(_ways(base), _ways(other))


def executions(trace: Trace, way: Way) -> pl.DataFrame:
    """Return every execution of a layer that was timed in this way, warm-up left out.

    Columns are rank, layer, phase, run (the round) and value (ns).
    """
    is_measured = ~pl.col("is_warmup")
    has_path = pl.col("module_path").is_not_null()
    rows = trace.timings.filter(is_measured, has_path)
    named = rows.rename({"module_path": "layer", "duration_ns": "value"})
    rows = _of(named, way)
    value = pl.col("value").cast(pl.Float64)
    return rows.select(
        *_KEY,
        run=pl.col("round").cast(pl.Int64),
        value=value,
    )


def _joined(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Put two runs' times side by side; `match` says which runs have the row."""
    columns = [*_KEY, "class_name", *_SIDE, "n"]
    both = side_by_side(base.select(columns), other.select(columns), _KEY)
    class_name = pl.coalesce("base_class_name", "other_class_name")
    return both.rename({"base_n": "n_base", "other_n": "n_other"}).with_columns(
        class_name=class_name
    )


def _ways(measured: pl.DataFrame) -> list[Way]:
    rows = measured.select("configuration", "compile_mode", *VARIANT).unique(maintain_order=True)
    return [
        Way(configuration, mode, tuple(variant))
        for configuration, mode, *variant in rows.iter_rows()
    ]


def _of(measured: pl.DataFrame, way: Way) -> pl.DataFrame:
    """Return the layers that were timed in this way, with phase (forward) and evidence."""
    method, synchronized, profiled, _, quantity = way.variant
    wanted = (way.configuration, way.compile_mode, *way.variant)
    details = [
        f"measured: {method}" + (f" ({quantity})" if quantity else ""),
        "synchronised" if synchronized else "",
        "profiled" if profiled and method != "profiler" else "",
    ]
    return measured.filter(
        pl.col(name).eq_missing(pl.lit(value))
        for name, value in zip(
            ("configuration", "compile_mode", *VARIANT),
            wanted,
            strict=True,
        )
    ).with_columns(
        phase=pl.lit("forward"),
        evidence=pl.lit(", ".join(word for word in details if word)),
    )


def _measured_pairs(base: list[Way], other: list[Way]) -> list[tuple[Way, Way]]:
    """Pair ways of timing in `base` and `other` that give comparable times.

    Return only one of several pairs that agree in method, configurations and compile modes. Times
    without a profiler are preferred, then synchronised times.
    """
    eager = [way for way in base if way.configuration in EAGER] or base
    compiled = [way for way in other if way.configuration not in EAGER] or other
    pairs = [
        (eager_way, compiled_way)
        for eager_way, compiled_way in product(eager, compiled)
        if _comparable(eager_way, compiled_way)
    ]
    near = [
        (eager_way, compiled_way)
        for eager_way, compiled_way in pairs
        if _device(eager_way) in {_device(compiled_way), None} or _device(compiled_way) is None
    ]
    best: dict[tuple[Any, ...], tuple[Way, Way]] = {}
    # Prefer unprofiled to profiled, then synchronised to not synchronised.
    for eager_way, compiled_way in sorted(
        near or pairs,
        key=lambda pair: (
            pair[0].variant[2],
            not pair[0].variant[1],
        ),
    ):
        best.setdefault(
            (
                *eager_way[:2],
                *compiled_way[:2],
                eager_way.variant[0],
            ),
            (eager_way, compiled_way),
        )
    return list(best.values())


def _comparable(base: Way, other: Way) -> bool:
    """Return whether two ways of timing give times that can be compared."""
    if base.variant[0] != "profiler":
        return base.variant == other.variant
    # Times by the profiler have to be the self time on the device of their configuration.
    self_time = [
        (
            way.variant[4],
            "CUDA_self" if _device(way) == "gpu" else "CPU_self",
        )
        for way in (base, other)
    ]
    return base.variant[:4] == other.variant[:4] and all(
        quantity == wanted for quantity, wanted in self_time
    )


def _device(way: Way) -> str | None:
    return DEVICES.get(way.configuration)
