"""Measured layer times: on a clock that only the layers move, and on real models on the CPU."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tracelens.advisor.measuring import Protocol, measure
from tracelens.advisor.measuring.subtraction import compiled_prefixes
from tracelens.advisor.measuring.variants import EventTimers, sums_of_executions
from tracelens.advisor.plan import Plan
from tracelens.errors import UsageError
from tracelens.schemas import TABLES

torch: Any = pytest.importorskip(
    "torch", reason="models are measured with PyTorch, which is not installed here"
)
nn = torch.nn
# Inductor imports torch's own TorchScript modules, which torch 2.13 calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
X = torch.ones(2, 3)


class Work(nn.Module):  # type: ignore[misc, name-defined]
    """A layer that takes a known time on the test's clock."""

    def __init__(self, spend: Callable[[int], None], ns: int) -> None:
        super().__init__()
        self.spend, self.ns = spend, ns

    def forward(self, x: Any) -> Any:  # noqa: D102 - torch's name for it
        self.spend(self.ns)
        return x + 1

    def __deepcopy__(self, _: Any) -> Any:
        return Work(self.spend, self.ns)


class Net(nn.Module):  # type: ignore[misc, name-defined]
    """first (100), then 7 of the net itself, then inner.twice (20) two times, then last (3)."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        super().__init__()
        self.spend = spend
        self.first, self.last = Work(spend, 100), Work(spend, 3)
        self.inner = nn.Sequential()
        self.inner.twice = Work(spend, 20)

    def forward(self, x: Any) -> Any:  # noqa: D102
        x = self.first(x)
        self.spend(7)
        return self.last(self.inner(self.inner(x)))

    def __deepcopy__(self, _: Any) -> Any:
        return Net(self.spend)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    now = 0

    def spend(ns: int) -> None:
        nonlocal now
        now += ns

    for module in ("benchmark_target", "variants"):
        monkeypatch.setattr(
            f"tracelens.advisor.measuring.{module}.time",
            SimpleNamespace(perf_counter_ns=lambda: now),
        )
    return spend


def told(trace: tl.Trace, method: str) -> dict[str, int]:
    """Return the one duration of each layer by the method. The model itself is `model`."""
    rows = trace.timings.filter(pl.col("method") == method)
    found = rows.group_by(pl.coalesce("module_path", "quantity", pl.lit("model"))).agg(
        pl.col("duration_ns").unique()
    )
    return {name: one for name, (one,) in found.iter_rows()}


def test_every_method_on_a_clock_that_only_layers_move(clock: Callable[[int], None]) -> None:
    methods = ("e2e", "layer", "subtraction")
    trace = measure(Net(clock), X, methods, ("interpreted",), Protocol(profiled=(False,)))
    each = {"first": 100, "inner.twice": 40, "last": 3}
    assert told(trace, "e2e") == {"model": 150}
    assert told(trace, "layer") == {"model": 150, "arr_sum": 143, **each}
    # What runs between two layers counts for the second.
    assert told(trace, "subtraction") == {"arr_sum": 150, **each, "inner.twice": 47}
    for frame in (
        part
        for _, part in trace.timings.group_by("method", "synchronized", "module_path", "quantity")
    ):
        assert frame["is_warmup"].sum() == 4
        assert sorted(frame["round"]) == sorted([*range(12)] * 2)
    columns = ["module_path", "class_name", "call_order"]
    assert trace.layers.select(columns).rows() == [
        ("first", "Work", 0),
        ("inner", "Sequential", 1),
        ("inner.twice", "Work", 2),
        ("last", "Work", 3),
    ]


def test_what_is_not_profiled_is_timed_before_anything_is(
    clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[bool] = []

    def profiling(subject: Any, variant: Any, _: int) -> list[Any]:
        order.append(variant.key["profiled"])
        return []

    # The package has a function of this name, too.
    module = importlib.import_module("tracelens.advisor.measuring.measure")
    monkeypatch.setattr(module, "_round", profiling)
    measure(Net(clock), X, ("e2e", "layer"), ("interpreted",), Protocol())
    assert order == sorted(order)
    assert set(order) == {False, True}


def test_events_of_the_device() -> None:
    now = 0.0

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            nonlocal now
            now += 1.5
            self.at = now

        def elapsed_time(self, end: "Event") -> float:
            return end.at - self.at

    timers = EventTimers(
        SimpleNamespace(cuda=SimpleNamespace(Event=Event, synchronize=lambda: None))
    )
    for path in ("a", "b", "a"):
        timers.record(path)
        timers.record(path)
    assert timers.read() == {"a": 3_000_000, "b": 1_500_000}
    assert timers.read() == {}


def event(name: str, cpu: float, cuda: float, total: float, *children: Any) -> Any:
    return SimpleNamespace(
        name=name,
        self_cpu_time_total=cpu,
        self_device_time_total=cuda,
        device_time_total=total,
        cpu_children=children,
        time_range=SimpleNamespace(start=0),
    )


def test_sums_of_the_profiler_leave_out_our_own_ranges() -> None:
    conv = event("aten::conv2d", 2, 0, 30, event("aten::cudnn_convolution", 5, 30, 30))
    layer = event("tracelens layer: conv", 900, 900, 900, conv)
    run = event("tracelens execution", 900, 900, 900, layer, event("aten::add", 1, 4, 4))
    assert sums_of_executions([event("aten::zeros", 1, 1, 1), run, layer, conv]) == [
        {
            "conv": {"CPU_self": 7000, "CUDA_self": 30_000, "CUDA_total": 30_000},
            None: {"CPU_self": 8000, "CUDA_self": 34_000, "CUDA_total": 34_000},
        }
    ]


class Branches(nn.Module):  # type: ignore[misc, name-defined]
    """Two layers beside each other, and a part common to both."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:  # noqa: D102
        x = x * 2
        return self.left(x) + self.right(x)


