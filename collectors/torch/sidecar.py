"""Read facts of a live capture that its Chrome trace lacks.

The facts are in the file `NAME.live.json` beside `NAME.pt.trace.json`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tracelens.collectors.torch.matched_steps import events_in_steps, steps_of
from tracelens.collectors.torch.values import integer
from tracelens.derive.columns.intervals import covered_by, union
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.modules import MODULE_PREFIX
from tracelens.trace.capture import Diagnostics
from tracelens.trace.cleaning import whole_text

SUFFIX, LIGHT_SUFFIX = ".live.json", ".light.json"
"""Suffixes of two files beside a trace: its sidecar, and the trace of its light window.

The light window is a second, less detailed recording of the same program.
"""
_ENDINGS = (".gz", ".json", ".trace", ".pt")
_LAYER_SCHEMA = {
    "module_path": pl.String,
    "exact_class": pl.String,
    "n_parameters": pl.Int64,
    "hyperparameters": pl.String,
}


def sidecar_of(trace: Path) -> Path:
    """Return the path that a trace's sidecar would have."""
    return _beside(trace, SUFFIX)


def light_of(trace: Path) -> Path:
    """Return the path at which a trace's light window would be saved."""
    return _beside(trace, LIGHT_SUFFIX)


def _beside(trace: Path, suffix: str) -> Path:
    name = trace.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return trace.with_name(name + suffix)


