"""Exports of call stacks: folded lines and speedscope's profiles add up; speedscope opens them."""

import base64
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.sample_reports import ESCAPES, SCRIPT
from tests.sources import torch_trace
from tracelens.errors import MissingTableError
from tracelens.exports import EXPORTS
from tracelens.exports.export import Selection
from tracelens.schemas import TABLES
from tracelens.trace import Trace

CHROMIUM = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))),
    None,
)
SPEEDSCOPE = Path(os.environ.get("SPEEDSCOPE", "node_modules/speedscope")) / "dist" / "release"
needs_speedscope = pytest.mark.skipif(
    not SPEEDSCOPE.is_dir(),
    reason="needs the npm package speedscope, in node_modules or where SPEEDSCOPE says",
)


def written(trace: Trace, name: str, **chosen: Any) -> str:
    stream = io.BytesIO()
    EXPORTS[name].write(Selection.of(trace, **chosen), stream)
    return stream.getvalue().decode()


def small() -> Trace:
    """A module and its op, which launches two kernels of one name.

    One more kernel is of another step, one of no call.
    """
    return make_trace(
        spans=[
            {"span_id": 0, "name": "Net", "start_ns": 0, "duration_ns": 100, "step": 1},
            {
                "span_id": 1,
                "name": "a;b",
                "parent_id": 0,
                "depth": 1,
                "start_ns": 10,
                "duration_ns": 20,
                "step": 1,
            },
        ],
        steps=[{"step": step, "start_ns": 200 * (step - 1), "duration_ns": 200} for step in (1, 2)],
        kernels=[
            {"name": "k", "span_id": 1, "start_ns": 50, "duration_ns": 7, "step": 1},
            {"name": "k", "span_id": 1, "start_ns": 60, "duration_ns": 5, "step": 1},
            {"name": SCRIPT, "span_id": 0, "start_ns": 210, "duration_ns": 4, "step": 2},
            {"name": ESCAPES, "start_ns": 220, "duration_ns": 0, "link": "pre_window"},
        ],
    )


def test_folded_has_a_line_a_stack() -> None:
    assert written(small(), "folded").splitlines() == [
        "rank 0;Net;a:b;k 12",
        f"rank 0;Net;{SCRIPT} 4",
        (
            r"rank 0;(launched before the trace"
            r" began);\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe| 0"
        ),
    ]
    assert written(small(), "folded", steps=[2]) == f"rank 0;Net;{SCRIPT} 4\n"


def on_the_host() -> Trace:
    """Net from 0 to 100 with an op from 10 to 30, in it a call of 5; one more call outside."""
    return make_trace(
        spans=[
            {"name": "Net", "duration_ns": 100, "self_ns": 80},
            {"name": "op", "parent_id": 0, "depth": 1, "start_ns": 10, "duration_ns": 20}
            | {"self_ns": 20},
        ],
        api_calls=[
            {"api": "cudaLaunchKernel", "span_id": 1, "start_ns": 12, "duration_ns": 5},
            {"api": "cudaDeviceSynchronize", "start_ns": 200, "duration_ns": 7},
        ],
    )


def test_the_hosts_own_time_by_stack() -> None:
    expected = [
        "rank 0;thread 0;Net 80",
        "rank 0;thread 0;Net;op 15",
        "rank 0;thread 0;Net;op;cudaLaunchKernel 5",
        "rank 0;thread 0;cudaDeviceSynchronize 7",
    ]
    assert written(on_the_host(), "folded_host").splitlines() == expected
    assert written(on_the_host(), "folded").splitlines() == expected  # no kernel was recorded
    document = json.loads(written(on_the_host(), "speedscope"))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    own = document["profiles"][0]
    assert own["name"] == "rank 0: own time of the host by stack"
    assert [";".join(names[frame] for frame in sample) for sample in own["samples"]] == [
        line.removeprefix("rank 0;").rpartition(" ")[0] for line in expected
    ]
    assert (own["weights"], own["endValue"]) == ([80, 15, 5, 7], 107)


def several_parts() -> Trace:
    """Two threads, spans that last longer than those after them, one beside its thread's others.

    Calls lie in spans that began many rows before, and one call within another.
    """
    spans = [(1, 0, 100, None), (1, 5, 90, 0), (2, 6, 50, None), (1, 10, 20, 1), (1, 40, 30, 1)]
    spans += [(2, 41, 10, 2), (1, 50, 70, None), (2, 90, 5, None)]
    calls = [
        (1, 7, 1, 1),
        (2, 12, 30, 2),
        (2, 14, 10, 2),
        (2, 40, 30, 2),
        (1, 55, 5, 4),
        (3, 99, 1, None),
    ]
    return make_trace(
        spans=[
            {"name": f"s{k % 3}", "thread_id": thread, "start_ns": start, "duration_ns": ns}
            | {"self_ns": ns, "parent_id": parent}
            | {"depth": {None: 0, 0: 1, 2: 1, 1: 2}[parent]}
            for k, (thread, start, ns, parent) in enumerate(spans)
        ],
        api_calls=[
            {"api": "launch", "thread_id": thread, "start_ns": start, "duration_ns": ns}
            | {"span_id": span}
            for thread, start, ns, span in calls
        ],
        kernels=[
            {"name": f"k{k % 2}", "span_id": span, "start_ns": 200 - 9 * k, "duration_ns": k + 1}
            for k, span in enumerate((1, 4, 4, 2, None, 7))
        ],
    )


