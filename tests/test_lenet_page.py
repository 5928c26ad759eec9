"""LeNet at every level: the network, the counter of code, the verdicts on hand-made times, and the committed page."""

import importlib
import importlib.util
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
LENET = ROOT / "samples/lenet"
CAPTURES = LENET / "captures"
PAGE = ROOT / "docs/lenet.md"
MODULES = (
    "analyse",
    "captured",
    "charts",
    "code_length",
    "level",
    "levels",
    "net",
    "page",
    "rows",
    "run",
    "there",
    "torch_levels",
    "verdicts",
)

Load = Callable[[str], ModuleType]


@pytest.fixture
def lenet(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a script of the folder; the study's, whose page pieces it takes, has some of the same names."""
    for folder in (ROOT / "samples/study", LENET):
        monkeypatch.syspath_prepend(str(folder))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


# The network


@pytest.mark.parametrize(("size", "n"), [("large", 3_274_634), ("small", 27_636)])
def test_the_layers_have_the_source_s_numbers_of_parameters(lenet: Load, size: str, n: int) -> None:
    made = lenet("net").SIZES[size]
    assert sum(math.prod(shape) for shape in made.shapes.values()) == n == made.n_parameters


def test_weights_and_images_are_a_hash_of_their_index(lenet: Load) -> None:
    net = lenet("net")
    words = 1 << 32
    for index, seed in ((0, 0), (7, 3), (783, 0)):
        h = (index + seed * 0x9E3779B1) % words
        h = ((h ^ (h >> 15)) * 0x85EBCA6B) % words
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) % words
        assert net.noise(index + 1, seed)[index] == (h ^ (h >> 16)) / words


def test_the_file_of_weights_is_the_same_each_time(lenet: Load, tmp_path: Path) -> None:
    net = lenet("net")
    path = net.weights_file(net.SIZES["small"], tmp_path)
    assert path.stat().st_size == 4 * 27_636
    assert (np.fromfile(path, np.float32) == net.make_weights(net.SIZES["small"])).all()
    with pytest.raises(ValueError, match="27635 weights for the small network, which has 27636"):
        net.split(np.zeros(27_635, np.float32), net.SIZES["small"])


def test_channels_last_is_the_same_dense_layer(lenet: Load) -> None:
    net = lenet("net")
    size = net.SIZES["small"]
    weights = net.split(net.make_weights(size), size)
    x = net.noise(2 * 192, 9).reshape(2, 12, 4, 4)
    laid = net.channels_last(weights, size)
    first = x.reshape(2, -1) @ weights["dense1.weight"].T
    again = x.transpose(0, 2, 3, 1).reshape(2, -1) @ laid["dense1.weight"]
    assert first == pytest.approx(again)
    # One weight of a convolution by hand: map 3 of 5, row 1, column 4.
    assert laid["conv1.weight"][1, 4, 0, 3] == weights["conv1.weight"][3, 0, 1, 4]


@pytest.mark.parametrize("size", ["large", "small"])
def test_eager_torch_agrees_with_the_reference(lenet: Load, size: str) -> None:
    pytest.importorskip("torch")
    net = lenet("net")
    made = net.SIZES[size]
    weights = net.split(net.make_weights(made), made)
    level = lenet("torch_levels").load("eager", made, weights, 2, "cpu")
    logits = level.fetch(level.infer(level.send(net.images(2))))
    assert level.n_parameters == made.n_parameters
    assert net.relative_error(logits, net.reference(weights, net.images(2), made)) < 1e-5


# The counter


PYTHON = '''\
import os
x = 0
# begin one two
import sys

def f(a):
    """What it is.

    At length.
    """
    # a remark
    return g(
        a,  # another
    )
# end
# begin two
y = 1; z = 2
# end
'''
CPP = """\
#include <vector>
// begin one
#include <string>
/* a remark
   of two lines; */
const char* text = "// no remark; none";  // a remark

int f(int x) {
    for (int i = 0; i < x; i++) g(i);
}
// end
"""


