"""What a live capture measures and waits for: steps without the profiler, idle devices."""

import importlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.test_live_block import Ended, one_by_one
from tests.test_live_torch import (
    LIGHT_MODEL,
    LIGHT_TRAIN,
    LiveRun,
    check_a_capture,
    manifest_settings,
    run,
    steps,
)
from tracelens.collectors.torch.recording import _cost_sentence, _other_steps_warning
from tracelens.trace.capture import Manifest

torch = pytest.importorskip("torch")
device = importlib.import_module("tracelens.collectors.torch.live.window")

# A device that is no device: each step takes it 7 ms, and step 1 9 ms; waiting for it is said, with
# the steps so far.
DEVICE = """
begun, waits = [], []

class Event:
    def __init__(self, enable_timing): assert enable_timing
    def record(self): self.at_ms = 7 * len(begun) + (2 if len(begun) > 1 else 0)
    def synchronize(self): pass
    def elapsed_time(self, end): return end.at_ms - self.at_ms

def synchronize(*device):
    waits.append(len(begun))
    with torch.profiler.record_function("waited"): pass

def use_device():
    torch.cuda.is_initialized = lambda: True
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.synchronize, torch.cuda.Event = synchronize, Event
"""
USED = DEVICE + "use_device()\n"
TIMED = LIGHT_TRAIN + USED


