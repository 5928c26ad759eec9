"""Live captures of programs that wait for threads or processes: which steps stand for all."""

import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.never_compiled import NEVER_COMPILED, RANDOM_NUMBERS
from tests.test_live_torch import LIGHT_TRAIN, run
from tracelens.collectors.torch.live import at_exit, settling

pytest.importorskip("torch")
step_times = importlib.import_module("tracelens.collectors.torch.live.step_times")
MS = 1_000_000

# Each step sleeps 10 ms; the first trace takes 400 ms to write. Processes may deliver batches.
SLOW_WRITER = (
    LIGHT_TRAIN
    + """
import multiprocessing, time
export, written = torch.profiler.profile.export_chrome_trace, []
def export_slowly(profiler, path):
    if not written:
        time.sleep(0.4)
    written.append(path)
    export(profiler, path)
torch.profiler.profile.export_chrome_trace = export_slowly
processes = multiprocessing.get_context("fork")
for _ in range(N_WORKERS):
    processes.Process(target=time.sleep, args=(60,), daemon=True).start()
for _ in range(100):
    step()
    time.sleep(0.01)
"""
)


@pytest.mark.parametrize(
    ("n_workers", "least", "most", "n_steps"),
    [(8, 8, 45, 8), pytest.param(0, 5, 5, 3, marks=pytest.mark.exhaustive)],
)
def test_the_second_window_waits_as_long_as_the_pause_was(
    tmp_path: Path, *, n_workers: int, least: int, most: int, n_steps: int
) -> None:
    """Where processes may have filled a queue, at most 40 steps of 10 ms fit into 400 ms.

    The window then has a step for each of the processes.
    """
    done = run(tmp_path, f"N_WORKERS = {n_workers}\n{SLOW_WRITER}", light=True)
    (note,) = [note for note in done.notes if " again " in note]
    match = re.match(r"recorded steps (\d+) to (\d+)", note)
    assert match is not None
    # The first window ends with step 5; without a pause to wait for, five steps lie between both.
    assert least <= int(match[1]) - 6 <= most
    assert int(match[2]) - int(match[1]) + 1 == n_steps
    timed = re.search(r"\(mean of (\d+)", done.notes[-1])
    assert timed is not None
    assert int(timed[1]) % max(n_workers, 1) == 0


def test_a_pause_fills_no_queue_where_nothing_else_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps begin at once then, and each stands for itself."""
    main = [SimpleNamespace(name="MainThread")]
    monkeypatch.setattr(threading, "enumerate", lambda: main)
    monkeypatch.setattr(settling, "active_children", list)
    waiting = settling.Settling()
    waiting.begin(10**12, 8)
    assert waiting.is_over()
    assert settling.steps_in_a_turn(8) == 1


def test_a_thread_may_fill_a_queue_in_a_pause() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    waiting = settling.Settling()
    waiting.begin(10**12, 0)
    end.set()
    thread.join()
    assert not waiting.is_over()


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, int, int], None]:
    """Let the host's clock stand still but for plain steps, which take some milliseconds each."""
    host = 0

    class Clock:
        @staticmethod
        def now() -> object:
            return moment(host, None, is_device_used=False)

    moment = step_times.Moment

    def one_step(times: Any, number: int, ms: int) -> None:
        nonlocal host
        times.begin(step_times.PLAIN)
        host += ms * MS
        times.end(number, step_times.PLAIN, is_after=number > 1)

    monkeypatch.setattr(step_times, "Moment", Clock)
    monkeypatch.setattr(step_times, "time", SimpleNamespace(perf_counter_ns=lambda: host))
    return one_step


def test_whole_turns_of_workers_stand_for_all_steps(
    take: Callable[[Any, int, int], None],
) -> None:
    """Four workers deliver together: every fourth step waits."""
    times = step_times.StepTimes()
    times.turn = 4
    waits = [1, 97, 1, 1, 1, 97, 1, 1, 1, 97]
    for number, ms in [(1, 500), *enumerate(waits, start=10)]:
        take(times, number, ms)
    # The last eight: two turns of 100 ms. Step 1 is the program's start.
    of_turns = {"mean": 25 * MS, "median": 25 * MS, "min": 25 * MS, "max": 25 * MS}
    assert times.facts()["unprofiled_step_ns"] == {"n": 8, "turn": 4, **of_turns}
    times.turn = 16
    assert times.facts()["unprofiled_step_ns"] is None