@pytest.mark.parametrize("name", ["folded", "folded_host", "speedscope"])
def test_read_in_parts_it_is_the_same_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = written(several_parts(), name)
    chunks = Trace.chunks

    def by_two(*given: Any, **more: Any) -> Iterator[pl.DataFrame]:
        return (part for chunk in chunks(*given, **more) for part in chunk.iter_slices(2))

    monkeypatch.setattr(Trace, "chunks", by_two)
    monkeypatch.setattr("tracelens.derive.events.span_trees._ROWS_AT_ONCE", 2)
    for module in ("export", "speedscope", "threads"):
        monkeypatch.setattr(f"tracelens.exports.{module}.ROWS_AT_ONCE", 2)
    assert written(several_parts(), name) == at_once


def test_self_time_of_calls_that_lie_in_each_other_or_overlap() -> None:
    """On thread 2, calls of 12 to 42, 14 to 24 (within it), and 40 to 70, of which 28 are new."""
    lines = written(several_parts(), "folded_host").splitlines()
    assert "rank 0;thread 2;s2;launch 58" in lines
    assert not [line for line in lines if line.startswith("rank 0;thread 2;s2 ")]


@pytest.mark.parametrize("name", ["folded", "folded_host"])
def test_spans_may_be_stored_in_any_order(name: str) -> None:
    trace = several_parts()
    spans = trace.spans.reverse().lazy()
    turned = Trace(
        trace.manifest, {table: trace.scan(table) for table in TABLES} | {"spans": spans}
    )
    assert sorted(written(turned, name).splitlines()) == sorted(written(trace, name).splitlines())


def test_a_span_beside_others_of_its_thread_has_a_lane() -> None:
    """On thread 1, the span of 50 to 120 overlaps that of 0 to 100 without lying in it."""
    profiles = json.loads(written(several_parts(), "speedscope"))["profiles"]
    lanes = {one["name"]: one for one in profiles if one["type"] == "evented"}
    events = lanes["rank 0: process 0 thread 1, lane 2"]["events"]
    assert [(one["type"], one["at"]) for one in events] == [("O", 50), ("C", 120)]


def test_stops_of_a_debugger_by_stack() -> None:
    frames = [
        {"stack_id": stack, "level": level, "function": function}
        for stack, functions in enumerate(
            (["conv", "run", "main"], ["conv", "run", "main"], ["add"])
        )
        for level, function in enumerate(functions)
    ]
    trace = make_trace(frames=frames, stacks=[{"stack_id": stack} for stack in range(3)])
    assert written(trace, "folded").splitlines() == ["rank 0;main;run;conv 2", "rank 0;add 1"]
    (profile,) = json.loads(written(trace, "speedscope"))["profiles"]
    assert (profile["name"], profile["unit"], profile["weights"]) == (
        "rank 0: stops by stack",
        "none",
        [1, 1, 1],
    )


@pytest.mark.parametrize(
    "name", ["resnet50_eager", "resnet50_train_f32_pinned", "ddp_resnet50_2gpu/rank1"]
)
def test_weights_sum_to_the_kernels_total(name: str) -> None:
    trace = torch_trace(name)
    total = trace.kernels["duration_ns"].sum()
    assert (
        sum(int(line.rpartition(" ")[2]) for line in written(trace, "folded").splitlines()) == total
    )
    profiles = json.loads(written(trace, "speedscope"))["profiles"]
    sampled = [one for one in profiles if "kernels" in one["name"]]
    assert (
        sum(sum(one["weights"]) for one in sampled)
        == total
        == sum(one["endValue"] for one in sampled)
    )
    assert sum(len(one["events"]) for one in profiles if one["type"] == "evented") == 2 * (
        trace.height("spans") + trace.height("api_calls")
    )


def test_speedscope_has_kernels_by_stack_and_threads_by_time() -> None:
    document = json.loads(written(small(), "speedscope"))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    kernels, thread = document["profiles"]
    assert [[names[frame] for frame in sample] for sample in kernels["samples"]][:3] == [
        ["Net", "a;b", "k"],
        ["Net", "a;b", "k"],
        ["Net", SCRIPT],
    ]
    assert kernels["weights"] == [7, 5, 4, 0]
    assert [(one["type"], names[one["frame"]], one["at"]) for one in thread["events"]] == [
        ("O", "Net", 0),
        ("O", "a;b", 10),
        ("C", "a;b", 30),
        ("C", "Net", 100),
    ]


@pytest.mark.parametrize("name", ["folded", "speedscope"])
def test_without_kernels_a_line_says_what_would_give_them(name: str) -> None:
    with pytest.raises(MissingTableError, match=f"export --to {name} needs the table kernels"):
        written(make_trace(), name)


@needs_speedscope
def test_speedscope_takes_it(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    text = written(torch_trace("resnet50_train_f32_pinned"), "speedscope")
    jsonschema.validate(
        json.loads(text), json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
    )
    if CHROMIUM is None:
        pytest.skip("needs chromium on PATH")
    # As speedscope's own command does: the page loads a script that holds the file.
    script = tmp_path / "profile.js"
    data = base64.b64encode(text.encode()).decode()
    script.write_text(f"speedscope.loadFileFromBase64('x.speedscope.json', '{data}')")
    page = f"file://{SPEEDSCOPE.resolve()}/index.html#localProfilePath={script}"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--use-gl=swiftshader"]
    command += ["--enable-unsafe-swiftshader", "--virtual-time-budget=8000", "--dump-dom", page]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.search("rank 0: kernels by stack", shown)
    assert "Something went wrong" not in shown