def test_lines_and_statements_are_counted_between_the_markers(lenet: Load) -> None:
    of_text = lenet("code_length").of_text
    one = of_text(PYTHON, "one", is_python=True)
    assert (one.lines, one.statements) == (4, 2)  # def, return, and its two more lines
    two = of_text(PYTHON, "two", is_python=True)
    assert (two.lines, two.statements) == (5, 4)
    cpp = of_text(CPP, "one", is_python=False)
    assert (cpp.lines, cpp.statements) == (4, 4)  # text; for with two and g(i);
    assert cpp.n_bytes == len(CPP.split("// begin one\n", 1)[1].split("// end", maxsplit=1)[0])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# begin one\nx = 1\n", "the part begun in line 1 has no end"),
        ("x = 1\n# end\n", "line 2: an end without a begin"),
        ("# begin one\n# begin two\n", "line 2: the part begun in line 1 has no end"),
        ("x = 1\n", "no code is marked `begin one`"),
    ],
)
def test_markers_that_do_not_match_are_refused(lenet: Load, text: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wanted)):
        lenet("code_length").of_text(text, "one", is_python=True)


def test_the_page_has_what_the_counter_counts(lenet: Load) -> None:
    # Counted by hand: class, __init__ and its 6 lines, forward and its 4, and so on; see the files.
    by_hand = {"Keras on JAX, predict": (19, 8), "PyTorch eager": (20, 19), "LibTorch": (30, 18)}
    page, kinds, of_level = PAGE.read_text(), lenet("levels").KINDS, lenet("code_length").of_level
    for name, kind in kinds.items():
        length = of_level(name)
        assert (
            f"| {kind.label} | {length.lines} | {length.statements} | {length.n_bytes:,} |" in page
        )
        assert by_hand.get(kind.label, (length.lines, length.statements)) == (
            length.lines,
            length.statements,
        )


# What captures say


def test_calls_are_counted_from_infer_to_the_library(lenet: Load) -> None:
    frames = ["cudnnConvolutionForward", "Convolution::run", "Net::infer", "lenet_infer", "main"]
    rows = [{"stack_id": 0, "level": at, "function": name} for at, name in enumerate(frames)]
    inner = [
        {"stack_id": 1, "level": at, "function": name}
        for at, name in enumerate(["cudnnBackendExecute", *frames])
    ]
    stacks = [
        {"stack_id": 1, "symbol": "cudnnBackendExecute", "depth": 6, "hit": 1},
        {"stack_id": 0, "symbol": "cudnnConvolutionForward", "depth": 5, "hit": 1},
    ]
    depth = lenet("captured").depth
    found = depth(make_trace(stacks=stacks, frames=rows + inner))
    assert (found["symbol"], found["calls"], found["frames"]) == ("cudnnConvolutionForward", 2, 5)
    # On another thread than Python's there is no infer.
    alone = depth(make_trace(stacks=stacks[1:], frames=rows[:2]))
    assert (alone["calls"], alone["frames"]) == (None, 2)
    assert depth(make_trace(stacks=[], frames=[])) is None


def test_kernels_and_launches_are_those_of_one_inference(lenet: Load) -> None:
    kernels = [{"duration_ns": 2_000} for _ in range(20)]
    calls = [
        {"api": name}
        for name in ["cudaLaunchKernel"] * 20 + ["cuLaunchKernelEx"] * 10 + ["cudaMalloc"]
    ]
    found = lenet("captured").on_the_gpu(make_trace(kernels=kernels, api_calls=calls))
    assert (found["kernels"], found["launches"], found["copies_on_device"]) == (2, 3, 0)
    assert found["kernel_ms"] == pytest.approx(0.004)


# Verdicts


def time(low: float, middle: float, high: float) -> dict[str, Any]:
    return {"p25_ms": low, "median_ms": middle, "p75_ms": high, "n": 2000}


