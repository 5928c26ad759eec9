"""Reports of many ranks: the job, worst ranks, quartiles; heat maps and timelines of the page."""

import re
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.html_pages import tables_of
from tests.many_ranks import many_ranks
from tests.sources import MORE
from tracelens import collect
from tracelens.analyses import rank_quartiles, worst_ranks
from tracelens.derive.rank_ranges import merge_rows
from tracelens.derive.time.model import time_model
from tracelens.derive.time.rank_steps import heat_map, ranks_to_draw
from tracelens.derive.time.timeline import same_moment
from tracelens.errors import MissingTableError
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Screen
from tracelens.views.page import to_html

PAIR = MORE / "torch" / "ddp_resnet50_2gpu"
needs_pair = pytest.mark.skipif(not PAIR.is_dir(), reason="needs the project's shared captures")
COMPUTE_NS = (20, 40, 80)


def job() -> Trace:
    """Three ranks with a step of 100 ns: a kernel of 20, 40 or 80 ns, an all-reduce until 90 ns."""
    kernels: list[dict[str, Any]] = []
    for rank, ns in enumerate(COMPUTE_NS):
        kernels.append({"rank": rank, "kernel_id": 0, "name": "gemm", "duration_ns": ns, "step": 0})
        reduce = {
            "rank": rank,
            "kernel_id": 1,
            "name": "ncclDevKernel",
            "start_ns": ns,
            "duration_ns": 90 - ns,
            "step": 0,
        }
        kernels.append(reduce | {"is_communication": True, "stream_id": 9})
    return make_trace(
        steps=[{"rank": rank, "step": 0, "duration_ns": 100} for rank in range(3)],
        kernels=kernels,
        collectives=[
            {"rank": rank, "kernel_id": 1, "name": "allreduce", "group": "all"} for rank in range(3)
        ],
    )


def test_the_rank_that_the_others_lose_most_by_is_the_worst() -> None:
    columns = (
        "rank",
        "delays_ns",
        "own_ns",
        "compute_ns",
        "waiting_ns",
        "idle_ns",
        "cause",
        "step_ns",
    )
    assert worst_ranks(job()).select(columns).rows() == [
        (2, 100, 100, 80, 0, 10, "compute", 100),
        (1, 0, 60, 40, 40, 10, None, 100),
        (0, 0, 40, 20, 60, 10, None, 100),
    ]
    assert ranks_to_draw(time_model(job())) == [0, 2, 1]


def test_quartiles_are_of_each_part_of_a_step() -> None:
    assert rank_quartiles(job()).rows() == [
        ("step", 100, 100, 100, 100, 100, 0),
        ("compute", 20, 30, 40, 60, 80, 2),
        ("communication", 10, 10, 10, 10, 10, 0),
        ("waiting", 0, 20, 40, 50, 60, 0),
        ("unknown", 10, 10, 10, 10, 10, 0),
    ]
    for analysis in (rank_quartiles, worst_ranks):
        with pytest.raises(MissingTableError, match="several ranks"):
            analysis(make_trace(kernels=[{}]))


def test_cells_that_are_too_many_have_the_largest_value_of_any() -> None:
    whole, small = heat_map(time_model(job())), heat_map(time_model(job()), most_rows=2)
    assert whole is not None
    assert small is not None
    assert (whole.ranks, whole.steps, whole.cells["waiting_ns"].to_list()) == (
        ["0", "1", "2"],
        ["0"],
        [60, 40, 0],
    )
    assert small.ranks == ["0 to 1", "2"]
    assert small.cells.select(
        "row", "column", "waiting_ns", "compute_ns", "idle_ns", "cause"
    ).rows() == [
        (0, 0, 60, 40, 10, "unknown"),
        (1, 0, 0, 80, 10, "unknown"),
    ]
    awaited = heat_map(time_model(job()), most_rows=1)
    assert awaited is not None
    assert awaited.ranks == ["0 to 1", "2"]
    assert heat_map(time_model(make_trace(kernels=[{}]))) is None


def test_what_was_lost_on_many_ranks_is_a_row() -> None:
    rows = [
        {"rank": rank, "severity": "loss", "code": "torn", "text": "torn lines", "count": 2}
        for rank in range(6)
    ]
    merged = merge_rows(make_trace(diagnostics=rows).frame("diagnostics"))
    assert merged.select("rank", "code", "count").rows() == [("ranks 0 to 5", "torn", 12)]
    few = make_trace(diagnostics=rows[:4]).frame("diagnostics")
    assert merge_rows(few).equals(few)


def test_a_moment_is_the_same_on_clocks_that_differ() -> None:
    # Rank 1 is 1,000 ns ahead at the job's 0, and gains 100 ns in each microsecond (10^5 ppm).
    rows = [
        {"rank": 0, "offset_ns": 0, "drift_ppm": 0.0, "origin_ns": 0},
        {"rank": 1, "offset_ns": 1_000, "drift_ppm": 1e5, "origin_ns": 0},
    ]
    clocks = pl.DataFrame(rows)
    assert same_moment(clocks, 0, 10_000, [0, 1]) == {0: 10_000, 1: 12_000}
    assert same_moment(clocks, 1, 12_000, [0, 1]) == {0: 10_000, 1: 12_000}


@pytest.mark.slow
@needs_pair
def test_a_report_on_many_ranks_is_short() -> None:
    tables = (
        "devices",
        "api_calls",
        "kernels",
        "collectives",
        "steps",
    )  # spans would take most of the time
    report = build_report(many_ranks(collect(PAIR), 10, slow=7, tables=tables))
    text = str(FORMATS["text"].write(report, Screen(rows=12))).splitlines()
    assert "rank 7 is the straggler" in text[0]
    assert len(text) <= 65
    assert text.index("What limits the job?  job") < next(
        i for i, line in enumerate(text) if "worst_ranks" in line
    )
    markdown = str(FORMATS["markdown"].write(report, Screen())).splitlines()
    assert "rank 7 is the straggler" in markdown[0]
    assert len(markdown) <= 70
    page = to_html(report)
    # Items of contents and of a bar's legend are no sentences; what has no answer stands last.
    answered = page.partition('<section id="unanswered"')[0]
    sentences = re.findall(r"<li>(?!<a href|<svg)|<p>(?=[^<]*\(see)", answered)
    assert 5 < len(sentences) <= 38
    (heat,) = [table for table in tables_of(page) if table.get("kind") == "heat"]
    assert (len(heat["ranks"]), heat["steps"]) == (10, ["0", "1", "2"])
    timelines = [table for table in tables_of(page) if table.get("kind") == "timeline"]
    assert "rank 7 is waited for" in timelines[0]["note"]
    assert {lane.split(":")[0] for lane in timelines[0]["columns"]["lane"]["words"]} == {
        "rank 0",
        "rank 7",
        "rank 5",
    }
