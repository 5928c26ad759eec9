"""Reports as text, Markdown and chart specifications: what is shown; hostile names stay text."""

import json
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from tests.cases import make_trace
from tests.html_pages import tables_of
from tests.sample_reports import (
    LONG_KERNEL,
    ROWS,
    SCRIPT,
    TOP_KERNELS,
    VERDICT,
    report,
    section,
    trace,
)
from tests.selection import only
from tracelens.analyses import ANALYSES
from tracelens.report import Report, Section, build_report
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.layers import COMPARE_LAYERS
from tracelens.schemas.results.time import IDLE_GAPS, TIME_BREAKDOWN
from tracelens.storage.table import Column, Table
from tracelens.views.charts import draw, labels
from tracelens.views.columns import informative
from tracelens.views.formats.csv import to_csv
from tracelens.views.formats.format import Screen
from tracelens.views.formats.json import to_json
from tracelens.views.formats.markdown import to_markdown
from tracelens.views.formats.report_text import to_text
from tracelens.views.page import to_html
from tracelens.views.values import label_of, printable, quantity, shorten, show


@pytest.mark.parametrize(
    ("name", "unit", "values", "heading", "cells"),
    [
        (
            "duration_total_ns",
            "ns",
            [2_500_000, 7_000, None],
            "duration total (ms)",
            ["2.500", "0.007", "-"],
        ),
        ("delay_median_ns", "ns", [-1_500.0, 250.0], "delay median (µs)", ["-1.500", "0.250"]),
        ("self_ns", "ns", [999], "self (ns)", ["999"]),
        ("window_ns", "ns", [12_345_678_900], "window (s)", ["12.346"]),
        ("size_bytes", "bytes", [19_267_584, 0], "size (MB)", ["19.268", "0.000"]),
        ("bandwidth_bytes_per_s", "bytes/s", [12.5e9], "bandwidth (GB/s)", ["12.50"]),
        ("tail_frac", "1", [0.125, 1.0, float("nan")], "tail (%)", ["12.5", "100.0", "-"]),
        ("n_calls", None, [1234567], "calls", ["1,234,567"]),
        ("stream_id", None, [1234567], "stream id", ["1234567"]),
        ("start_ns", "ns", [1_795_234_047_612_345_678], "start (ns)", ["1795234047612345678"]),
        ("start_ns", "ns", [12_345_678, 0], "start (ms)", ["12.346", "0.000"]),
        ("waves", None, [0.85, 12.0, float("inf")], "waves", ["0.85", "12.00", "inf"]),
        ("total_depth_median", "frames", [3.0, 25.0], "total depth median", ["3", "25"]),
        ("library_cudnn_ns", "ns", [1_000], "cudnn (µs)", ["1.000"]),
        ("is_communication", None, [True, False, None], "communication", ["yes", "no", "-"]),
    ],
)
def test_a_column_says_its_unit_once(
    name: str, unit: str | None, values: list[Any], heading: str, cells: list[str]
) -> None:
    frame = pl.DataFrame({name: values})
    table = Table("t", "", (Column(name, frame.schema[name], "", unit),))
    (shown,) = show(table, frame, [name])
    assert (shown.heading, shown.cells) == (heading, cells)


def test_axes_and_values_with_their_units_become_one_column() -> None:
    frame = pl.DataFrame(
        {
            "grid_x": [64],
            "grid_y": [7],
            "grid_z": [1],
            "block_x": [None],
            "block_y": [1],
            "block_z": [1],
            "value": [0.681],
            "unit": ["1"],
        }
    )
    shown = show(Table("t", "", ()), frame, frame.columns)
    assert [(column.label, column.cells) for column in shown] == [
        ("grid", ["64x7x1"]),
        ("block", ["-"]),
        ("value", ["68.1 %"]),
    ]


