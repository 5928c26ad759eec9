"""One trace of two windows: times of the light one, shapes and Python calls of the deep one."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.torch_files import call, codes, kernel, read, rows, span, write
from tracelens.collectors.torch import trace_files
from tracelens.collectors.torch.sampled_lines import RecordedLines
from tracelens.derive.replay.costs import SETTING, costs_by_kind, kind_of_profile
from tracelens.derive.replay.window_costs import keep_window_costs
from tracelens.errors import SourceError
from tracelens.trace.combine import combine

Events = list[dict[str, Any]]


def mark(step: int, ts: float, dur: float) -> dict[str, Any]:
    return span(f"ProfilerStep#{step}", ts, dur, cat="user_annotation")


def shaped(name: str, ts: float, dur: float, shape: list[int]) -> dict[str, Any]:
    return span(name, ts, dur, args={"Input Dims": [shape]})


def python(name: str, ts: float, dur: float) -> dict[str, Any]:
    return span(name, ts, dur, cat="python_function")


DEEP = [
    mark(3, 1000, 1000),
    python("train.py(3): step", 1100, 800),
    shaped("aten::mm", 1200, 200, [4, 4]),
    python("train.py(9): helper", 1450, 100),
    shaped("aten::relu", 1600, 100, [4]),
]
LIGHT = [mark(9, 5000, 300), span("aten::mm", 5050, 40), span("aten::relu", 5190, 10)]
TIMES = {"n": 3, "mean": 300_000, "median": 300_000, "min": 300_000, "max": 300_000}
BESIDE = {
    "unprofiled_step_ns": TIMES,
    "profiled_step_ns": TIMES | {"mean": 1_000_000},
    "light_step_ns": TIMES | {"mean": 310_000},
}


def windows(folder: Path, deep: Events, light: Events, **beside: Any) -> Path:
    (folder / "run.live.json").write_text(json.dumps(BESIDE | beside))
    write(folder / "run.light.json", light)
    return write(folder / "run.pt.trace.json", deep)


def test_python_calls_move_with_the_ops_around_them(tmp_path: Path) -> None:
    samples = {"names": [["train.py", "helper", True]], "samples": [[1_500_000, [[0, 10]]]]}
    capture = read(windows(tmp_path, DEEP, LIGHT, lines=samples))
    found = {row[0]: row[1:] for row in rows(capture, "spans", "name", "start_ns", "duration_ns")}
    assert found == {
        "ProfilerStep#9": (5_000_000, 300_000),
        # Half of the way from the mark to mm, and two thirds of that from relu to the mark's end.
        "train.py(3): step": (5_025_000, 241_667),
        "aten::mm": (5_050_000, 40_000),
        "train.py(9): helper": (5_115_000, 50_000),
        "aten::relu": (5_190_000, 10_000),
    }
    shapes = dict(rows(capture, "spans", "name", "input_shapes"))
    assert (shapes["aten::mm"], shapes["aten::relu"]) == ("[[4, 4]]", "[[4]]")
    assert capture.settings["profiled_step_ns"]["mean"] == 310_000
    assert capture.settings["deep_step_ns"]["mean"] == 1_000_000
    assert "two_windows" in codes(capture)
    capture.settings["with_stack"] = 1
    assert kind_of_profile(combine([capture]), 0) == "plain"


def test_lines_of_calls_move_with_the_python_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is that of `step`: it moves as `step` itself does."""
    lines = {
        "names": [["train.py", "<module>", True]],
        "samples": [],
        "calls": [[1_100_000, 1_900_000, 0, 12], ["damaged", 3, 0, 12], [2**70, 2**71, 0, 12], 7],
    }
    moved: list[Any] = []
    monkeypatch.setattr(RecordedLines, "of", lambda facts: moved.append(facts["lines"]["calls"]))
    read(windows(tmp_path, DEEP, LIGHT, lines=lines))
    assert moved == [[[5_025_000, 5_266_667, 0, 12]]]


@pytest.mark.parametrize("stacks", [True, False])
def test_two_windows_tell_the_costs_of_both(tmp_path: Path, stacks: bool) -> None:
    """Light steps of 300 µs take 280 without the profiler, deep ones 1,000.

    Of the 20 µs, each op and call of a step costs as the table says, in proportion. Of the other
    700, two Python calls cost 350 each; without stacks, ten ops cost 70 each.
    """
    light: Events = []
    deep: Events = []
    for n in range(3):
        light.append(mark(n, 5000 + 300 * n, 300))
        deep.append(mark(n, 1000 + 1000 * n, 1000))
        for at in range(10):
            light.append(span("aten::mm", 5010 + 300 * n + 28 * at, 20))
            deep.append(span("aten::mm", 1010 + 1000 * n + 80 * at, 40))
        if stacks:
            deep += [python("train.py(1): a", 1005 + 1000 * n, 900)]
            deep += [python("train.py(2): b", 1900 + 1000 * n, 50)]
    plain = TIMES | {"median": 280_000}
    deep_times = TIMES | {"mean": 1_000_000, "median": 1_000_000}
    beside = {"unprofiled_step_ns": plain, "profiled_step_ns": deep_times, "light_step_ns": TIMES}
    capture = read(windows(tmp_path, deep, light, **beside))
    capture.settings["with_stack"] = int(stacks)
    trace = combine([capture])
    keep_window_costs(trace)
    kept = costs_by_kind(trace.manifest.sources[0]["settings"][SETTING])
    assert kept["plain"].op_ns == pytest.approx(2_000, rel=0.01)
    if stacks:
        assert replace(kept["stacks"], python_ns=0) == kept["plain"]
        assert kept["stacks"].python_ns == pytest.approx(350_000)
    else:
        assert kept["shapes"].op_ns - kept["plain"].op_ns == pytest.approx(70_000)


