"""The thesis: values read from hand-made results, and the programs that measure them."""

import argparse
import importlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from samples.kit.significance import Range
from samples.thesis import by_timers, costs, figures, modes, oracles, single, subtracted
from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "samples/thesis"
MODULES = tuple(file.stem for file in FOLDER.glob("*.py"))

Load = Callable[[str], ModuleType]


@pytest.fixture
def thesis(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a program of the thesis, which stands beside those that it imports."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def times(low: float, middle: float, high: float) -> dict[str, float]:
    return {"p25_ms": low, "median_ms": middle, "p75_ms": high}


def kernels(ms: float) -> Any:
    """Two steps of as many kernels of 1 ms as said, and one before the first step."""
    rows = [{"duration_ns": 1_000_000, "step": step} for step in (0, 1) for _ in range(int(ms))]
    return make_trace(kernels=[*rows, {"duration_ns": 70_000_000, "step": None}])


def hand_made(model: str, default: dict[str, float], before: tuple[float, float] | None) -> Any:
    """A run of one model whose eager steps take 9 to 11 ms."""
    part = {"e2e": {"eager": times(9, 10, 11), "default": default}}
    earlier = {model: dict(zip(("eager", "default"), before, strict=True))} if before else {}
    captures = {f"{model}_eager": kernels(6), f"{model}_compiled": kernels(3)}
    return figures.Run({"parts": {model: part}}, earlier, captures)


def test_a_speedup_ranges_between_the_quartiles() -> None:
    part = {"e2e": {"eager": times(8, 10, 12), "default": times(4, 5, 6)}}
    assert figures.speedup(part, "default") == (8 / 6, 10 / 5, 12 / 4)
    assert figures.speedup(part, "max-autotune") is None


def test_a_step_s_kernels_leave_out_what_precedes_the_steps() -> None:
    run = hand_made("resnet50", times(5, 5, 5), (10, 5))
    assert figures.kernel_speedup(run, "resnet50") == 2  # 6 ms a step against 3
    assert figures.earlier_speedup(run, "resnet50") == 2


def test_a_whole_compiled_model_pays_for_its_one_region_too() -> None:
    total = {"base_ns": 1000, "other_ns": 500, "chosen_ns": 450, "switch_ns": 40}
    costly = {"switch_cost_ns": 10, "totals": {"dynamic": total}}
    assert oracles.over_best_that_pays(costly) == pytest.approx(520 / 490)
    total["base_ns"] = 505  # eager, which pays nothing, is now the better whole
    assert oracles.over_best_that_pays(costly) == pytest.approx(505 / 490)


def layer_timing(configuration: str, path: str, ms: int, **more: Any) -> dict[str, Any]:
    return {
        "configuration": configuration,
        "module_path": path,
        "duration_ns": ms * 1_000_000,
        "method": "layer",
        "clock": "wall",
        "synchronized": True,
        **more,
    }


def test_layer_times_are_medians_of_synchronised_timers() -> None:
    layers = [{"module_path": "b", "call_order": 0}, {"module_path": "a", "call_order": 1}]
    rows = [
        *(layer_timing("interpreted", "a", ms, round=at) for at, ms in enumerate((2, 3, 9))),
        layer_timing("interpreted", "b", 5),
        layer_timing("interpreted", "b", 50, is_warmup=True),
        layer_timing("interpreted", "b", 50, profiled=True),
        layer_timing("interpreted", "b", 50, synchronized=False),
        layer_timing("cpp", "a", 1),
    ]
    run = hand_made("alexnet", times(5, 5, 5), None)
    run.captures["alexnet_timings_interpreted"] = make_trace(layers=layers, timings=rows)
    frame = by_timers.layer_times(run, "alexnet").filter(configuration="interpreted")
    assert frame.select("module_path", "ms").rows() == [("b", 5.0), ("a", 3.0)]


def test_a_layer_is_faster_where_the_quartiles_are_apart() -> None:
    layers = [{"module_path": path, "call_order": at} for at, path in enumerate("abc")]
    pairs = {
        "a": ((9, 10, 11), (4, 5, 6)),
        "b": ((9, 10, 30), (8, 11, 12)),
        "c": ((1, 2, 2), (5, 5, 6)),
    }
    rows = [
        layer_timing(configuration, path, ms, round=at)
        for path, both in pairs.items()
        for configuration, times_ in zip(("cuda", "triton"), both, strict=True)
        for at, ms in enumerate(times_)
    ]
    run = hand_made("alexnet", times(5, 5, 5), None)
    run.captures["alexnet_timings_cuda"] = make_trace(layers=layers, timings=rows)
    frame = by_timers.layers(run, "alexnet", by_timers.GPU)
    assert frame["ratio"].to_list() == [10 / 5, 10 / 11, 2 / 5]
    assert by_timers.sides(frame) == (1, 1)
    # CUDA takes 22 ms, Triton 21; the better of both for each layer 5 + 10 + 2.
    assert by_timers.best_of_two(frame) == pytest.approx(21 / 17)
    assert by_timers.by_parts(frame) == [2.0, 10 / 11, 0.4]


def subtraction(custom: int) -> pl.DataFrame:
    """Two layers in two executions, timed until the end of each.

    The later turn has the custom configuration.
    """
    until = {
        "eager": ((100, 300), (110, 330)),
        "compiled": ((150, 200), (170, 230)),
        "custom": ((90, custom),) * 2,
    }
    rows = [
        (way, order, layer, 0, execution, until[way][execution][order] * 1000, turn)
        for turn in (0, 1)
        for way in until
        if turn or way != "custom"
        for execution in (0, 1)
        for order, layer in enumerate(("one", "two"))
    ]
    columns = ["configuration", "layer_order", "layer", "round", "execution", "until_ns", "turn"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def run_of(frame: pl.DataFrame) -> subtracted.Model:
    parts = {"parts": {"subtraction_resnet50": {"custom": ["two"]}}}
    (model,) = subtracted.models_of(figures.Run(parts, {}, {}, {"resnet50": frame})).values()
    return model


def test_by_subtraction_a_layer_takes_what_it_adds() -> None:
    model = run_of(subtraction(200))
    assert [r.middle for r in model.chosen["eager"]] == [105, 210]  # 300 - 100 and 330 - 110
    assert [r.middle for r in model.chosen["compiled"]] == [160, 55]
    assert subtracted.best(model) == 105 + 55
    assert model.stretch("compiled", 1, 1, 0).middle == 55
    assert subtracted.outcomes(model, [0, 1]) == [False, True]


def test_a_layer_is_faster_where_both_turns_say_so() -> None:
    frame = subtraction(200)
    later = pl.col("turn") == 1
    model = run_of(frame.with_columns(until_ns=pl.when(later).then(300_000).otherwise("until_ns")))
    # In the later turn the first layer takes 300 µs either way, the second none.
    assert subtracted.outcomes(model, [0, 1]) == [None, None]


def test_a_first_turn_at_half_speed_is_left_out() -> None:
    frame = subtraction(200)
    first = pl.col("turn") == 0
    doubled = pl.when(first).then(pl.col("until_ns") * 2).otherwise("until_ns")
    swapped = frame.with_columns(until_ns=doubled)
    model = run_of(swapped)
    assert model.first_was_slow
    assert not run_of(frame).first_was_slow


def by_mode(kind: str, size: int, *times_: tuple[float, float, float]) -> dict[str, Any]:
    names = ("eager", "default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
    row: dict[str, Any] = {"kind": kind, "size": size, "compile_s": dict.fromkeys(names[1:], 0.5)}
    for name, (low, middle, high) in zip(names, times_, strict=False):
        row |= {f"{name}_ms": middle, f"{name}_quartiles_ms": [low, high]}
    return row


def test_the_slowest_mode_is_set_over_the_fastest() -> None:
    rows = [
        by_mode("matmul", 9, (1, 1, 1), (1, 2, 3), (2, 2, 2), (4, 4, 4), (1, 1, 2)),
        by_mode("matmul", 10, (1, 1, 1), (1, 1, 1)),  # the time ended
    ]
    run = figures.Run({"parts": {"modes": {"modes": rows}}}, {}, {})
    (row,) = modes.measured(run)["matmul"]
    assert modes.slowest_over_fastest(row) == Range(2, 4, 4)
    assert len(modes.of_kind(run, "matmul")) == 2


def test_an_operation_s_speedup_is_by_the_clock_and_by_kernels() -> None:
    row = {
        "kind": "matmul",
        "eager_ms": 4,
        "eager_quartiles_ms": [3, 5],
        "eager_kernel_ms": {"a": 2.0},
        "compiled_ms": 2,
        "compiled_quartiles_ms": [1, 2],
        "compiled_kernel_ms": {"a": 0.5},
    }
    (found,) = single.of_kind(
        figures.Run({"parts": {"operations": {"operations": [row]}}}, {}, {}), "matmul"
    )
    assert (found["speedup"], found["by_kernels"]) == (Range(1.5, 2, 5), 4)


def test_a_model_is_timed_before_under_and_after_the_profiler() -> None:
    about = {"model": "net", "of": "eager"}
    by_state = {costs.NEVER: [1, 2, 3], costs.UNDER: [4, 8, 9], costs.AFTER: [2, 2, 2]}
    rows: list[dict[str, object]] = [
        about | {"state": state, "durations_ns": [ms * 1_000_000 for ms in times]}
        for state, times in by_state.items()
    ]
    rows.append({"model": "net", "variant": "sync", "profiled": False, "wall_ms": [5, 6, 7]})
    run = figures.Run({}, {}, {}, baselines=rows)
    assert costs.states(run, "net", "eager") == {
        costs.NEVER: Range(1.5, 2, 2.5),
        costs.UNDER: Range(6, 8, 8.5),
        costs.AFTER: Range(2, 2, 2),
    }
    assert costs.times_of(run, "net", "cuda") == {("sync", False): Range(5, 6, 7)}


def test_scripts_ask_the_package_only_for_names_that_it_offers() -> None:
    asked = {
        name
        for folder in (ROOT / "samples").iterdir()
        for script in folder.glob("*.py")
        if "import tracelens as tl" in script.read_text()
        for name in re.findall(r"\btl\.(\w+)", script.read_text())
    }
    assert asked <= {*tl.__all__}
    assert {"open", "make_plan"} <= asked


def test_the_custom_configuration_is_what_medians_choose(
    thesis: Load,
) -> None:
    frame = subtraction(100).filter(turn=0)
    assert thesis("subtraction").faster_compiled(frame) == ["two"]


def test_a_prefix_runs_the_first_layers(thesis: Load) -> None:
    torch = pytest.importorskip("torch")
    models, subtraction_ = thesis("models"), thesis("subtraction")
    network, x = models.model("tiny"), models.batch(2, 8, "cpu")
    layers = list(subtraction_.layers_of(network))
    with torch.no_grad():
        found = [prefix(x)[0] for prefix in subtraction_.prefixes(network, layers)]
        expected = x
        for layer, result in zip(network, found, strict=True):
            expected = layer(expected)
            assert torch.equal(result, expected)


def test_a_second_run_adds_its_modes_to_the_first(thesis: Load) -> None:
    before = {
        "model": "a",
        "compile_s": {"default": 9},
        "e2e": {"eager": 1, "default": 2},
        "oracle": 3,
    }
    now = {
        "model": "a",
        "compile_s": {"max-autotune": 8},
        "e2e": {"max-autotune": 4},
        "failures": {"x": "y"},
    }
    assert thesis("run").merged(before, now) == {
        "model": "a",
        "compile_s": {"default": 9, "max-autotune": 8},
        "oracle": 3,
        "failures": {"x": "y"},
        "e2e": {"eager": 1, "default": 2, "max-autotune": 4},
    }


def test_a_job_still_compiling_is_ended_before_others(thesis: Load, tmp_path: Path) -> None:
    """One process that never comes to the first phase.

    Its child holds on to the machine as a compiler does.
    """
    run = thesis("run")
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import signal;"
        " signal.pause()'])"
    )
    slow = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    (tmp_path / "slow.json").write_text('{"model": "slow"}')
    over, never = time.time() - 1, time.time() + 60
    options = argparse.Namespace(out=tmp_path)
    run.watch(
        options,
        {"slow": slow},
        {"compiled": over, "timed": never, "planned": never, "measured": never},
    )
    assert slow.returncode == -signal.SIGKILL
    assert json.loads((tmp_path / "slow.json").read_text())["failures"]["process"].endswith(
        "not compiled in time"
    )
    # Only now may another one measure, which waits for nothing else.
    stage = thesis("stage").Stage(tmp_path, "quick", 2, never)
    stage.ready("compiled")
    alone = thesis("stage").Stage(tmp_path, "quick", 3, over - 60)
    with pytest.raises(TimeoutError, match="compiled"):
        alone.ready("compiled")
