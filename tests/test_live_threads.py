"""Programs under `collect torch` whose steps run in other threads than the main one, on the CPU."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from tests.never_compiled import NEVER_COMPILED
from tests.test_live_torch import LiveRun, run, steps
from tracelens.errors import ToolError

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)

TRAIN = f"""{NEVER_COMPILED}
import threading, time
import torch

torch.set_num_threads(1)

def train(n_steps, turns=None):
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(n_steps):
        if turns is not None:
            turns.wait()
        model(torch.ones(4, 4)).sum().backward()
        optimizer.step()

"""


def warnings(done: LiveRun) -> list[str]:
    return done.trace.diagnostics.filter(pl.col("severity") == "warning")["code"].to_list()


def test_of_two_threads_that_train_the_first_has_the_steps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """
turns = threading.Barrier(2)
threads = [threading.Thread(target=train, args=(9, turns)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    done = run(tmp_path, TRAIN + code, is_fork=False, stacks=False)
    assert done.exit_code == 0
    assert capfd.readouterr().err == ""
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    assert warnings(done) == ["other_trainers"]
    assert done.trace.spans.filter(pl.col("name") == "aten::addmm").height == 3


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param("", marks=pytest.mark.exhaustive),
        "sum(range(10**6))",
        # A thread that sleeps waits as one that joins another does.
        pytest.param("time.sleep(0.1)", marks=pytest.mark.exhaustive),
    ],
)
def test_steps_beside_a_main_thread_that_waits_or_works(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], meanwhile: str
) -> None:
    """What was recorded in the main thread is ended there.

    Elsewhere torch says that a callback is leaked.
    """
    code = f"""
torch.nn.Linear(4, 4)(torch.ones(4))  # the first module is called here, the steps are elsewhere
thread = threading.Thread(target=train, args=(9,))
thread.start()
{meanwhile}
thread.join()
"""
    done = run(tmp_path, TRAIN + code, stacks=False)
    assert (done.exit_code, capfd.readouterr().err) == (0, "")
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    assert warnings(done) == []


def test_a_thread_that_ends_early_keeps_its_steps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "thread = threading.Thread(target=train, args=(5,)); thread.start(); thread.join()"
    done = run(tmp_path, TRAIN + code, stacks=False)
    assert (done.exit_code, capfd.readouterr().err) == (0, "")
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert "the thread whose steps were recorded ended before all steps asked for" in done.notes


def test_a_thread_that_is_still_in_a_step_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """
is_inside = threading.Event()
def stuck():
    train(4)
    is_inside.set()
    threading.Event().wait()
threading.Thread(target=stuck, daemon=True).start()
is_inside.wait()
"""
    why = "nothing was captured: the program ended while another of its threads.*exit code 0"
    with pytest.raises(ToolError, match=why):
        run(tmp_path, TRAIN + code, stacks=False)
    assert capfd.readouterr().err == ""


def test_the_next_thread_goes_on_where_one_has_ended(tmp_path: Path) -> None:
    """The first thread ends while the profiler warms up for step 3."""
    code = """
for n_steps in (2, 9):
    thread = threading.Thread(target=train, args=(n_steps,)); thread.start(); thread.join()
"""
    done = run(tmp_path, TRAIN + code, stacks=False)
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
