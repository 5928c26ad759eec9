"""Steps of loops that call no module: replayed graphs, compiled functions, backward."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from tests.never_compiled import NEVER_COMPILED
from tests.test_live_torch import manifest_settings, run, steps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
    ),
]
GRAPH = """
kind = torch.cuda.CUDAGraph
# The CPU has no graphs: this one's replay calls an op.
kind.__mro__[1].replay = lambda graph: torch.ones(4).cumsum(0)
graph = object.__new__(kind)
graph._tracker = None
"""
WARMED = """
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.ones(2)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("code", "source", "op", "first"),
    [
        (GRAPH + "for _ in range(9): graph.replay()", "replayed graph", "aten::cumsum", 3),
        # Twenty replays without the optimizer, then two steps to leave out and one to warm up.
        (
            GRAPH + WARMED + "for _ in range(30): graph.replay()",
            "replayed graph",
            "aten::cumsum",
            8,
        ),
        (
            "w = torch.ones(2, requires_grad=True)\nfor _ in range(9): w.exp().sum().backward()",
            "backward pass",
            "aten::exp",
            3,
        ),
    ],
    ids=["graph", "graph after warm-up", "backward"],
)
def test_a_repeated_call_marks_steps(
    tmp_path: Path, code: str, source: str, op: str, first: int
) -> None:
    done = run(tmp_path, f"{NEVER_COMPILED}import torch\n{code}\n")
    assert manifest_settings(done)["step_source"] == source
    assert steps(done) == [f"ProfilerStep#{n}" for n in range(first, first + 3)]
    calls = done.trace.spans.filter(pl.col("name") == op, pl.col("step").is_not_null())
    assert calls["step"].n_unique() == calls.height == 3
    assert not [note for note in done.notes if "failed" in note]


CONSTANTS = """
class Wind(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shares", torch.ones(4))

    def forward(self, gas):
        return gas.cumsum(0) * self.shares
"""


def test_a_model_of_constants_marks_steps(tmp_path: Path) -> None:
    """A simulation has buffers and no parameters."""
    loop = "wind, gas = Wind(), torch.ones(4)\nfor _ in range(60): gas = wind(gas)\n"
    done = run(tmp_path, f"{NEVER_COMPILED}import torch\n{CONSTANTS}{loop}")
    assert manifest_settings(done)["step_source"] == "outermost module"
    calls = done.trace.spans.filter(pl.col("name") == "aten::cumsum", pl.col("step").is_not_null())
    assert calls["step"].n_unique() == calls.height == 3


@pytest.mark.exhaustive  # Inductor compiles C++
def test_a_compiled_function_marks_steps(tmp_path: Path) -> None:
    code = "import torch\nf = torch.compile(lambda x: (x.sin() + 1).relu())\nx = torch.ones(64)\n"
    done = run(tmp_path, f"{code}for _ in range(9): f(x)\n")
    assert "recorded steps 3 to 5 of 9, found from the compiled function" in done.notes


@pytest.mark.parametrize(
    ("mode", "acts", "n_begun", "source"),
    [
        ("training", False, 2, "optimizer"),
        ("training", True, 2, "optimizer"),  # as reinforcement learning does before it learns
        ("evaluation", True, 39, "outermost module"),
    ],
)
def test_calls_in_training_wait_for_the_optimizer(
    mode: str, acts: bool, n_begun: int, source: str
) -> None:
    import torch  # noqa: PLC0415 - not without it

    from tracelens.collectors.torch.live.steps import StepFinder  # noqa: PLC0415 - as above

    trains = mode == "training"
    cell = torch.nn.RNNCell(2, 2).train(trains)
    begun: list[str | None] = []
    finder = StepFinder(lambda: None, lambda: begun.append(finder.source))
    finder.install()
    try:
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        for _ in range(2):
            hidden = torch.zeros(1, 2)
            with torch.set_grad_enabled(not acts):
                for _ in range(30):
                    hidden = cell(torch.ones(1, 2), hidden)
            if trains:
                cell(torch.ones(1, 2)).sum().backward()
                optimizer.step()
    finally:
        finder.remove()
    # Without training, sixty calls: the first is only seen, twenty more are left to the optimizer.
    assert begun == [source] * n_begun


def test_cells_are_no_steps_where_a_recording_begins() -> None:
    import torch  # noqa: PLC0415 - not without it

    from tracelens.collectors.torch.live.steps import StepFinder  # noqa: PLC0415 - as above

    own_call = torch.nn.Module.__call__
    is_own: list[bool] = []

    class Loop(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = torch.nn.RNNCell(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            is_own.append(torch.nn.Module.__call__ is own_call)
            for _ in range(9):
                x = self.cell(x)
            return x

    begun: list[str | None] = []

    def boundary() -> None:
        begun.append(finder.source)
        if len(begun) == 2:
            with finder.untouched_calls():
                pass

    finder = StepFinder(lambda: None, boundary)
    net = Loop().eval()
    finder.install()
    try:
        with torch.no_grad():
            for _ in range(6):
                net(torch.ones(1, 2))
    finally:
        finder.remove()
    # The first call is only seen.
    assert begun == ["outermost module"] * 5
    # Before the recording, the method that calls modules stays replaced: each change of it slows
    # calls. In the recording, calls of the cell must not be recorded twice.
    assert is_own == [False, False, True, True, True, True]


def test_a_compiled_optimizer_marks_no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch  # noqa: PLC0415 - not without it

    from tracelens.collectors.torch.live.steps import StepFinder  # noqa: PLC0415 - as above

    begun: list[str | None] = []
    finder = StepFinder(lambda: None, lambda: begun.append(finder.source))
    parameter = torch.zeros(2, requires_grad=True)
    parameter.grad = torch.ones(2)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    finder.install()
    try:
        # As while torch.compile traces optimizer.step, hooks included.
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        optimizer.step()
        assert begun == []
        monkeypatch.undo()
        optimizer.step()
        assert begun == ["optimizer"]
    finally:
        finder.remove()
