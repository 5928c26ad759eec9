"""The thesis's page: its verdicts on hand-made results, and the page made from the committed captures."""

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
from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [ROOT / "samples" / name for name in ("study", "thesis")]
MODULES = tuple(file.stem for folder in FOLDERS for file in folder.glob("*.py"))
CAPTURES = ROOT / "samples/thesis/captures"

Load = Callable[[str], ModuleType]


@pytest.fixture
def thesis(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a script of the thesis; the study's folder, whose page pieces it takes, has an `analyse` of its own."""
    for folder in FOLDERS:
        monkeypatch.syspath_prepend(str(folder))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def times(low: float, middle: float, high: float) -> dict[str, float]:
    return {"p25_ms": low, "median_ms": middle, "p75_ms": high}


def kernels(ms: float) -> Any:
    """Two steps of as many kernels of 1 ms as said, and one before the first step."""
    rows = [{"duration_ns": 1_000_000, "step": step} for step in (0, 1) for _ in range(int(ms))]
    return make_trace(kernels=[*rows, {"duration_ns": 70_000_000, "step": None}])


def hand_made(
    figures: ModuleType, model: str, default: dict[str, float], before: tuple[float, float] | None
) -> Any:
    """A run of one model whose eager steps take 9 to 11 ms."""
    part = {"e2e": {"eager": times(9, 10, 11), "default": default}}
    earlier = {model: dict(zip(("eager", "default"), before, strict=True))} if before else {}
    captures = {f"{model}_eager": kernels(6), f"{model}_compiled": kernels(3)}
    return figures.Run({"parts": {model: part}}, earlier, captures)


@pytest.mark.parametrize(
    ("model", "default", "before", "holds"),
    [
        ("resnet50", times(5, 5, 5), (10, 5), True),  # 9 ms is more than 5
        ("resnet50", times(5, 5, 5), None, True),
        ("resnet50", times(5, 5, 5), (10, 12), None),  # the sessions differ
        ("resnet50", times(9, 10, 10), (10, 5), None),  # 9 to 11 and 9 to 10 overlap
        ("resnet50", times(12, 13, 14), (10, 12), False),  # 11 is less than 12
        ("alexnet", times(12, 13, 14), (10, 12), True),
        ("alexnet", times(5, 5, 5), (10, 5), False),
        ("squeezenet1_1", times(10, 10.5, 11), (10, 10), True),  # 10 / 10.5 is within a tenth of 1
        ("squeezenet1_1", times(5, 5, 5), (10, 5), False),
        ("squeezenet1_1", times(10, 10.5, 11), (10, 5), None),
    ],
)
def test_a_speedup_holds_only_where_both_sessions_say_so(
    thesis: Load,
    model: str,
    default: dict[str, float],
    before: tuple[float, float] | None,
    *,
    holds: bool | None,
) -> None:
    run = hand_made(thesis("figures"), model, default, before)
    finding = thesis("whole")._box_finding(run, model, run.results["parts"][model])
    assert finding.holds is holds
    assert finding.now.endswith(
        "by kernels 2.00"
    )  # 6 ms a step against 3; what precedes the steps is left out


def test_a_speedup_ranges_between_the_quartiles(thesis: Load) -> None:
    part = {"e2e": {"eager": times(8, 10, 12), "default": times(4, 5, 6)}}
    assert thesis("figures").speedup(part, "default") == (8 / 6, 10 / 5, 12 / 4)
    assert thesis("figures").speedup(part, "max-autotune") is None


def test_a_whole_compiled_model_pays_for_its_one_region_too(thesis: Load) -> None:
    total = {"base_ns": 1000, "other_ns": 500, "chosen_ns": 450, "switch_ns": 40}
    costly = {"switch_cost_ns": 10, "totals": {"dynamic": total}}
    assert thesis("oracles").over_best_that_pays(costly) == pytest.approx(520 / 490)
    total["base_ns"] = 505  # eager, which pays nothing, is now the better whole
    assert thesis("oracles").over_best_that_pays(costly) == pytest.approx(505 / 490)


@pytest.mark.parametrize(
    ("last", "holds"), [(0.96, True), (0.91, True), (1.8, False), (0.8, False)]
)
def test_blocks_converge_by_their_longest_chain(thesis: Load, last: float, *, holds: bool) -> None:
    rows = [
        {"blocks": 16, "speedup": last, "by_kernels": None},
        {"blocks": 1, "by_kernels": None, "speedup": 0.95 if not holds else 3.0},
    ]
    assert thesis("single_claims").converges(rows).holds is holds


def test_no_blocks_no_verdict(thesis: Load) -> None:
    assert thesis("single_claims").converges([]).holds is None


def test_part_of_what_is_saved_is_neither_the_cause_nor_none(thesis: Load) -> None:
    assert [thesis("layerwise").is_cause(share) for share in (0.6, 0.3, 0.02)] == [
        True,
        None,
        False,
    ]


@pytest.mark.parametrize(
    ("quartiles", "twofold", "little"),
    [
        ((1.0, 1.05, 1.09), False, True),
        ((1.0, 1.2, 1.3), False, None),
        ((1.2, 1.4, 1.6), None, False),
        ((1.5, 2, 2.5), True, False),
        ((2.6, 3, 4), False, False),
    ],
)
def test_costs_are_judged_by_their_quartiles(
    thesis: Load,
    quartiles: tuple[float, float, float],
    *,
    twofold: bool | None,
    little: bool | None,
) -> None:
    costs, cost = thesis("costs"), thesis("figures").Speedup(*quartiles)
    assert (costs.is_twofold(cost), costs.is_little(cost)) == (twofold, little)
    assert costs.is_notable(cost) is (None if little is None else not little)


def test_the_page_of_the_captures_has_every_section(thesis: Load) -> None:
    analyse = thesis("analyse")
    run = analyse.read(CAPTURES)
    made = analyse.sections(run)
    text = analyse.page(made, run, "thesis")
    assert [section.title for section in made] == [
        "Out of the box",
        "Where the time went",
        "Layout transforms",
        "Layer by layer",
        "Layer by layer, by timers",
        "Curves per layer in four configurations",
        "In theory: the oracle",
        "Our plans, applied",
        "Layer subtraction, and the mixture it chooses",
        "Single operations",
        "What the compiled kernels' layers rest on",
        "What measuring costs",
        "What was not measured",
    ]
    for name in (
        "AlexNet",
        "DenseNet-121",
        "GoogLeNet",
        "MobileNetV2",
        "ResNet-50",
        "SqueezeNet 1.1",
    ):
        assert all(
            name in "".join(section.blocks) for section in made if section.title not in _OF_NO_MODEL
        ), name
    assert not re.search(r"\b(nan|None|inf)\b", text)
    assert "were not timed in" not in text
    assert (ROOT / "docs/thesis.md").read_text() == text

    subtracted = next(section for section in made if section.title.startswith("Layer subtraction"))
    rows = [
        line.split(" | ")[0].removeprefix("| ") for line in subtracted.blocks[1].splitlines()[2:]
    ]
    assert rows == [
        "AlexNet",
        "DenseNet-121",
        "GoogLeNet",
        "MobileNetV2",
        "ResNet-50",
        "SqueezeNet 1.1",
    ]
    assert "ubtraction" not in made[-1].blocks[-1]


_OF_NO_MODEL = (
    "What was not measured",
    "Curves per layer in four configurations",
    "Single operations",
)


def test_every_chart_of_the_page_is_committed() -> None:
    page = ROOT / "docs/thesis.md"
    charts = re.findall(r"\]\((thesis/\w+\.svg)\)", page.read_text())
    assert sorted(charts) == sorted(
        f"thesis/{file.name}" for file in (page.parent / "thesis").iterdir()
    )
    assert {
        "thesis/speedup.svg",
        "thesis/layout.svg",
        "thesis/layers.svg",
        "thesis/single.svg",
    } < set(charts)
    assert all("<svg" in (page.parent / chart).read_text()[:200] for chart in charts)


def test_the_page_says_the_times_that_results_has(thesis: Load) -> None:
    parts = json.loads((CAPTURES / "results.json").read_text())["parts"]
    e2e = parts["resnet50"]["e2e"]
    ratio = e2e["eager"]["median_ms"] / e2e["reduce-overhead"]["median_ms"]
    section = thesis("whole").out_of_the_box(thesis("figures").read(CAPTURES))
    assert re.search(rf"\| ResNet-50 \| 1\.61 \|[^|]*\| {ratio:.2f} \(", "\n".join(section.blocks))


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


def test_curves_are_the_medians_of_synchronised_timers_in_the_order_of_calls(thesis: Load) -> None:
    layers = [{"module_path": "b", "call_order": 0}, {"module_path": "a", "call_order": 1}]
    rows = [
        *(layer_timing("interpreted", "a", ms, round=at) for at, ms in enumerate((2, 3, 9))),
        layer_timing("interpreted", "b", 5),
        layer_timing("interpreted", "b", 50, is_warmup=True),
        layer_timing("interpreted", "b", 50, profiled=True),
        layer_timing("interpreted", "b", 50, synchronized=False),
        layer_timing("cpp", "a", 1),
    ]
    run = hand_made(thesis("figures"), "alexnet", times(5, 5, 5), None)
    run.captures["alexnet_timings_interpreted"] = make_trace(layers=layers, timings=rows)
    curves = thesis("curves")
    frame = curves.layer_times(run, "alexnet").filter(configuration="interpreted")
    assert frame.select("module_path", "ms").rows() == [("b", 5.0), ("a", 3.0)]
    (section,) = curves.section(run)
    assert "| AlexNet | 8.00 | 1.00 | - | - |" in section.blocks[1]
    # Of the pair on the CPU only layer `a` has both: its better time is 1 ms.
    bars, figure = section.figures
    (values,) = bars.chart.to_dict()["datasets"].values()
    assert {"model": "AlexNet", "run": "best of two, CPU", "ms": 1.0} in values
    assert figure.chart.to_dict()["encoding"]["x"]["scale"]["type"] == "log"
    said = " ".join(thesis("whole").not_measured(run).blocks)
    assert "The layers of AlexNet were not timed in: CUDA; Triton." in said
    assert "`max-autotune`" in said


def test_a_layer_counts_as_faster_by_timers_only_where_the_quartiles_are_apart(
    thesis: Load,
) -> None:
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
    run = hand_made(thesis("figures"), "alexnet", times(5, 5, 5), None)
    run.captures["alexnet_timings_cuda"] = make_trace(layers=layers, timings=rows)
    by_timers = thesis("by_timers")
    frame = by_timers.layers(run, "alexnet", by_timers.GPU)
    assert frame["ratio"].to_list() == [10 / 5, 10 / 11, 2 / 5]
    assert by_timers.sides(frame) == (1, 1)
    # CUDA takes 22 ms, Triton 21; the better of both for each layer 5 + 10 + 2.
    assert by_timers.best_of_two(frame) == pytest.approx(21 / 17)
    assert by_timers.by_parts(frame) == [2.0, 10 / 11, 0.4]


def subtraction(custom: int) -> pl.DataFrame:
    """Two layers in two executions, timed until the end of each; the later turn has the custom configuration."""
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


@pytest.mark.parametrize(("custom", "holds"), [(200, True), (315, None), (400, False)])
def test_by_subtraction_a_layer_takes_what_it_adds(
    thesis: Load, custom: int, *, holds: bool | None
) -> None:
    run = thesis("figures").Run(
        {"parts": {"subtraction_resnet50": {"custom": ["two"]}}},
        {},
        {},
        {"resnet50": subtraction(custom)},
    )
    subtracted = thesis("subtracted")
    (model,) = subtracted.models_of(run).values()
    assert [span.middle for span in model.chosen["eager"]] == [105, 210]  # 300 - 100 and 330 - 110
    assert [span.middle for span in model.chosen["compiled"]] == [160, 55]
    claims = thesis("subtraction_claims")
    assert claims.best(model) == 105 + 55
    assert claims.sides(model) == (1, 1)
    assert model.stretch("compiled", 1, 1, 0).middle == 55
    # Eager takes 307.5 to 322.5 µs by its quartiles.
    assert claims.findings({"resnet50": model})[0].holds is holds


def test_a_layer_is_faster_by_subtraction_only_where_both_turns_say_so(thesis: Load) -> None:
    frame = subtraction(200)
    later = pl.col("turn") == 1
    slow = (
        pl.when(later & (pl.col("configuration") == "compiled"))
        .then(900_000)
        .otherwise(pl.col("until_ns"))
    )
    run = thesis("figures").Run(
        {"parts": {"subtraction_resnet50": {"custom": []}}},
        {},
        {},
        {"resnet50": frame.with_columns(until_ns=slow)},
    )
    (model,) = thesis("subtracted").models_of(run).values()
    # Compiled, the second layer adds 55 µs, then nothing; the first takes 160, then 900.
    assert thesis("subtraction_claims").outcomes(model, [0, 1]) == ["slower", "faster"]
    run.subtraction["resnet50"] = frame.with_columns(
        until_ns=pl.when(later).then(1000).otherwise(pl.col("until_ns"))
    )
    (model,) = thesis("subtracted").models_of(run).values()
    assert thesis("subtraction_claims").outcomes(model, [0, 1]) == ["unclear", "unclear"]


def by_mode(kind: str, size: int, *times_: tuple[float, float, float]) -> dict[str, Any]:
    names = ("eager", "default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
    row: dict[str, Any] = {"kind": kind, "size": size, "compile_s": dict.fromkeys(names[1:], 0.5)}
    for name, (low, middle, high) in zip(names, times_, strict=False):
        row |= {f"{name}_ms": middle, f"{name}_quartiles_ms": [low, high]}
    return row


def test_modes_differ_on_the_cpu_only_where_numpy_s_products_say_so_too(thesis: Load) -> None:
    even, slow, wide = (1, 1, 1), (2, 2, 2), (1, 2, 3)
    rows = [
        by_mode("matmul", 9, even, even, even, even, even),
        by_mode("matmul_cpu", 9, even, even, even, even, slow),
        by_mode("matmul_numpy", 9, slow, even, even, even, wide),
        by_mode("matmul_numpy", 10, even, even),  # the time ended: no row of the table
        by_mode("matmul_cpu", 10, even, even),
    ]
    run = thesis("figures").Run({"parts": {"modes": {"modes": rows}}}, {}, {})
    modes = thesis("modes")
    found = {finding.claim.rsplit(" ", 1)[-1]: finding for finding in modes.findings(run)}
    assert (found["products"].holds, found["CPU"].holds) == (True, None)
    assert found["CPU"].now.endswith(
        "PyTorch: 9: 2.00 (2.00 to 2.00); NumPy: 9: 2.00 (1.00 to 3.00)"
    )
    assert found["PyTorch's"].holds is False
    assert found["PyTorch's"].now.endswith("9: 2.00 (2.00 to 2.00); 10: 1.00 (1.00 to 1.00)")
    assert [line.count("|") for line in modes.blocks(run)[1].splitlines()[2:]] == [8, 8, 8]
    rows[2] = by_mode("matmul_numpy", 9, slow, even, even, even, slow)
    found = {finding.claim.rsplit(" ", 1)[-1]: finding for finding in modes.findings(run)}
    assert found["CPU"].holds is False


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


def test_what_is_compiled_in_the_custom_configuration_is_what_the_medians_choose(
    thesis: Load,
) -> None:
    frame = subtraction(100).filter(turn=0)
    assert thesis("subtraction").faster_compiled(frame) == ["two"]


def test_a_prefix_runs_the_first_layers_and_the_last_one_the_model(thesis: Load) -> None:
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


def test_without_timings_there_are_no_curves_and_that_is_said(thesis: Load) -> None:
    run = hand_made(thesis("figures"), "alexnet", times(5, 5, 5), None)
    assert thesis("curves").section(run) == []
    assert "curves per layer" in " ".join(thesis("whole").not_measured(run).blocks)


def test_modes_that_were_measured_are_shown(thesis: Load) -> None:
    run = hand_made(thesis("figures"), "alexnet", times(5, 5, 5), None)
    assert thesis("whole").shown_modes(run) == ("default", "reduce-overhead")
    run.results["parts"]["alexnet"]["e2e"]["max-autotune"] = times(4, 4, 4)
    assert thesis("whole").shown_modes(run) == ("default", "reduce-overhead", "max-autotune")
    run.results["parts"]["vgg"] = {"e2e": {"default": times(4, 4, 4)}, "model": "vgg"}
    assert thesis("whole")._missing(run) == {
        ("reduce-overhead", "max-autotune-no-cudagraphs"): ["alexnet"],
        ("reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune"): ["vgg"],
    }


def test_a_tuned_mode_that_loses_is_set_against_the_same_with_tf32(thesis: Load) -> None:
    run = hand_made(thesis("figures"), "alexnet", times(5, 5, 5), None)
    tuned = thesis("whole")._tuned
    assert tuned(run) == []
    e2e = run.results["parts"]["alexnet"]["e2e"]
    e2e["max-autotune"] = times(4, 4, 4)
    assert tuned(run) == []
    e2e["max-autotune"] = times(8, 8, 8)
    assert tuned(run) == ["`max-autotune` is slower than the default mode in AlexNet."]
    e2e["max-autotune-tf32"] = times(2, 2.5, 3)
    (said,) = tuned(run)
    assert (
        "takes 2.50 (2.00 to 3.00) ms for AlexNet instead of 8.00 (8.00 to 8.00): 4.00 (3.00 to"
        " 5.50)" in said
    )


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


def test_who_still_compiles_when_its_time_is_over_is_ended_before_others_measure(
    thesis: Load, tmp_path: Path
) -> None:
    """One process that never comes to the first phase; its child holds on to the machine as a compiler does."""
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