@pytest.mark.parametrize(
    ("n_before", "n_after", "is_slower", "expected"),
    [
        (0, 8, True, 8),  # all, if there are few
        (0, 40, True, 40),
        (9, 12, True, 12),
        (12, 40, True, 12),  # before CUPTI came, where these are enough
        (12, 40, False, 40),
        (40, 12, False, 12),  # after the windows, the recorder does less in each step
        (12, 9, False, 12),  # too few after them
    ],
)
def test_a_long_run_after_the_windows_stands_for_a_step(
    take: Callable[[Any, int, int], None],
    n_before: int,
    n_after: int,
    is_slower: bool,
    expected: int,
) -> None:
    times = step_times.StepTimes()
    times.is_slower_after = is_slower
    for number in range(n_before):
        take(times, number - n_before, 5)
    for number in range(n_after):
        take(times, 100 + number, 6)
    facts = times.facts()
    plain = facts["unprofiled_step_ns"]
    is_before = n_before >= 10 and (is_slower or n_after < 10)
    assert (plain["n"], plain["mean"]) == (expected, (5 if is_before else 6) * MS)
    assert facts["is_run_slower"] is (is_slower and not is_before)


def test_steps_are_not_slower_once_cupti_is_detached(
    take: Callable[[Any, int, int], None],
) -> None:
    times = step_times.StepTimes()
    times.is_slower_after = True
    for number in range(-12, 0):  # before the recording, enough to be preferred to slow steps
        take(times, number, 5)
    for number in (10, 11, 12, 20, 21, 22, 23):  # between the windows, and after both
        take(times, number, 6)
    times.fast_from = 20
    for number in range(24, 40):
        take(times, number, 7)
    facts = times.facts()
    assert facts["unprofiled_step_ns"]["n"] == 20
    assert facts["is_run_slower"] is False
    times.fast_from = None
    assert times.facts()["unprofiled_step_ns"]["mean"] == 5 * MS


@pytest.mark.parametrize(
    ("cuda", "of_user", "expected"),
    [
        ("13.0", None, (True, "1", None)),
        ("12.6", None, (True, "1", None)),
        ("12.4", None, (False, None, None)),  # programs with CUDA graphs crashed
        (None, None, (False, None, None)),  # torch for the CPU or for ROCm
        ("13.0", "0", (False, "0", "0")),
        ("13.0", "1", (True, "1", "1")),
    ],
)
def test_cupti_is_detached_where_cuda_and_the_user_allow_it(
    monkeypatch: pytest.MonkeyPatch,
    cuda: str | None,
    of_user: str | None,
    expected: tuple[bool, str | None, str | None],
) -> None:
    cupti = importlib.import_module("tracelens.collectors.torch.live.cupti")
    monkeypatch.setattr("torch.version.cuda", cuda)
    monkeypatch.setattr(cupti, "_OF_USER", of_user)
    monkeypatch.delenv("TEARDOWN_CUPTI", raising=False)
    if of_user is not None:
        monkeypatch.setenv("TEARDOWN_CUPTI", of_user)
    is_detached, during = cupti.detach_after_recording(), os.environ.get("TEARDOWN_CUPTI")
    cupti.leave_attached()
    assert (is_detached, during, os.environ.get("TEARDOWN_CUPTI")) == expected


def test_at_least_ten_steps_are_timed_for_a_second(take: Callable[[Any, int, int], None]) -> None:
    for ms, turn, expected in [(200, 1, 10), (200, 16, 16), (50, 1, 20), (1, 1, 1000)]:
        times = step_times.StepTimes()
        times.turn = turn
        n = 0
        while not times.is_run_complete():
            n += 1
            take(times, 10 + n, ms)
        assert n == expected


def go_on(monkeypatch: pytest.MonkeyPatch, durations_us: list[int], turn: int = 1) -> Any:
    """Return the times of plain steps that follow each other at once."""
    host = 0
    moment, looks = step_times.Moment, []

    class Clock:
        @staticmethod
        def now() -> object:
            looks.append(host)
            return moment(host, None, is_device_used=False)

    monkeypatch.setattr(step_times, "Moment", Clock)
    monkeypatch.setattr(step_times, "time", SimpleNamespace(perf_counter_ns=lambda: host))
    times = step_times.StepTimes()
    times.turn = turn
    times.begin(step_times.PLAIN)
    for number, duration_us in enumerate(durations_us):
        host += duration_us * 1000
        times.go_on(number)
    return times.facts()["unprofiled_step_ns"] | {"n_looks": len(looks)}


