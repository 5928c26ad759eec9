"""Lines of causes: in ten small programs of one process, each cause has its own line."""

import importlib.util
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.answer_checks import check_answer
from tests.never_compiled import NEVER_COMPILED
from tests.test_live_torch import run
from tracelens.collectors import run_program
from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.sampled_lines import CallLines, RecordedLines, with_sampled_lines
from tracelens.trace import Trace

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
CAUSES = {
    "sleep": "time.sleep(0.05)",
    "loop": "total = [n * n for n in range(700_000)]",
    "sort": "sorted(NUMBERS, key=str)",
    "json": "json.loads(TEXT)",
    "read": "[Path(__file__).read_bytes() for _ in range(1_500)]",
    "hash": "hashlib.sha256(BYTES).hexdigest()",
    "regex": "re.findall(r'(a+)+b', 'a' * 19)",
    "pickle": "pickle.loads(PICKLED)",
    "nested": "helper(lambda: time.sleep(0.05))",
    "lambda": "(lambda: time.sleep(0.05))()",
}
INPUTS = """import json, pickle, torch
NUMBERS = [n * 7919 % 100_003 for n in range(150_000)]
TEXT = json.dumps(list(range(800_000)))
BYTES = bytes(80_000_000)
PICKLED = pickle.dumps([str(n) for n in range(700_000)])
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
PROGRAM = """import hashlib, json, pickle, re, time
from pathlib import Path
import torch
from inputs import BYTES, NUMBERS, PICKLED, TEXT, model, optimizer
def helper(call):
    call()
for _ in range(2):
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    {cause}
    optimizer.zero_grad()
"""
LINE = PROGRAM[: PROGRAM.index("{cause}")].count("\n") + 1
"""The line of every program's cause."""
ALL = f"""{NEVER_COMPILED}import runpy, sys, torch
import inputs
torch.set_num_threads(1)
for program in sys.argv[1:]:
    runpy.run_path(program, run_name="__main__")
"""


MOST_CAPTURES = 5


def capture(folder: Path, names: Iterable[str], *, stacks: bool) -> Trace:
    """Capture programs, run one after the other by one process, as torch takes long to import.

    They share the optimizer, as the one that steps first has the steps.
    """
    (folder / "inputs.py").write_text(INPUTS)
    (folder / "all.py").write_text(ALL)
    programs = [folder / f"{name}_cause.py" for name in names]
    for program, name in zip(programs, names, strict=True):
        program.write_text(PROGRAM.format(cause=CAUSES[name]))
    with pytest.MonkeyPatch.context() as patch:
        # The profiler leaves out the folders that Python imports from; ours need not be one.
        patch.delenv("PYTHONPATH", raising=False)
        command = [sys.executable, str(folder / "all.py"), *map(str, programs)]
        trace, done = run_program(
            "torch", command, settings=Settings("", 0, 0, None, stacks=stacks)
        )
    assert done.exit_code == 0
    return trace


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A capture of the ten programs without stacks."""
    return capture(tmp_path_factory.mktemp("lines"), [*CAUSES], stacks=False)


def lines_found(trace: Trace, names: Iterable[str]) -> dict[str, Any]:
    """Return the line of each program that has the most idle time."""
    gaps = tl.analyses.idle_gaps(trace).select("what", "idle_ns")
    found = {}
    for name in names:
        line = pl.col("what").str.extract(rf"{name}_cause\.py\((\d+)\)").cast(pl.Int64)
        lines = gaps.group_by(line.alias("line")).agg(pl.col("idle_ns").sum()).drop_nulls("line")
        found[name] = lines.sort("idle_ns", descending=True)["line"].first()
    return found


def check_lines(trace: Trace, folder: Path, *, stacks: bool) -> None:
    """Check the line of each program; capture again those of which another one took longer.

    Any line takes longest if its program has to wait for the processor there.
    """
    check_answer(trace)
    left = [*CAUSES]
    for _ in range(MOST_CAPTURES - 1):
        found = lines_found(trace, left)
        left = [name for name in left if found[name] != LINE]
        if not left:
            return
        trace = capture(folder, left, stacks=stacks)
    assert lines_found(trace, left) == dict.fromkeys(left, LINE)


def test_each_cause_has_the_line_where_it_stands(recorded: Trace, tmp_path: Path) -> None:
    """Of each program's lines the one of its cause has the most idle time."""
    check_lines(recorded, tmp_path, stacks=False)


@pytest.mark.exhaustive
def test_each_cause_has_its_line_with_stacks(tmp_path: Path) -> None:
    check_lines(capture(tmp_path, [*CAUSES], stacks=True), tmp_path, stacks=True)