def hand_made(
    lenet: Load,
    times: dict[str, dict[str, Any]],
    depths: dict[str, int] | None = None,
    kernel_ms: float = 0.01,
) -> Any:
    """A run of these levels on the GPU, every network and batch with the same time; the depth by level."""
    rows = {
        ("cuda", level, size, batch): {"call": made, "copies": made, "kernel_ms": kernel_ms}
        for level, made in times.items()
        for size in ("large", "small")
        for batch in (1, 128)
    }
    found = {
        level: {"calls": calls, "symbol": "f", "frames": calls}
        for level, calls in (depths or {}).items()
    }
    return lenet("rows").Run({}, rows, found)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (time(3, 4, 5), time(1, 2, 2.9), True),
        (time(3, 4, 5), time(1, 2, 3), None),
        (time(1, 2, 2.9), time(3, 4, 5), False),
        (None, time(3, 4, 5), None),
    ],
)
def test_slower_needs_quartiles_apart(
    lenet: Load, one: Any, other: Any, *, wanted: bool | None
) -> None:
    assert lenet("verdicts").slower(one, other) is wanted


def test_rank_correlation_is_spearman_s(lenet: Load) -> None:
    verdicts = lenet("verdicts")
    assert verdicts.ranks([10, 30, 20, 30]) == [1, 3.5, 2, 3.5]
    assert verdicts.rank_correlation([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    # By 1 - 6·Σd²/(n·(n²-1)) with d = (0, 1, -1, 0): 1 - 12/60.
    assert verdicts.rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert verdicts.rank_correlation([1, 1], [1, 2]) == 0


@pytest.mark.parametrize(("order", "holds"), [(1, True), (-1, False), (0, None)])
def test_higher_is_slower_by_ranks(lenet: Load, order: int, *, holds: bool | None) -> None:
    levels = list(lenet("levels").of_device("cuda"))[:10]
    # In order, against it, or with quartiles that span all the others' times: the order of their
    # ends differs.
    spans = [(at, at, at) if order else (10 - at, at, at) for at in range(1, 11)]
    made = {level: time(*spans[at if order >= 0 else 9 - at]) for at, level in enumerate(levels)}
    run = hand_made(lenet, made, {level: at for at, level in enumerate(levels)})
    assert lenet("verdicts").higher_is_slower(run).holds is holds


def test_keras_is_slowest_only_where_every_other_level_is_faster(lenet: Load) -> None:
    keras_slowest = lenet("verdicts").keras_slowest
    levels = {
        "keras_jax_call": time(5, 5, 5),
        "keras_jax_predict": time(9, 9, 9),
        "jax_ops": time(6, 6, 6),
    }
    called, predicted = keras_slowest(hand_made(lenet, levels))
    assert (called.holds, predicted.holds) == (False, True)
    assert "cause not established" in called.why
    called, _ = keras_slowest(hand_made(lenet, levels | {"jax_ops": time(4, 5, 5)}))
    assert called.holds is None


def test_where_the_gpu_is_slower_is_counted_and_not_judged(lenet: Load) -> None:
    run = hand_made(lenet, {"eager": time(5, 5, 5), "libtorch": time(5, 5, 5)})
    rows = dict(run.rows)
    for (_, level, size, batch), row in run.rows.items():
        rows["cpu", level, size, batch] = row | {"copies": time(6, 6, 6)}
    rows["cpu", "eager", "small", 1] = {"copies": time(4, 4, 4)}
    found = lenet("verdicts").gpu_beats_cpu(lenet("rows").Run({}, rows))
    assert found.holds is None
    assert found.now.endswith("in 7 of 8 rows, slower in 1: 1 with 1 image by the small network")


@pytest.mark.parametrize(
    ("plain", "fused", "jit", "holds"),
    [
        (time(5, 5, 5), time(2, 2, 2), time(3, 3, 3), True),
        (time(5, 5, 5), time(5, 5, 5), time(3, 3, 3), None),
        (time(2, 2, 2), time(1, 1, 1), time(3, 3, 3), False),
    ],
)
def test_naive_is_judged_by_fused_calls(
    lenet: Load, plain: Any, fused: Any, jit: Any, *, holds: bool | None
) -> None:
    run = hand_made(lenet, {"cudnn": plain, "cudnn_fused": fused, "jax_jit": jit})
    assert lenet("verdicts").naive(run).holds is holds


def test_a_graph_takes_overhead_away_where_both_say_so(lenet: Load) -> None:
    levels = {"cudnn_fused": time(5, 5, 5), "cudnn_graph": time(2, 2, 2), "compile": time(5, 5, 5)}
    shares, graphs = lenet("verdicts").overhead(
        hand_made(lenet, levels | {"reduce_overhead": time(4, 4, 4)}, None, 2)
    )
    assert "kernels run in 40% (cuDNN, fused calls) to 100% (cuDNN, CUDA graph)" in shares.now
    assert shares.holds is None  # of no level is the depth known
    assert graphs.holds is True
    *_, graphs = lenet("verdicts").overhead(
        hand_made(lenet, levels | {"reduce_overhead": time(5, 5, 5)})
    )
    assert graphs.holds is None


# The driver, and the committed page


def test_the_driver_measures_what_is_installed_and_says_what_is_absent(
    lenet: Load, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    words = [
        "--device",
        "cpu",
        "--quick",
        "--parts",
        "levels",
        "--only",
        "^(eager|tf_ops)$",
        "--out",
        str(tmp_path),
    ]
    subprocess.run([sys.executable, LENET / "run.py", *words], check=True)
    found = json.loads((tmp_path / "cpu.json").read_text())
    rows = {(row["level"], row["size"], row["batch"]): row for row in found["rows"]}
    for size in ("large", "small"):
        for batch in (1, 128):
            row = rows["eager", size, batch]
            assert row["n_parameters"] == lenet("net").SIZES[size].n_parameters
            assert row["relative_error"] < 1e-4
            assert row["call"]["p25_ms"] <= row["call"]["median_ms"] <= row["call"]["p75_ms"]
    if importlib.util.find_spec("tensorflow") is None:
        assert found["absent"] == {"tf_ops": "tensorflow: not installed"}


def test_the_page_is_that_of_the_captures(lenet: Load) -> None:
    analyse = lenet("analyse")
    text = analyse.page(analyse.read(CAPTURES), "lenet")
    assert not re.search(r"\b(nan|None|inf)\b", text)
    assert PAGE.read_text() == text


def test_every_chart_of_the_page_is_committed() -> None:
    charts = re.findall(r"\]\((lenet/\w+\.svg)\)", PAGE.read_text())
    assert sorted(charts) == sorted(
        f"lenet/{file.name}" for file in (PAGE.parent / "lenet").iterdir()
    )
    assert charts == ["lenet/lines.svg", "lenet/times.svg", "lenet/length_and_time.svg"]
    assert all("<svg" in (PAGE.parent / chart).read_text()[:200] for chart in charts)


def test_all_levels_agree_and_have_quartiles(lenet: Load) -> None:
    run, sizes = lenet("rows").read(CAPTURES), lenet("net").SIZES
    for (_, level, size, _), row in run.rows.items():
        assert row["n_parameters"] == sizes[size].n_parameters, level
        assert row["relative_error"] < 1e-4, level
        for made in (row.get("call"), row["copies"]):
            assert made is None or made["p25_ms"] <= made["median_ms"] <= made["p75_ms"]
            assert made is None or made["n"] >= 10
    assert len(run.levels("cuda")) >= 11
    assert len(run.levels("cpu")) >= 7
    # On the GPU one image is timed in full rounds at every level: those of 200 that a round's time
    # does not cut.
    assert all(
        time["n"] >= 1990
        for name in run.levels("cuda")
        if (time := run.time("cuda", name, copies=True))
    )
    assert set(run.depths) == set(run.small_depths) == set(run.levels("cuda"))
    assert PAGE.read_text().count("| not measured |") <= 2
