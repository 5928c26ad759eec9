"""Measure the depth of the path from a framework call to the device."""

import polars as pl

from tracelens.analyses.analysis import TOP, Analysis, Bars, Chart, Parallel, SplitBars, named
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.events.launch_sites import depths
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import DISPATCH_DEPTH
from tracelens.trace import Trace

_KEY = ["rank", "op", "layer", "phase"]
_SPAN_COLUMNS = ["rank", "span_id", "parent_id", "kind", "name", "start_ns", "module_path", "phase"]


def dispatch_depth(trace: Trace) -> pl.DataFrame:
    """Count calls by launch site, and stack frames by role.

    Column `source` tells the two kinds of rows apart:

    - span: one row per rank, outermost op, layer and phase that started GPU work
    - stack: for each symbol and implementation of native stacks, one row for all frames, and one
      row for the frames of each role

    Raises MissingTableError if the trace has neither API calls nor stacks.
    """
    launches = _launches(trace)
    if not launches.height and not trace.has("stacks"):
        raise MissingTableError(
            "dispatch_depth needs the table api_calls or stacks, both empty here; tracelens collect"
            " torch, nsys or gdb gives one"
        )
    frame = pl.concat(
        [
            DISPATCH_DEPTH.conform(_span_rows(trace, launches)),
            DISPATCH_DEPTH.conform(_stack_rows(trace)),
        ]
    )
    order = {
        "source": False,
        "rank": False,
        "n_launches": True,
        "op": False,
        "layer": False,
        "phase": False,
    }
    order |= {"total_depth_max": True, "role": False}
    return frame.sort(*order, descending=list(order.values()))


def _launches(trace: Trace) -> pl.DataFrame:
    """Return the calls that started work: rank, site and op.

    In traces without stored sites, the site is the span around the call.
    """
    if trace.has("sites"):
        key, times = ["rank", "site_id", "op_span_id"], ["op_offset_ns", "duration_ns"]
        times_of = {"host_ns": pl.col("op_offset_ns") + pl.col("duration_ns")}
    else:
        key, times = ["rank", "span_id"], ["start_ns", "duration_ns"]
        times_of = {"returned": END}
    return trace.select(
        "api_calls",
        *key,
        *times,
        where=pl.col("kind").is_in(LAUNCHES),
    ).select(*key, **times_of)


def _span_rows(trace: Trace, launches: pl.DataFrame) -> pl.DataFrame:
    if not launches.height:
        return DISPATCH_DEPTH.empty()
    sites = (
        _stored_sites(trace, launches)
        if "site_id" in launches.columns
        else _sites_from_spans(trace, launches)
    )
    sites = sites.with_columns(total_depth=pl.col("op_depth") + pl.col("python_depth"))
    depth_names = ("op_depth", "python_depth", "total_depth")
    measures = [
        pl.lit("span").alias("source"),
        pl.len().cast(pl.Int64).alias("n_launches"),
        *(pl.col(name).median().alias(f"{name}_median") for name in depth_names),
        *(pl.col(name).max().alias(f"{name}_max") for name in depth_names),
        pl.col("host_ns").median().alias("host_median_ns"),
    ]
    frame = sites.lazy().group_by(_KEY).agg(measures)
    # If an op makes several launches, only the host time of its last launch counts.
    calls = sites.lazy().drop_nulls("op_id").group_by(*_KEY, "op_id").agg(pl.col("host_ns").max())
    host = calls.group_by(_KEY).agg(host_total_ns=pl.col("host_ns").sum())
    return frame.join(host, on=_KEY, how="left", nulls_equal=True).collect()


def _stored_sites(trace: Trace, launches: pl.DataFrame) -> pl.DataFrame:
    """Return each launch with its site, for a trace that stores sites."""
    sites = trace.select(
        "sites", "rank", "site_id", "op", "module_path", "phase", "op_depth", "python_depth"
    )
    site_rows = rows_of(sites["rank"], sites["site_id"], launches.select("rank", "site_id"))
    depths_at = (
        sites[column].gather(site_rows).fill_null(0) for column in ("op_depth", "python_depth")
    )
    return launches.select("rank", "host_ns", op_id="op_span_id").with_columns(
        *depths_at,
        op=sites["op"].gather(site_rows),
        layer=sites["module_path"].gather(site_rows),
        phase=sites["phase"].gather(site_rows),
    )