def marks(spans: pl.DataFrame) -> pl.DataFrame:
    """name, start_ns and end_ns of the marks of steps and of parts of steps, in order."""
    return (
        spans.filter(pl.col("name").str.contains(r"^Profiler(Step|Part)#"))
        .sort("start_ns")
        .select("name", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    )


def test_steps_without_the_profiler_are_timed_by_the_device(tmp_path: Path) -> None:
    code = TIMED + "for _ in range(20): begun.append(1); step()"
    done = run(tmp_path, code, wait=3)
    settings = manifest_settings(done)
    # Steps 8 to 19, after the recorded 4 to 6 and 7, which is still affected by it. If the program
    # ends within a block of steps, that block is missing. Steps 1 and 2, of 9 and 7 ms, are fewer,
    # and belong to the program's start.
    n = settings["unprofiled_step_ns"]["n"]
    assert 9 <= n <= 12
    assert settings["unprofiled_step_ns"] == {
        "n": n,
        "mean": 7_000_000,
        "median": 7_000_000,
        "min": 7_000_000,
        "max": 7_000_000,
        "turn": 1,
    }
    assert settings["profiled_step_ns"]["n"] == 3
    assert done.notes[0] == "recorded steps 4 to 6 of 20, found from the optimizer"
    assert f"7.00 ms without the profiler (mean of {n})" in done.notes[-1]


@pytest.mark.parametrize("stacks", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_on_the_cpu_steps_are_timed_by_the_host(tmp_path: Path, stacks: bool) -> None:
    loop = "for _ in range(9):\n    time.sleep(0.02)\n    model(x)"
    code = f"{LIGHT_MODEL}import time\nx = torch.randn(2, 3, 8, 8)\n{loop}"
    done = run(tmp_path, code, stacks=stacks)
    found = manifest_settings(done)["unprofiled_step_ns"]
    # Step 7, as step 1 is nearer to the start; the last one, which is the program's end, is not
    # timed.
    assert found["n"] == 1
    assert 20_000_000 < found["min"] <= found["median"] <= found["max"]
    assert "recorded steps 3 to 5 of 9, found from the outermost module" in done.notes
    # The model's calls are whole and in their steps, with what they call: marking is no part of
    # them.
    calls = done.trace.spans.filter(pl.col("kind") == "module").sort("start_ns")
    assert calls.filter(pl.col("module_path") == "Net")["step"].to_list() == [3, 4, 5]
    assert calls.filter(pl.col("module_path") == "stem")["step"].to_list() == [3, 4, 5]
    # What is between two calls, here as a data loader's time may be, is inside of the marks.
    found = marks(done.trace.spans)
    assert found["name"].to_list() == [f"ProfilerStep#{n}" for n in (3, 4, 5)]
    assert (found["end_ns"] - found["start_ns"]).min() > 20_000_000  # type: ignore[operator]
    assert (found["start_ns"] - found["end_ns"].shift()).drop_nulls().min() >= 0  # type: ignore[operator]
    sleeps = done.trace.spans.filter(pl.col("name").str.contains("built-in function sleep"))
    assert sleeps["step"].to_list() == ([3, 4, 5] if stacks else [])


@pytest.mark.parametrize(
    ("n_steps", "options", "expected"),
    [
        # At the end of the third step, which warms up, and of the sixth.
        (9, {}, [3, 6]),
        # At the first sign of the first step, and at the end of the second.
        pytest.param(
            9, {"wait": 0, "warmup": 0, "active": 2}, [1, 2], marks=pytest.mark.exhaustive
        ),
        # The program ends before the window does.
        (5, {}, [3, 5]),
    ],
)
def test_devices_are_idle_where_the_recording_begins_and_ends(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    n_steps: int,
    options: dict[str, Any],
    expected: list[int],
) -> None:
    code = "import atexit\natexit.register(lambda: print(waits, flush=True))\n" + TIMED
    done = run(tmp_path, code + f"for _ in range({n_steps}): begun.append(1); step()", **options)
    assert capfd.readouterr().out.strip() == str(expected)
    waited = done.trace.spans.filter(pl.col("name") == "waited")
    # The wait at the beginning is over when the recording begins; that at the end is in no step.
    assert waited.height == 1
    assert waited["start_ns"].item() >= marks(done.trace.spans)["end_ns"].max()


IMPORT = "import tracelens as tl\n"
OPTIONS = ("", ", wait=2, active=2", ", wait=2, active=2, stacks=False")
BODIES = {"steps": "step(); step()", "no steps": "x @ x.mT"}


def hooked(options: str) -> str:
    """Return a program that prints whether a block with these options leaves hooks behind."""
    code = LIGHT_MODEL + IMPORT + "call, x = nn.Module.__call__, torch.randn(2, 3, 8, 8)\n"
    code += f"with tl.capture('run.tracelens'{options}) as cap:\n    for _ in range(6): model(x)\n"
    return code + "print(len(model._forward_pre_hooks), nn.Module.__call__ is call, cap.notes[0])"


def waiting(body: str) -> str:
    """Return a program that prints how often the device was waited for around a block."""
    code = (
        f"{TIMED}{IMPORT}with tl.capture('run.tracelens') as cap:\n    {body}\nprint(len(waits))\n"
    )
    return code + "print(cap.trace.spans['name'].to_list().count('waited'))"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    programs = {options: hooked(options) for options in OPTIONS}
    code = f"{LIGHT_TRAIN}{IMPORT}with tl.capture('run.tracelens') as cap:\n"
    programs["after the last step"] = (
        code + "    step(); cap.step(); step(); cap.step()\n    model(x)\n"
    )
    # The last ones, for what they make of torch stays.
    programs |= {name: waiting(body) for name, body in BODIES.items()}
    return one_by_one(
        tmp_path_factory.mktemp("blocks"),
        {name or "plain": code for name, code in programs.items()},
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_a_block_leaves_no_hook_behind(ended: dict[str, Ended], options: str) -> None:
    _, said, error = ended[options or "plain"]
    assert said.startswith("0 True recorded steps "), error
    assert said.endswith(" of 6, found from the outermost module\n")


@pytest.mark.parametrize("name", BODIES)
def test_devices_are_idle_around_a_block(ended: dict[str, Ended], name: str) -> None:
    assert ended[name].said.split() == ["2", "1"], ended[name].error


def test_devices_are_idle_around_a_window_of_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # Steps go on until a while after the window, however late that is on a busy machine.
    loop = (
        "while time.monotonic() < end:\n"
        "    begun.append(1); step(); time.sleep(0.01)\n"
        "    if len(waits) > 1: end = min(end, time.monotonic() + 0.5)\n"
    )
    code = f"{LIGHT_TRAIN}{USED}import time\nend = time.monotonic() + 30\n{loop}print(len(waits))"

    def check(done: LiveRun) -> None:
        assert capfd.readouterr().out == "2\n"
        assert done.trace.spans.filter(pl.col("name") == "waited").height == 1
        # The window cuts the first step and the last.
        first, *whole, last = marks(done.trace.spans)["name"]
        numbers = [int(name.split("#")[1]) for name in (first, *whole, last)]
        assert (first, last) == (f"ProfilerPart#{numbers[0]}", f"ProfilerPart#{numbers[-1]}")
        assert whole == [f"ProfilerStep#{n}" for n in range(numbers[0] + 1, numbers[-1])]
        assert manifest_settings(done)["n_active"] == len(whole)
        without = manifest_settings(done)["unprofiled_step_ns"]
        # At most 100 steps are timed.
        assert 0 < without["n"] <= 100
        assert without["median"] == 7_000_000

    check_a_capture(lambda: run(tmp_path, code, is_fork=False, window_s=(1.0, 0.3)), check)


@pytest.mark.parametrize(
    ("is_used", "is_capturing", "contexts", "expected"),
    [
        (False, False, {0, 1, 2}, []),
        (True, True, {0, 1, 2}, []),
        (True, False, {0, 2}, [0, 2]),
    ],
    ids=["not used", "capturing a graph", "two of three devices"],
)
def test_only_devices_in_use_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
    is_used: bool,
    is_capturing: bool,
    contexts: set[int],
    expected: list[int],
) -> None:
    waits: list[int] = []

    def synchronize(index: int) -> None:
        waits.append(index)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: is_used)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: is_capturing)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch._C, "_cuda_hasPrimaryContext", contexts.__contains__, raising=False)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    device.drain()
    assert waits == expected[:1]  # a device that failed is left to the program