def test_steps_are_matched_by_their_kernels(tmp_path: Path) -> None:
    def steps(base: float, *kernels: str) -> Events:
        found: Events = []
        for n, name in enumerate(kernels):
            ts = base + 100 * n
            found += [
                mark(n, ts, 100),
                shaped("aten::mm", ts + 10, 20, [ord(name)]),
                call("cudaLaunchKernel", ts + 15, 5, n + 1),
                kernel(name, ts + 40, 5, n + 1),
            ]
        return found

    deep = [*steps(1000, "a", "b"), python("train.py(1): main", 1000, 200)]
    light = steps(5000, "b", "a")
    for event in light:
        if event["name"] == "aten::mm":
            del event["args"]
    capture = read(windows(tmp_path, deep, light))
    ops = [row for row in rows(capture, "spans", "name", "input_shapes") if row[0] == "aten::mm"]
    assert ops == [("aten::mm", f"[[{ord('b')}]]"), ("aten::mm", f"[[{ord('a')}]]")]
    # The deep steps do not follow each other here, so that what lies over both is cut between them.
    calls = rows(capture, "spans", "name", "start_ns", "duration_ns")
    assert sorted(row[1:] for row in calls if row[0] == "train.py(1): main") == [
        (5_000_000, 100_000),
        (5_100_000, 100_000),
    ]


def received(ts: float, n_batches: int, *, thread: int = 1) -> Events:
    """Return a loader's call of 20 us that takes batches of its workers, by two ops for each."""
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    ops = [
        span(op, ts + 2 * n, 1, tid=thread) for n in range(n_batches) for op in ("aten::set_",) * 2
    ]
    return [span(name, ts, 20, cat="user_annotation"), *ops]


@pytest.mark.parametrize(("thread", "is_same"), [(1, True), (2, False)])
def test_batches_that_workers_sent_are_no_work_of_a_step(
    tmp_path: Path, thread: int, is_same: bool
) -> None:
    """A step takes four batches where the first one came last, and three further steps none.

    Another thread's ops are no part of the loader's call.
    """
    light = [*LIGHT, *received(5010, 4, thread=thread)]
    capture = read(windows(tmp_path, [*DEEP, *received(1110, 1)], light))
    assert ("two_windows" in codes(capture)) is is_same
    assert ("windows_differ" in codes(capture)) is not is_same


@pytest.mark.parametrize(
    "light",
    [[mark(9, 5000, 300), span("aten::exp", 5050, 40)], [span("aten::mm", 5050, 40)]],
    ids=["other work", "no step"],
)
def test_of_windows_that_differ_the_deep_one_is_kept(tmp_path: Path, light: Events) -> None:
    capture = read(windows(tmp_path, DEEP, light))
    assert ("aten::mm", 1_200_000) in rows(capture, "spans", "name", "start_ns")
    assert "windows_differ" in codes(capture)
    assert "light_window" not in capture.settings
    assert capture.settings["profiled_step_ns"]["mean"] == 1_000_000


def test_a_damaged_light_window_costs_only_its_times(tmp_path: Path) -> None:
    file = windows(tmp_path, DEEP, LIGHT)
    beside = tmp_path / "run.light.json"
    beside.write_text(beside.read_text()[:-20])
    assert "windows_differ" in codes(read(file))
    beside.write_text("[]")
    assert "windows_differ" in codes(read(file))


def test_the_light_window_is_no_trace_of_its_own(tmp_path: Path) -> None:
    file = windows(tmp_path, DEEP, LIGHT)
    assert trace_files(tmp_path) == [file]
    with pytest.raises(SourceError, match=r"give run\.pt\.trace\.json"):
        read(tmp_path / "run.light.json")


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
def test_a_program_is_recorded_in_two_windows(tmp_path: Path) -> None:
    from tests.test_live_torch import LIGHT_TRAIN, manifest_settings, run, steps  # noqa: PLC0415

    code = LIGHT_TRAIN + "\nfor _ in range(16):\n    step()\n"
    done = run(tmp_path, code, light=True)
    assert steps(done) == ["ProfilerStep#11", "ProfilerStep#12", "ProfilerStep#13"]
    assert "recorded steps 3 to 5 of 16, found from the optimizer" in done.notes
    assert any(note.startswith("recorded steps 11 to 13 again") for note in done.notes)
    ops = done.trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert ops["input_shapes"].null_count() == 0
    assert ops["module_path"].value_counts()["count"].to_list() == [3, 3, 3]
    assert done.trace.spans.filter(pl.col("kind") == "python").height > 100
    settings = manifest_settings(done)
    # 7 to 9 between the windows are the most in a row; 6 and 14 settle.
    assert settings["unprofiled_step_ns"]["n"] == 3
    assert (settings["profiled_step_ns"]["n"], settings["deep_step_ns"]["n"]) == (3, 3)

    short = run(tmp_path, LIGHT_TRAIN + "\nfor _ in range(12):\n    step()\n", light=True)
    assert steps(short) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    assert short.exit_code == 0