def test_a_prefix_hands_out_all_that_the_rest_needs() -> None:
    model = Branches()
    compiled: list[Any] = []
    prefixes, paths = compiled_prefixes(torch, model, compiled.append)
    assert paths == ["left", "right"]
    assert compiled == prefixes
    none, one, two = (prefix(X) for prefix in prefixes)
    torch.testing.assert_close(none, (X * 2,))
    torch.testing.assert_close(one, (X * 2, model.left(X * 2)))
    torch.testing.assert_close(two, (model.left(X * 2), model.right(X * 2)))


@pytest.fixture(scope="module")
def real() -> tl.Trace:
    torch._dynamo.reset()
    # Of neither layer Inductor makes C++, whose compilation takes longer than all else here.
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Flatten()).eval()
    return measure(model, torch.ones(1, 3, 8, 8), protocol=Protocol(rounds=2, warmup_rounds=1))


@pytest.mark.exhaustive  # Inductor compiles; test_compile_provenance has it compile in CI
def test_a_real_model_in_both_configurations_of_the_cpu(real: tl.Trace) -> None:
    rows = real.timings
    TABLES["timings"].check(rows)
    layers = rows.filter(pl.col("module_path").str.contains(r"^\d$"))
    assert set(rows["configuration"]) == {"interpreted", "cpp"}
    assert rows.filter(configuration="cpp")["compile_mode"].unique().to_list() == ["default"]
    for (method,), part in layers.group_by("method"):
        assert part["module_path"].n_unique() == 2, method
        variants = part.group_by("configuration", "synchronized", "profiled", "module_path").len()
        assert set(variants["len"]) == {6}, method  # three rounds of two
    assert set(layers["method"]) == {"layer", "subtraction", "profiler"}
    assert set(rows.drop_nulls("quantity")["quantity"]) == {"arr_sum", "CPU_self"}
    # Timers see what they are around: no layer takes longer than the model with its timers in.
    timed = rows.filter(pl.col("method") == "layer", pl.col("module_path").is_null())
    total, summed = (
        timed.filter(pl.col("quantity").is_null() == plain)["duration_ns"]
        for plain in (True, False)
    )
    assert (total >= summed).all()
    # Compiling happens in the first warm-up round.
    whole = rows.filter(configuration="cpp", method="e2e", synchronized=False, profiled=False)
    assert whole["duration_ns"].arg_max() == 0
    assert real.layers["hyperparameters"].str.json_decode(pl.Struct({"stride": pl.List(pl.Int64)}))[
        0
    ] == {"stride": [1, 1]}
    assert real.layers["n_parameters"].to_list() == [112, 0]
    assert real.diagnostics["code"].to_list() == ["no_cuda_events"]


@pytest.mark.exhaustive
def test_it_is_written_and_joined_to_a_programs_trace(real: tl.Trace, tmp_path: Path) -> None:
    opened = real.write(tmp_path / "times.tracelens")
    assert opened.timings.equals(real.timings)
    assert "tracelens collect torch" in opened.manifest.empty_tables["kernels"]


@pytest.mark.exhaustive
def test_inductor_is_given_back_as_it_was(real: tl.Trace) -> None:
    """What a live capture with --compile-provenance changes there; here, as Inductor is loaded."""
    config, debug, output, live = map(
        importlib.import_module,
        (
            "torch._inductor.config",
            "torch._inductor.debug",
            "torch._inductor.output_code",
            "tracelens.collectors.torch.live.compile_provenance",
        ),
    )

    def patched() -> tuple[object, object]:
        return debug.set_kernel_post_grad_provenance_tracing, output.CompiledFxGraph.__init__

    def settings() -> tuple[object, ...]:
        cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
        return config.trace.provenance_tracking_level, config.triton.cudagraphs, cache

    before, was_set = patched(), settings()
    recorder = live.Recorder()
    recorder.start()
    during = patched()
    recorder.stop()
    assert during[0] is not before[0]
    assert during[1] is not before[1]
    assert (patched(), settings()) == (before, was_set)


def test_a_plan_is_measured_as_the_custom_configuration() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).eval()
    planned = tl.apply_plan(model, Plan(("1",)), backend="eager")
    trace = measure(
        planned, X, configurations=("custom",), protocol=Protocol(rounds=1, warmup_rounds=1)
    )
    assert trace.timings.select("configuration", "method", "module_path").unique().rows() == [
        ("custom", "e2e", None)
    ]
    assert "custom_end_to_end" in trace.diagnostics["code"].to_list()


def test_without_fx_no_compiled_subtraction_is_measured() -> None:
    class Dynamic(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.layer(x) if x.sum() > 0 else x

    trace = measure(
        Dynamic(), X, ("subtraction",), ("interpreted", "cpp"), Protocol(rounds=1, warmup_rounds=1)
    )
    assert set(trace.timings.filter(method="subtraction")["configuration"]) == {"interpreted"}
    assert (
        "cannot be traced by torch.fx"
        in trace.diagnostics.filter(code="subtraction_left_out")["text"][0]
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"methods": ("e2e", "guess")}, "list of methods out of e2e, .*found guess"),
        ({"methods": ()}, "found none"),
        ({"methods": "e2e"}, "expected a list of methods"),
        ({"configurations": ("jit",)}, "list of configurations .*found jit"),
        ({"protocol": Protocol(rounds=0)}, "at least 1, found 0, 2 and 2"),
    ],
)
def test_what_cannot_be_measured(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        measure(nn.ReLU(), X, **asked)


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")
def test_without_a_gpu() -> None:
    with pytest.raises(UsageError, match="triton needs a GPU"):
        measure(nn.ReLU(), X, configurations=("triton",))