def test_what_follows_the_last_step_is_no_step(tmp_path: Path, ended: dict[str, Ended]) -> None:
    cut = run(tmp_path, LIGHT_TRAIN + "for _ in range(5): step()\nmodel(x)")
    assert marks(cut.trace.spans)["name"].to_list() == [
        "ProfilerStep#3",
        "ProfilerStep#4",
        "ProfilerPart#5",
    ]
    assert not ended["after the last step"].error
    block = tl.open(ended["after the last step"].folder / "run.tracelens")
    assert marks(block.spans)["name"].to_list() == [
        "ProfilerStep#0",
        "ProfilerStep#1",
        "ProfilerPart#2",
    ]


def test_a_loader_that_has_no_more_begins_no_step(tmp_path: Path) -> None:
    code = (
        LIGHT_MODEL
        + """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 3, 8, 8)), batch_size=2)
for epoch in range(2):
    for (batch,) in loader: model(batch)
"""
    )
    done = run(tmp_path, code)
    # Two epochs of four batches.
    assert "recorded steps 3 to 5 of 8, found from the data loader" in done.notes
    # Step 3 is the first epoch's last, 4 and 5 the second's first.
    found = done.trace.spans.filter(
        pl.col("module_path") == "stem", pl.col("kind") == "module"
    ).sort("start_ns")
    assert found["step"].to_list() == [3, 4, 5]
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]


@pytest.mark.parametrize(
    ("recorded_ms", "begin"),
    [
        (
            12,
            "by the program's own clock a step takes 10.0 ms without the profiler (mean of 8), 12.0",
        ),
        (
            10,
            "the profiler hardly slows a step: by the program's own clock 10.0 ms without the",
        ),
        (4, ""),  # less work: its time says nothing of the profiler's cost
    ],
)
def test_a_note_says_what_the_profiler_cost(recorded_ms: int, begin: str) -> None:
    report = {
        "profiled_step_ns": {"mean": recorded_ms * 1_000_000},
        "unprofiled_step_ns": {"n": 8, "mean": 10_000_000},
    }
    cost = _cost_sentence(report, is_light=False)
    assert cost.startswith(begin)
    assert bool(cost) != bool(_other_steps_warning(report, is_light=False))


def test_a_note_names_the_longer_steps() -> None:
    plain = {"n": 9, "mean": 6_000_000, "n_long": 1, "long_ns": 156_000_000}
    report = {"profiled_step_ns": {"mean": 6_000_000}, "unprofiled_step_ns": plain}
    assert "(mean of 9; 1 took 156 ms)" in _cost_sentence(report, is_light=False)


@pytest.mark.parametrize(
    ("unprofiled", "profiled", "expected"),
    [
        ({"median": 2, "mean": 9}, {"mean": 8}, 2),
        ({"median": 2, "mean": 5, "turn": 4}, {"mean": 8}, 5),  # of steps in a row
        ({"median": 8}, {"mean": 8}, None),  # the profiler cost nothing that is seen
        (None, {"mean": 8}, None),
        ({"median": 2}, None, None),
        ({"median": "2"}, {"mean": 8}, None),
    ],
)
def test_analyses_get_the_unprofiled_step_of_their_rank(
    unprofiled: Any, profiled: Any, expected: int | None
) -> None:
    settings = {"unprofiled_step_ns": unprofiled, "profiled_step_ns": profiled}
    other = {"unprofiled_step_ns": {"median": 1}, "profiled_step_ns": {"mean": 8}}
    sources: list[dict[str, Any]] = [
        {"rank": 0, "settings": other},
        {"rank": 1},
        {"rank": 1, "settings": settings},
    ]
    assert Manifest(sources=sources).unprofiled_step_ns(1) == expected
    assert Manifest(sources=sources).unprofiled_step_ns(2) is None