def samples(*stacks: tuple[int, list[tuple[str, int]]]) -> RecordedLines:
    """Samples of functions of train.py at moments: function and line from the innermost out."""
    frames = [[("train.py", name, line, True) for name, line in stack] for _, stack in stacks]
    return RecordedLines([moment for moment, _ in stacks], frames)


def placed(what: str | None, found: RecordedLines) -> str | None:
    activity = pl.DataFrame(
        {"start_ns": [0], "duration_ns": [100], "what": [what], "cause": ["host"]},
        schema_overrides={"what": pl.String},
    )
    text: str | None = with_sampled_lines(activity, found)["what"][0]
    return text


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("train.py(21): <module> > sleep", "train.py(22): <module> > sleep"),
        ("between aten::add and aten::mul", "train.py(22): <module>"),
        ("aten::to", "train.py(22): <module> > aten::to"),
        (None, "train.py(22): <module>"),
        ("other.py(3): load", "other.py(3): load"),
    ],
)
def test_the_line_that_most_samples_saw_is_named(what: str | None, said: str) -> None:
    stacks = [(n, [("<module>", line)]) for n, line in ((10, 21), (20, 22), (30, 22))]
    assert placed(what, samples(*stacks)) == said


def test_a_long_call_sampled_once_outweighs_many_samples() -> None:
    """Line 22 holds the interpreter's lock from 10 to 90, and is sampled at its end, as of 50."""
    stacks = [
        (n, [("<module>", line)]) for n, line in ((4, 21), (8, 21), (50, 22), (95, 23), (98, 23))
    ]
    assert placed(None, samples(*stacks)) == "train.py(22): <module>"


def test_what_the_profiler_does_for_itself_is_of_no_line() -> None:
    found = samples((5, [("<module>", 7)]))
    assert placed("the profiler's own work", found) == "the profiler's own work"


def test_without_a_sample_meanwhile_a_place_stays() -> None:
    late = samples((500, [("<module>", 22)]))
    assert placed("train.py(21): <module> > sleep", late) == "train.py(21): <module> > sleep"


def call_lines(*calls: tuple[int, int, int]) -> CallLines:
    """Calls by <module> of train.py: start, end, line."""
    return CallLines.of((start, end, (*MODULE, line)) for start, end, line in calls)


MODULE = ("train.py", "<module>")


@pytest.mark.parametrize(
    ("calls", "stretch", "times"),
    [
        ([(10, 30, 5), (40, 50, 6)], (0, 100), {5: 20, 6: 10}),
        ([(10, 30, 5), (40, 50, 6)], (20, 45), {5: 10, 6: 5}),
        ([(10, 30, 5), (40, 50, 6)], (30, 40), {}),
        # A function that calls itself: inside the outer call, the inner one counts.
        ([(10, 60, 5), (20, 30, 7), (40, 50, 7)], (0, 100), {5: 30, 7: 20}),
        ([(10, 60, 5), (20, 60, 7)], (0, 100), {5: 10, 7: 40}),
    ],
)
def test_time_in_calls_by_line(
    calls: list[tuple[int, int, int]], stretch: tuple[int, int], times: dict[int, int]
) -> None:
    lines = call_lines(*calls).within(*stretch)
    assert {line: ns for (_, _, line), ns in lines.items()} == times


@pytest.mark.parametrize(
    ("calls", "sampled", "said"),
    [
        # Samples at 10 and 20, in no call, stand for the 40 ns outside of calls.
        ([(30, 90, 24)], [(10, 22), (20, 22)], 24),
        ([(70, 90, 24)], [(10, 22), (20, 22)], 22),
        # What is sampled in a call is known already.
        ([(30, 90, 24)], [(40, 22), (50, 22)], 24),
        # A short call does not tell where the rest went.
        ([(10, 20, 24)], [], None),
        ([(10, 60, 24)], [], 24),
    ],
)
def test_calls_tell_their_lines_and_samples_the_rest(
    calls: list[tuple[int, int, int]], sampled: list[tuple[int, int]], said: int | None
) -> None:
    found = samples(*((moment, [("<module>", line)]) for moment, line in sampled))
    found.calls[MODULE] = call_lines(*calls)
    place = "train.py(defined at 1): <module> > f"
    line = "defined at 1" if said is None else str(said)
    assert placed(place, found) == f"train.py({line}): <module> > f"


def test_a_path_without_a_frame_is_in_the_called_function() -> None:
    """Line 16 calls step, which reads a value twice on line 10, and works between the two."""
    names = [["train.py", "<module>", True], ["train.py", "step", True]]
    calls = [[0, 100, 0, 16], [10, 12, 1, 10], [70, 72, 1, 10]]
    lines = {"names": names, "calls": calls, "samples": [[50, [[1, 10], [0, 16]]]]}
    found = RecordedLines.of({"lines": lines})
    assert found is not None
    assert placed("aten::item", found) == "train.py(10): step > aten::item"
    assert placed("train.py(defined at 1): <module>", found) == "train.py(16): <module>"