@pytest.mark.parametrize(("is_process", "word"), [(False, "launches"), (True, "calling ops")])
def test_causes_are_words_for_people_and_as_stored_for_programs(
    is_process: bool, word: str
) -> None:
    rows = [{"rank": 0, "cause": cause, "idle_ns": 1, "n_gaps": 1} for cause in ("launch", "sync")]
    causes = replace(section(IDLE_GAPS, rows), is_process=is_process)
    made = report(causes)
    for drawn in (to_text(made, Screen()), to_markdown(made)):
        assert word in drawn
        assert "waits for the device" in drawn
        assert "sync" not in drawn
    (table,) = tables_of(to_html(made))
    (column,) = (column for column in table["columns"] if column["name"] == "cause")
    assert (column["words"], column["stored"]) == (
        [word, "waits for the device"],
        {"0": "launch", "1": "sync"},
    )
    assert '"cause":"launch"' in to_json(made)
    assert "launch" in to_csv(made)


def test_only_causes_get_words_where_layers_stand_beside_them() -> None:
    rows = [("cause", "sync"), ("cause", "host"), ("layer", "host"), ("op", "aten::mm")]
    frame = pl.DataFrame(rows, ["kind", "what"], orient="row")
    words = Section(ANALYSES["sensitivity"], frame, []).words
    assert words["what"] == {"sync": "waits for the device"}
    assert Section(ANALYSES["sensitivity"], frame, [], is_query=True).words == {}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2500.0, "ns", "2.50 µs"),
        (3.0, "steps", "3 steps"),
        (0.276, "1", "27.6 %"),
        (None, "ns", "-"),
        (19_267_584, "bytes", "19.268 MB"),
        (1.5, None, "1.50"),
        (float("nan"), "ns", "-"),
    ],
)
def test_one_quantity(value: float | None, unit: str | None, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_long_signature_keeps_its_head_and_a_path_its_end() -> None:
    assert shorten(LONG_KERNEL, 40) == "at::native::vectorized_elemen…ar*, 3ul>)"
    assert shorten("ResNet_0.Sequential_2.Bottleneck_3.Conv2d_14", 24) == "ResNet_0.Se…_3.Conv2d_14"
    assert shorten("short", 24) == "short"


@given(st.text(max_size=60), st.integers(2, 80))
def test_text_becomes_printable_and_short(text: str, width: int) -> None:
    assert printable(text).isprintable()
    assert len(shorten(text, width)) <= width


def test_columns_without_a_word_to_say_are_left_out() -> None:
    frame = pl.DataFrame(
        {"rank": [0, 0], "n": [1, 2], "step": [None, None], "library_nccl_ns": [0, 0]}
    )
    assert informative(frame) == ["n"]
    assert informative(frame.with_columns(rank=pl.Series([0, 1]))) == ["rank", "n"]


def test_the_text_report() -> None:
    text = to_text(report(), Screen(width=100, rows=2))
    verdict, table = text.index("What about verdict?"), text.index("What about top_kernels?")
    assert verdict < table
    assert "launches  2.50 µs  the GPU waits\n* Launches bound this run.\n" in text
    assert "2 of 3 rows" in text
    assert text.endswith(
        "\nWhat this trace cannot answer\n* top_kernels: needs the table kernels, empty here\n"
    )


def test_what_has_no_answer_is_a_line_at_the_end() -> None:
    made = build_report(make_trace(timings=[{"method": "e2e"}]))
    assert [one.analysis.name for one in made.to_read()] == ["timing_methods", "data_quality"]
    lines = made.unanswered()
    named = [name for line in lines for name in line.split(":")[0].split(", ")]
    assert sorted(named) == sorted(
        one.analysis.name for one in made.sections if one.missing is not None
    )
    (line,) = [line for line in lines if "kernel_grids" in line]
    sharing, _, reason = line.partition(": ")
    assert {"layer_attribution", "kernel_grids", "top_kernels"} <= set(sharing.split(", "))
    assert reason.startswith("needs the table kernels, ")
    assert "tracelens collect torch" in line
    text, markdown, page = to_text(made, Screen(width=1000)), to_markdown(made), to_html(made)
    in_one = f"{', '.join(line.partition(':')[0] for line in lines)}: the trace lacks"
    assert text.splitlines()[-1].startswith(f"* {in_one}")
    assert "- " + in_one.replace("_", "\\_") in markdown
    assert f"<li>{line}</li>" in page
    for drawn in (text, markdown, page):
        assert "No answer" not in drawn
        assert "How well do the launched grids fill the device?" not in drawn


@pytest.mark.slow
def test_what_was_asked_for_says_that_it_has_no_answer() -> None:
    made = build_report(make_trace(), names=["kernel_grids"])
    assert made.unanswered() == []
    for drawn in (to_text(made, Screen(width=1000)), to_markdown(made), to_html(made)):
        assert "How well do the launched grids fill the device?" in drawn
        assert re.search(r"No answer: kernel\\?_grids needs the table kernels", drawn)


def test_names_cannot_reach_the_terminal_or_richs_markup() -> None:
    text = to_text(report(), Screen(width=140))
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|" in text


def test_colour_changes_no_character() -> None:
    plain, colored = (to_text(report(), Screen(width=120, color=color)) for color in (False, True))
    assert "\x1b[" in colored
    stripped = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


@given(st.integers(50, 220))
def test_tables_fit_the_terminal_and_say_what_they_leave_out(width: int) -> None:
    wide = Section(
        section(TOP_KERNELS, ROWS).analysis, pl.DataFrame(ROWS, schema=TOP_KERNELS.schema), []
    )
    text = to_text(report(wide), Screen(width=width))
    assert max(map(cell_len, text.splitlines())) <= width
    assert ("calls" in text) or ("not shown for lack of width" in text.replace("\n", " "))


def test_an_incomplete_capture_says_so_and_an_empty_result_too() -> None:
    incomplete = Report(trace(complete=False), trace(), [section(TOP_KERNELS, [])])
    text = to_text(incomplete, Screen())
    assert "run.json.gz against run.json.gz" in text
    assert "incomplete: see tracelens check" in text
    assert "Nothing in this trace." in text


def test_markdown_escapes_what_it_would_act_on() -> None:
    text = to_markdown(report(), rows=3)
    assert text.startswith(
        "# run.json.gz\n\n## What about verdict?\n\n| bound | value | evidence |\n| --- | ---: |"
        " --- |\n"
    )
    assert "| launches | 2.50 µs | the GPU waits |" in text
    assert "<img" not in text
    assert "&lt;/script&gt;&lt;img src=x onerror=alert\\(1\\)&gt;" in text
    rows = [line for line in text.splitlines() if "pipe" in line]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [
        len(re.findall(r"\|", _heading(text)))
    ]
    assert "2 of 3 rows." in to_markdown(report(), rows=2)


def _heading(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("| name"))


def rows_of(drawing: Any) -> list[dict[str, Any]]:
    """The data that a chart carries."""
    spec = json.loads(json.dumps(drawing.chart.to_dict(), allow_nan=False))
    values: list[dict[str, Any]] = spec["datasets"][spec["data"]["name"]]
    return values


def test_kernels_are_drawn_by_time_in_milliseconds() -> None:
    (drawing,) = draw(section(TOP_KERNELS, ROWS[:2]))
    assert [(row["value"], row["primitive"]) for row in rows_of(drawing)] == [
        (2.5, "elementwise"),
        (0.007, "conv"),
    ]
    assert rows_of(drawing)[1]["label"] == SCRIPT
    assert drawing.chart.to_dict()["encoding"]["x"]["title"] == "duration total (ms)"


def test_a_step_is_drawn_as_what_fills_its_window() -> None:
    step = dict.fromkeys(TIME_BREAKDOWN.names) | {
        "rank": 0,
        "device_id": 0,
        "step": 7,
        "phase": "program",
        "window_ns": 10_000_000,
        "compute_ns": 4_000_000,
        "communication_ns": 0,
        "copy_ns": 0,
        "exposed_communication_ns": 0,
        "exposed_copy_ns": 1_000_000,
        "idle_ns": 5_000_000,
        **dict.fromkeys((f"idle_{cause}_ns" for cause in CAUSES), 0),
        "idle_input_ns": 3_000_000,
        "idle_launch_ns": 2_000_000,
    }
    (drawing,) = draw(section(TIME_BREAKDOWN, [step, {**step, "step": None, "phase": None}]))
    assert [
        (row["label"], row["part"], row["value"]) for row in rows_of(drawing) if row["value"]
    ] == [
        ("step 7", "compute", 4.0),
        ("step 7", "exposed copy", 1.0),
        ("step 7", "idle: input", 3.0),
        ("step 7", "idle: launches", 2.0),
    ]


def test_kernels_that_shorten_to_the_same_text_stay_apart() -> None:
    names = [f"gemm<{'x' * 80}{i}{'y' * 80}>" for i in range(2)]
    first, second = labels(pl.DataFrame({"name": names}), ["name"])
    assert second == f"{first} #2"


def test_speedups_are_drawn_as_a_density_of_logarithms() -> None:
    rows = [
        dict.fromkeys(COMPARE_LAYERS.names)
        | {
            "rank": 0,
            "layer": layer,
            "method": "kernels",
            "match": "both",
            "speedup": speedup,
            "saved_ns": 1.0,
            "base_estimate_ns": 4.0,
            "other_estimate_ns": 4.0 / speedup,
            "outcome": "faster",
        }
        for layer, speedup in (("a", 0.5), ("b", 1.0), ("c", 4.0), ("(unattributed)", 9.0))
    ]
    drawing, *_ = draw(section(COMPARE_LAYERS, rows))
    assert [(row["group"], row["log2"]) for row in rows_of(drawing)] == [
        ("kernels", x) for x in (-1.0, 0.0, 2.0)
    ]
    curve, line = drawing.chart.to_dict()["layer"]
    assert curve["transform"][0] == {
        "density": "log2",
        "groupby": ["group"],
        "as": ["log2", "density"],
        "extent": [-1.75, 2.75],
    }
    assert curve["encoding"]["x"]["scale"]["type"] == "log"
    assert line["encoding"]["x"] == {"datum": 1}


def test_nothing_is_drawn_of_nothing_or_of_a_verdict() -> None:
    assert draw(section(TOP_KERNELS, [])) == []
    assert (
        draw(
            section(
                VERDICT, [{"rank": 0, "bound": "copy", "evidence": "", "value": None, "unit": None}]
            )
        )
        == []
    )


def test_views_show_only_columns_that_exist() -> None:
    assert {
        f"{name}.{column}"
        for name, analysis in ANALYSES.items()
        for column in analysis.shown
        if column not in analysis.result.names
    } == set()


_VALUES: dict[Any, Callable[[int], Any]] = {
    pl.String: lambda i: f"{SCRIPT}{i}",
    pl.Boolean: bool,
    pl.Float64: lambda i: [0.5, float("nan"), 1e12][i],
    pl.Int64: lambda i: [0, 7, 10**10][i],
    pl.Int32: lambda i: i,
}


@pytest.mark.parametrize("name", list(ANALYSES))
@pytest.mark.parametrize("is_null", only([True], [False, True]))
def test_every_result_can_be_drawn_and_printed(name: str, is_null: bool) -> None:
    table = ANALYSES[name].result
    rows = [
        {
            c.name: (
                None
                if is_null and c.nullable
                else c.values[i % len(c.values)]
                if c.values
                else _VALUES[c.dtype](i)
            )
            for c in table
        }
        for i in range(3)
    ]
    analysis, frame = ANALYSES[name], pl.DataFrame(rows, schema=table.schema)
    charts = analysis.charts(frame) if analysis.charts else ()
    made = Section(analysis, frame, ["note"], charts=charts)
    for drawing in draw(made):
        assert rows_of(drawing)
        assert drawing.title
    assert to_text(report(made), Screen())
    assert to_markdown(report(made))


def test_labels_have_no_units_in_them() -> None:
    assert label_of(Column("bandwidth_base_bytes_per_s", pl.Float64, "")) == "bandwidth base"
    assert label_of(Column("exposed_copy_frac", pl.Float64, "")) == "exposed copy"