def read_sidecar(trace: Path, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the facts in the sidecar beside a trace.

    They are empty if there is no sidecar, or if it is damaged. Damage adds a warning to
    `diagnostics`.
    """
    path = sidecar_of(trace)
    if str(trace) == "-" or not path.is_file():
        return {}
    try:
        facts = whole_text(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        diagnostics.add(
            "warning", "sidecar_damaged", f"{path.name} is damaged: exact module paths are lost"
        )
        return {}
    return facts


def exact_paths(
    spans: pl.DataFrame,
    facts: dict[str, Any],
    diagnostics: Diagnostics,
) -> pl.DataFrame:
    """Return raw spans with `exact_path`, the attribute path of module calls from the sidecar."""
    paths = facts.get("module_paths")
    known = (
        {k: v for k, v in paths.items() if isinstance(v, str)} if isinstance(paths, dict) else {}
    )
    if not known:
        return spans
    name = spans["name"]
    kind = spans["kind"]
    if facts.get("is_marked") is True:
        # Module calls that the capture itself marked were recorded as ops.
        marked = (kind == "op") & each_once(name, lambda text: text.str.starts_with(MODULE_PREFIX))
        kind = kind.cast(pl.String).set(marked, "module").cast(pl.Categorical)
    exact_path = each_once(
        name,
        lambda text: text.str.strip_prefix(MODULE_PREFIX).replace_strict(
            known, default=None, return_dtype=pl.String
        ),
    )
    is_module = pl.col("kind") == "module"
    with_paths = spans.with_columns(kind.alias("kind"), exact_path=exact_path).with_columns(
        pl.when(is_module).then("exact_path").alias("exact_path")
    )
    unnamed = with_paths.filter(is_module & pl.col("exact_path").is_null())["name"].n_unique()
    diagnostics.add(
        "info",
        "modules_unnamed",
        "modules that were gone when the trace was written; named by their calls",
        unnamed,
    )
    return with_paths


def describe_layers(layers: pl.DataFrame, facts: dict[str, Any]) -> pl.DataFrame:
    """Return layers with class, parameters and hyperparameters from the sidecar."""
    recorded = facts.get("layers")
    rows = [
        (
            path,
            str(layer.get("class_name") or "unknown"),
            integer(layer.get("n_parameters")),
            _as_json(layer),
        )
        for path, layer in (recorded.items() if isinstance(recorded, dict) else ())
        if isinstance(layer, dict)
    ]
    if not rows:
        return layers
    exact = pl.DataFrame(rows, schema=_LAYER_SCHEMA, orient="row")
    return (
        layers.drop("n_parameters", "hyperparameters", strict=False)
        .with_columns(pl.col("module_path", "class_name").cast(pl.String))
        .join(exact, on="module_path", how="left", maintain_order="left")
        .with_columns(class_name=pl.coalesce("exact_class", "class_name"))
        .select("module_path", "class_name", "call_order", "n_parameters", "hyperparameters")
    )


def _as_json(layer: dict[str, Any]) -> str | None:
    kept = layer.get("hyperparameters")
    return json.dumps(kept) if isinstance(kept, dict) and kept else None


def step_times(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest's settings on step times with and without the profiler.

    The settings are empty unless both times were measured.
    """
    recorded = {name: facts.get(name) for name in ("unprofiled_step_ns", "profiled_step_ns")}
    return recorded if all(_are_times(times) for times in recorded.values()) else {}


def _are_times(times: Any) -> bool:
    return isinstance(times, dict) and all(type(time) is int for time in times.values())


def light_step_times(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the step times for the metadata of the light window's trace.

    - `profiled_step_ns`: times of the light window's steps.
    - `deep_step_ns`: times of the first window's steps.
    """
    settings: dict[str, Any] = {LIGHT: True}
    if step_times(facts) and _are_times(facts.get("light_step_ns")):
        deep = facts["profiled_step_ns"]
        settings |= {"profiled_step_ns": facts["light_step_ns"], "deep_step_ns": deep}
    return settings


LIGHT = "light_window"
"""Name of the setting that marks a source whose steps were recorded without stacks and shapes."""


def is_sidecar(path: Path) -> bool:
    """Return whether the file is the sidecar of a trace."""
    return path.name.endswith((SUFFIX, LIGHT_SUFFIX))


_LEFT_SHARE = 0.8
"""CUPTI slows API calls even after the recording, by this share of a call's recorded duration.

This share was fitted to 20 captures on a host with an H200, and tested on eleven captures on a host
with an H100: see docs/decisions.md.
"""
SLOWEST_LAUNCH_NS = 7_830
"""The longest median duration of recorded launches on a host of usual speed.

It is 1.8 times 4,350 ns, the median on the host on which `derive.replay.costs` was fitted.
"""
_TIMES = ("start_ns", "end_ns")


def without_cupti(facts: Mapping[str, Any], raw: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return a sidecar's facts with unprofiled step times as if CUPTI had never been loaded.

    CUPTI may have stayed in the process after the recording and slowed each API call (torch 2.11,
    CUDA 13.0). A slow call makes a step longer only while the device waits for the call. So mean,
    median and min of `unprofiled_step_ns` become smaller. Its max stays as measured.
    """
    times = facts.get("unprofiled_step_ns")
    if not (isinstance(times, dict) and _are_times(times) and facts.get("is_run_slower") is True):
        return dict(facts)
    stays_ns, least_ns = _cupti_and_work_ns(raw)
    # `min` loses the whole recorded time of these calls, not only a share of it.
    left_ns = {"mean": stays_ns, "median": stays_ns, "min": stays_ns / _LEFT_SHARE}
    # A step takes at least as long as the work of its busiest device.
    shorter = {
        name: round(min(times[name], max(times[name] - left_ns[name], least_ns)))
        for name in left_ns
        if name in times
    }
    return {**facts, "unprofiled_step_ns": times | shorter}


def _cupti_and_work_ns(raw: Mapping[str, pl.DataFrame]) -> tuple[float, float]:
    """Return the ns that CUPTI adds to a step, and the ns of work of the step's busiest device."""
    needed = {"device_id", "correlation_id"}
    tables = [raw[name] for name in ("kernels", "memcpys", "memsets") if name in raw]
    tables = [table for table in tables if needed <= {*table.columns}]
    knows_calls = "correlation_id" in raw.get("api_calls", pl.DataFrame())
    if not tables or not knows_calls or "spans" not in raw:
        return 0, 0
    marks = steps_of(raw["spans"])
    api = pl.col("raw_api").cast(pl.String)
    calls = events_in_steps(raw["api_calls"], marks).filter(api.str.starts_with("cu"))
    launches = calls.filter(api.str.contains("LaunchKernel"))
    median_ns = launches["duration_ns"].median()
    if not isinstance(median_ns, float):
        return 0, 0
    # A call longer than the median launch waits or works, so it counts like the median launch. If
    # launches are slower than this limit, the host was slow only during the recording.
    launch_ns = min(median_ns, SLOWEST_LAUNCH_NS)
    # The integer types of each table are as narrow as its own values allow.
    start_ns = pl.col("start_ns").cast(pl.Int64)
    times = {"start_ns": start_ns, "end_ns": start_ns + pl.col("duration_ns")}
    device = pl.col("device_id").cast(pl.Int64)
    called = calls.select("correlation_id").unique()
    work = pl.concat(
        table.join(called, on="correlation_id").select(device, **times) for table in tables
    )
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    busy = union(work, by="device_id").group_by("device_id").agg(ns=length_ns.sum())
    busiest_ns = max(busy["ns"], default=0)
    call_times = calls.select(**times)
    beside_work_ns = covered_by(union(work.select(_TIMES)), call_times)
    idle_share = 1 - beside_work_ns / (call_times["end_ns"] - call_times["start_ns"]).clip(1)
    slowed_ns = float((calls["duration_ns"].clip(upper_bound=launch_ns) * idle_share).sum())
    return _LEFT_SHARE * slowed_ns / marks.height, busiest_ns / marks.height