def test_a_call_tells_nothing_of_its_callers_own_work_elsewhere() -> None:
    found = samples()
    found.calls[MODULE] = call_lines((200, 208, 24))
    place = "train.py(defined at 1): <module>"
    activities = pl.DataFrame(
        {"start_ns": [0, 200], "duration_ns": [100, 10], "what": [place] * 2, "cause": ["host"] * 2}
    )
    texts = with_sampled_lines(activities, found)["what"].to_list()
    assert texts == [place, "train.py(24): <module>"]


def test_a_call_has_the_line_that_it_is_made_from() -> None:
    profiler = pytest.importorskip("torch.profiler")
    from tracelens.collectors.torch.live.lines import LineSampler  # noqa: PLC0415 - imports torch

    def work() -> None:
        time.sleep(0.002)
        sorted(range(3_000), key=lambda n: -n)

    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], with_stack=True) as recorded:
        work()
    facts = json.loads(json.dumps({"lines": LineSampler().facts(recorded)}))
    lines = RecordedLines.of(facts)
    assert lines is not None
    own, first = (Path(__file__).name, "work"), work.__code__.co_firstlineno
    calls = lines.calls[own]
    assert {line for _, _, line in calls.lines} == {first + 1, first + 2}
    assert calls.ends[0] - calls.starts[0] >= 2_000_000
    # pytest calls this function: its own line is the outermost of the program's.
    assert {function for _, function, _ in lines.calls[None].lines} >= {"work"}


def test_a_sampler_leaves_the_interpreters_switches_as_they_were() -> None:
    pytest.importorskip("torch")
    from tracelens.collectors.torch.live.lines import LineSampler  # noqa: PLC0415 - imports torch

    before_s = sys.getswitchinterval()
    sampler = LineSampler()
    sampler.start()
    until_s = time.perf_counter() + 0.05
    while time.perf_counter() < until_s:
        pass
    sampler.stop()
    assert sys.getswitchinterval() == before_s
    nothing = SimpleNamespace(kineto_results=SimpleNamespace(experimental_event_tree=list))
    lines = RecordedLines.of({"lines": sampler.facts(SimpleNamespace(profiler=nothing))})
    assert lines is not None
    own = test_a_sampler_leaves_the_interpreters_switches_as_they_were.__name__
    assert all((Path(__file__).name, own) in {frame[:2] for frame in s} for s in lines.frames)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"lines": 3},
        {"lines": {"names": [], "samples": [[1, [[5, 2]]]]}},
        {"lines": {"names": [], "samples": [], "calls": [[1, 2, 5, 2]]}},
        {"lines": {"names": [], "samples": [[float("inf"), []]]}},
    ],
)
def test_damaged_samples_are_none(facts: dict[str, object]) -> None:
    assert RecordedLines.of(facts) is None


def test_our_own_hooks_are_no_cause(recorded: Trace) -> None:
    gaps = tl.analyses.idle_gaps(recorded)
    is_hook = pl.col("what").str.contains(r"(steps|recorder|modules|window|lines)\.py\(")
    assert gaps.filter(is_hook).is_empty()


def test_the_profilers_own_lines_do_not_reach_the_terminal(
    recorded: Trace, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = f"{NEVER_COMPILED}import torch\ntorch.nn.Linear(2, 2)(torch.ones(2))\n"
    run(tmp_path, code, wait=0, warmup=0, active=None)
    assert "USDT" not in capfd.readouterr().err


class _NoText:
    """A frame of the profiler whose names are no UTF-8."""

    @property
    def file_name(self) -> str:
        return b"abc\xec".decode()


def test_a_call_whose_names_are_no_text_is_left_out() -> None:
    """The capture failed."""
    from torch._C._profiler import _EventType  # noqa: PLC0415 - imports torch

    from tracelens.collectors.torch.live.lines import LineSampler  # noqa: PLC0415 - imports torch

    place = SimpleNamespace(file_name="a.py", function_name="f", line_number=3)
    whole = {"start_time_ns": 0, "end_time_ns": 9, "duration_time_ns": 9, "start_tid": 1}
    events = [
        SimpleNamespace(
            **whole,
            tag=_EventType.PyCall,
            typed=(None, SimpleNamespace(caller=caller)),
            children=[],
        )
        for caller in (_NoText(), place)
    ]
    results = SimpleNamespace(experimental_event_tree=lambda: events)
    recorded = SimpleNamespace(profiler=SimpleNamespace(kineto_results=results))
    facts = LineSampler().facts(recorded)
    assert [facts["names"][name][:2] for _, _, name, _ in facts["calls"]] == [("a.py", "f")]