def _sites_from_spans(trace: Trace, launches: pl.DataFrame) -> pl.DataFrame:
    """Return each launch with its outermost op, layer, phase and depths.

    `host_ns` is the time from the start of the outermost op until the launching call returned.
    """
    sites = []
    for tree, part in with_trees(trace.select("spans", *_SPAN_COLUMNS), launches):
        span_rows = part["span_id"]
        path = depths(tree, span_rows)
        site = part.select(
            "rank",
            op_id=path["op_row"],
            op=tree["name"].gather(path["op_row"]),
            layer=tree["module_path"].gather(span_rows),
            phase=tree["phase"].gather(span_rows),
            host_ns=pl.col("returned") - tree["start_ns"].gather(path["op_row"]),
            op_depth=path["op_depth"],
            python_depth=path["python_depth"],
        )
        sites.append(site)
    return pl.concat(sites)


def _stack_rows(trace: Trace) -> pl.DataFrame:
    """Return the rows of native stacks: numbers of frames, in total and by role."""
    if not trace.has("stacks"):
        return DISPATCH_DEPTH.empty()
    key = ["rank", "op", "layer"]
    stacks = trace.stacks.select("rank", "stack_id", "depth", op="symbol", layer="implementation")
    depth = pl.col("depth")
    measures = [
        pl.len().alias("n_launches"),
        depth.median().alias("total_depth_median"),
    ]
    measures += [
        depth.max().alias("total_depth_max"),
        pl.lit("stack").alias("source"),
    ]
    of_role = trace.frames.group_by("rank", "stack_id", "role").agg(depth=pl.len())
    by_role = (
        of_role.join(stacks.drop("depth"), on=["rank", "stack_id"])
        .group_by(*key, "role")
        .agg(measures)
    )
    return pl.concat(
        map(
            DISPATCH_DEPTH.conform,
            (stacks.group_by(key).agg(measures), by_role),
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the mean depth of launches on each rank, and name levels that were not recorded."""
    sentences = []
    spans = frame.filter(pl.col("source") == "span")
    for (rank,), part in spans.group_by("rank", maintain_order=True):
        weight = pl.col("n_launches") / pl.col("n_launches").sum()
        ops, python = part.select(
            (pl.col("op_depth_median", "python_depth_median") * weight).sum()
        ).row(0)
        sentences.append(
            f"Rank {rank}: a launch is made inside {ops:.1f} ops and {python:.1f} Python calls on"
            f" average ({part['n_launches'].sum():,} launches and copies)."
        )
    stacks = frame.filter((pl.col("source") == "stack") & pl.col("role").is_null())
    sentences += [
        f"Rank {row['rank']}: {row['op']} stands {row['total_depth_median']:g} frames deep in"
        f" {row['layer']} "
        + (
            "(one stack)."
            if row["n_launches"] == 1
            else f"(median of {row['n_launches']:,} stacks)."
        )
        for row in stacks.iter_rows(named=True)
    ]
    lacking = []
    if spans.height and not spans["python_depth_max"].max():
        lacking.append("Python calls (profile with with_stack=True)")
    if not trace.has("stacks"):
        lacking.append("native frames between op and driver (tracelens collect gdb adds them)")
    if lacking:
        sentences.append(f"Not recorded, so not counted: {' and '.join(lacking)}.")
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    spans = frame.filter(pl.col("source") == "span").sort("n_launches", descending=True).head(TOP)
    stacks = frame.filter((pl.col("source") == "stack") & pl.col("role").is_not_null())
    stacks = stacks.with_columns(pl.col("role").replace(ROLE_WORDS))
    parts = {"op_depth_median": "ops", "python_depth_median": "Python and module calls"}
    title = "Median depth above a launch, call sites with the most launches"
    return [
        SplitBars(
            title,
            spans,
            named(spans, "op", "layer", "phase"),
            parts,
            in_order=True,
        ),
        Bars(
            "Frames by role",
            stacks,
            ["layer", "op", "role"],
            "total_depth_median",
            "role",
        ),
    ]


ANALYSIS = Analysis(
    "How deep is the path from a framework call to the device?",
    DISPATCH_DEPTH,
    dispatch_depth,
    notes=notes,
    shown=(
        "rank",
        "op",
        "layer",
        "phase",
        "role",
        "n_launches",
        "total_depth_median",
        "op_depth_median",
        "python_depth_median",
        "host_median_ns",
        "host_total_ns",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