def test_short_steps_share_a_look_at_the_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # 50 steps of 0.1 ms are five blocks of ten; the last 5 steps fill none.
    plain = go_on(monkeypatch, [100] * 55)
    assert (plain["n"], plain["mean"], plain["n_looks"]) == (50, MS // 10, 6)


def test_short_steps_of_a_whole_second_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocks of 5 ms from 50 ms on: the 200 that are kept begin before them.
    plain = go_on(monkeypatch, [500] * 100 + [100] * 9_500)
    assert plain["n"] >= 9_500
    assert plain["n_looks"] < 240


def test_a_long_step_is_found_among_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # The block of the long step has four short ones before it.
    plain = go_on(monkeypatch, [100] * 34 + [80_000] + [100] * 50)
    assert (plain["n"], plain["mean"]) == (84, MS // 10)
    assert (plain["n_long"], plain["long_ns"]) == (1, 80 * MS)


@pytest.mark.parametrize(("duration_us", "turn"), [(2_000, 1), (100, 2)])
def test_long_steps_and_steps_of_a_turn_are_timed_alone(
    monkeypatch: pytest.MonkeyPatch, duration_us: int, turn: int
) -> None:
    assert go_on(monkeypatch, [duration_us] * 10, turn)["n_looks"] == 11


@pytest.mark.parametrize(
    ("lengths", "recorded", "left_out"),
    [
        ([6, 6, 156, 6, 6, 6, 6, 6, 6, 6], [7, 7, 7], {"n_long": 1, "long_ns": 156 * MS}),
        ([6, 6, 156, 6, 6, 6, 6, 6, 6, 146], [7, 7, 7], {"n_long": 2, "long_ns": 151 * MS}),
        ([6, 6, 156, 6, 6, 6, 6, 6, 6, 6], [7, 7, 157], {}),  # the recorded steps have one, too
        # The host ran ahead, and the last recorded step waits for the device.
        ([6, 6, 156, 6, 6, 6, 6, 6, 6, 6], [3, 3, 13], {"n_long": 1, "long_ns": 156 * MS}),
        ([6, 6, 36, 6, 6, 36, 6, 6, 36, 6], [7, 7, 7], {}),  # the program's usual work
        ([6, 6, 15, 6, 6, 6, 6, 6, 6, 6], [7, 7, 7], {}),  # not several times as long
    ],
)
def test_few_much_longer_steps_are_named_apart(
    take: Callable[[Any, int, int], None],
    lengths: list[int],
    recorded: list[int],
    left_out: dict[str, int],
) -> None:
    times = step_times.StepTimes()
    for number, ms in enumerate(lengths, start=10):
        take(times, number, ms)
    times.step_ns = [(n, step_times.ACTIVE, ms * MS) for n, ms in enumerate(recorded)]
    plain = times.facts()["unprofiled_step_ns"]
    assert {name: plain[name] for name in plain if "long" in name} == left_out
    n_left_out = left_out.get("n_long", 0)
    assert plain["n"] == 10 - n_left_out
    assert plain["mean"] == (6 * MS if left_out else round(sum(lengths) * MS / 10))


def test_ranks_count_the_workers_of_their_loader_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes of one rank would have it record other steps than the others."""
    monkeypatch.setattr(settling, "active_children", lambda: [None] * 9)
    assert settling.steps_in_a_turn(8) == 9
    monkeypatch.setattr(settling, "_is_in_job", lambda: True)
    assert settling.steps_in_a_turn(8) == 8
    assert settling.steps_in_a_turn(0) == 1


def test_ranks_settle_in_as_many_steps_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two workers, four batches are ready after a pause, and more come meanwhile: six steps."""
    monkeypatch.setattr(settling, "_is_in_job", lambda: True)
    waiting = settling.Settling()
    waiting.begin(10**12, 2)
    states = []
    for _ in range(7):
        states.append(waiting.is_over())
        waiting.end_step()
        waiting.begin(10**12, 2) if len(states) == 2 else None
    assert states == [False] * 6 + [True]
    waiting.begin(10**12, 0)
    assert waiting.is_over()


LOADER = f"""{NEVER_COMPILED}
import torch
{RANDOM_NUMBERS}
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
class Batches(Dataset):
    def __len__(self): return 200
    def __getitem__(self, number): return torch.ones(8)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.get_world_size = lambda *_: 2
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
# However busy the machine is, only writing a trace is a pause.
seconds = []
clock = types.SimpleNamespace(perf_counter_ns=lambda: 10**9 * len(seconds))
sys.modules["_tracelens_live.recorder"].time = clock
export = torch.profiler.profile.export_chrome_trace
torch.profiler.profile.export_chrome_trace = lambda *given: (export(*given), seconds.append(1))
for batch in DataLoader(Batches(), batch_size=4, num_workers=4):
    net(batch).sum().backward()
    optimizer.step()
"""


def test_a_rank_records_whole_turns_when_its_queue_is_empty(tmp_path: Path) -> None:
    """Step 6 settles, and so do twelve more: three turns of four workers.

    Three plain steps and one to warm up come before the second window, which is a turn.
    """
    done = run(tmp_path, LOADER, is_fork=False, light=True)
    assert any("recorded steps 22 to 25 again" in note for note in done.notes), done.notes


def test_a_timer_runs_no_python_code_while_it_waits() -> None:
    """The profiler records each thread's Python code as the program's."""
    before = set(sys._current_frames())
    callers: list[threading.Thread] = []
    forget = at_exit.later(0.02, lambda: callers.append(threading.current_thread()), lambda: False)
    assert set(sys._current_frames()) <= before
    until = time.monotonic() + 10
    while not callers and time.monotonic() < until:
        time.sleep(0.001)
    assert callers == [threading.main_thread()]
    forget()
    forget()  # undoing is done once
    at_exit.later(0.01, lambda: callers.append(threading.current_thread()), lambda: False)()
    time.sleep(0.03)
    assert len(callers) == 1
