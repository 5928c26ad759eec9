"""What limits small programs on the CPU, and on which line: real ones, under the real profiler."""

import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

from tests.never_compiled import NEVER_COMPILED
from tests.selection import only
from tests.test_live_torch import LiveRun, capture_program, check_a_capture, run
from tracelens.analyses import verdict
from tracelens.answers import make_answer
from tracelens.collectors.torch.live.settings import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
    ),
]

HEAD = f"""{NEVER_COMPILED}
import time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = torch.randn(4096, 4096)

def work(model):
    for step in range(9):
        loss = model(torch.randn(32, 64)).square().mean()
        loss.backward()
        optimizer.step()
        CAUSE
"""
CAUSES = {
    "item": (
        "total = sum(loss.item() for _ in range(2000))",
        "launch",
        "The program reads single values back",
    ),
    "clones": (
        "copies = [kept.clone() for _ in range(3)]",
        "copy",
        "The CPU copies or sets memory",
    ),
    "small": (
        "for _ in range(1500): loss = loss.detach() * 2",
        "launch",
        "The program calls many small ops",
    ),
}


# Of `item` the bound is that of `small`; test_cpu_work has its words.
@pytest.mark.parametrize("cause", only(["clones"], ["item", "clones", "small"]))
def test_the_cause_and_its_line(tmp_path: Path, cause: str) -> None:
    line, bound, words = CAUSES[cause]
    code = textwrap.dedent(HEAD).replace("CAUSE", line) + "\nwork(model)\n"
    number = next(i for i, text in enumerate(code.splitlines(), 1) if line in text)

    def check(done: LiveRun) -> None:
        answer = make_answer(done.trace)
        assert verdict(done.trace)["bound"].to_list() == [bound]
        assert answer.sentence.startswith(words)
        assert f"script.py:{number} " in f"{answer.place} "
        assert answer.changes

    # Recording Python calls makes small ops many times as slow; lines are sampled either way.
    check_a_capture(lambda: run(tmp_path, code, stacks=bound == "copy"), check)


@pytest.mark.exhaustive
def test_a_rank_of_two_that_sleeps_is_named_with_its_line(tmp_path: Path) -> None:
    code = HEAD.replace("model = torch", RANKS + "model = torch").replace(
        "CAUSE", "time.sleep(0.03 * torch.distributed.get_rank())"
    )
    wrapped = "\nwork(torch.nn.parallel.DistributedDataParallel(model))\n"
    code = textwrap.dedent(code) + wrapped + "torch.distributed.destroy_process_group()\n"
    (tmp_path / "toy.py").write_text(code)
    number = next(i for i, text in enumerate(code.splitlines(), 1) if "sleep" in text)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

    def check(done: LiveRun) -> None:
        assert done.trace.manifest.ranks == [0, 1]
        assert verdict(done.trace)["bound"].to_list() == ["waiting", "host"]
        answer = make_answer(done.trace)
        assert answer.sentence.startswith("Rank 0 waits for rank 1, at a cost of ")
        assert f"toy.py:{number} " in str(answer.place)
        assert answer.changes[0].text.startswith("on rank 1: the program only waits")

    command = [*launch, str(tmp_path / "toy.py")]
    check_a_capture(lambda: capture_program(command, Settings("")), check)


RANKS = 'torch.distributed.init_process_group("gloo")\n'
