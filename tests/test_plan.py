"""Compile plans: written, read back, refused when they do not fit, and applied to real models."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracelens.advisor.plan import Choice, Plan, apply_plan
from tracelens.errors import SchemaError, SourceError, UsageError

torch: Any = pytest.importorskip(
    "torch", reason="plans are applied to PyTorch models; torch is not installed here"
)
nn = torch.nn
# Inductor imports torch's own TorchScript modules, which torch 2.13 calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """Two convolutions and an addition in the block itself."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Any) -> Any:  # noqa: D102 - torch's name for it
        return torch.relu(x + self.second(self.first(x)))


class Net(nn.Module):  # type: ignore[misc, name-defined]
    """A stem, two blocks, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.Sequential(Block(4), Block(4))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:  # noqa: D102
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Counting:
    """A backend that runs its graphs as they are, and remembers which calls each one holds."""

    def __init__(self) -> None:
        self.graphs: list[list[str]] = []

    def __call__(self, graph: Any, _: Any) -> Any:  # noqa: D102 - torch's signature
        calls = [node.target for node in graph.graph.nodes if node.op.startswith("call")]
        self.graphs.append([getattr(call, "__name__", str(call)) for call in calls])
        return graph.forward


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


INPUT = torch.arange(3 * 8 * 8, dtype=torch.float32).reshape(1, 3, 8, 8) / 100


@pytest.mark.parametrize(
    ("plan", "graphs"),
    [
        (Plan(()), []),
        (Plan(("stem",)), [["conv2d"]]),
        (Plan(("blocks",)), [["conv2d", "conv2d", "add", "relu"] * 2]),
        (Plan(("blocks.0", "head")), [["conv2d", "conv2d", "add", "relu"], ["linear"]]),
        (Plan(("",)), [["conv2d"] + ["conv2d", "conv2d", "add", "relu"] * 2 + ["mean", "linear"]]),
        (Plan(("blocks.1",), ("blocks.1.first",)), [["conv2d", "add", "relu"]]),
        (
            Plan(("", "blocks.0"), ("blocks",)),
            [["conv2d"], ["conv2d", "conv2d", "add", "relu"], ["mean", "linear"]],
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_exactly_the_named_submodules_are_compiled(plan: Plan, graphs: list[list[str]]) -> None:
    model, backend = Net().eval(), Counting()
    expected = model(INPUT)
    assert apply_plan(model, plan, backend=backend) is model
    assert torch.equal(model(INPUT), expected)
    assert backend.graphs == graphs


def test_more_layers_than_dynamo_recompiles_by_default() -> None:
    model = nn.Sequential(*(nn.Linear(n, n + 1) for n in range(1, 21)))
    backend = Counting()
    apply_plan(model, Plan(tuple(map(str, range(20)))), backend=backend)
    model(torch.ones(2, 1))
    assert backend.graphs == [["linear"]] * 20


@pytest.mark.exhaustive  # Inductor compiles
def test_with_inductor_the_numbers_stay_the_same() -> None:
    model = Net().eval()
    plain = copy.deepcopy(model)
    apply_plan(model, Plan(("blocks", "head"), ("blocks.0.second",)))
    torch.testing.assert_close(model(INPUT), plain(INPUT))
    assert model.state_dict().keys() == plain.state_dict().keys()
    assert torch._dynamo.utils.counters["inductor"]


def test_a_path_that_the_model_does_not_have_changes_nothing() -> None:
    model = Net()
    with pytest.raises(UsageError, match=r"names blocks\.0\.frist, .* closest is blocks\.0\.first"):
        apply_plan(model, Plan(("stem",), ("blocks.0.frist",)))
    assert "forward" not in vars(model.stem)
    with pytest.raises(UsageError, match="as a trace numbers them"):
        apply_plan(model, Plan(("Net_0.Conv2d_0",), paths="instance"))


def test_written_and_read_back(tmp_path: Path) -> None:
    layers: dict[str, Choice] = {
        "stem": "eager",
        "blocks.0.first": "compiled",
        "blocks.0.second": "compiled",
        "head": "eager",
    }
    plan = Plan.of(layers, made_from={"oracle": "dynamic", "switch_cost_ns": 12})
    assert (plan.compile, plan.disable) == (("blocks",), ())
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan
    backend = Counting()
    apply_plan(Net(), tmp_path / "plan.json", backend=backend)(INPUT)
    assert len(backend.graphs) == 1


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", SourceError, "expected a compile plan as JSON"),
        ("[1]", SourceError, "found other JSON"),
        ({"format": "x"}, SourceError, "found other JSON"),
        ({"plan_version": 2}, SchemaError, "plan version 2.*reads up to 1"),
        (
            {"compile": "stem"},
            SourceError,
            r"got `str` - at `\$\.compile`; compile and disable are lists",
        ),
        (
            {"compile": [], "disable": [1]},
            SourceError,
            r"Expected `str`, got `int` - at `\$\.disable\[",
        ),
        (
            {"compile": [], "layers": {"stem": "fast"}},
            SourceError,
            "value 'fast' - .* eager or compiled",
        ),
        (
            {"compile": [], "paths": "absolute"},
            SourceError,
            "value 'absolute' - .* attribute or instance",
        ),
    ],
)
def test_a_file_that_is_no_plan(
    content: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    if isinstance(content, dict):
        content = json.dumps({"format": "tracelens compile plan", "plan_version": 1} | content)
    file.write_text(content)
    with pytest.raises(error, match=message):
        Plan.read(file)
    with pytest.raises(SourceError, match="No such file"):
        Plan.read(tmp_path / "absent.json")
