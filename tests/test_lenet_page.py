"""LeNet at every level: network, counter of code, verdicts on hand-made times, committed page."""

import importlib
import importlib.util
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
LENET = ROOT / "samples/lenet"
CAPTURES = LENET / "captures"
Load = Callable[[str], ModuleType]


@pytest.fixture
def lenet() -> Load:
    """Imports a module of the folder."""
    return lambda name: importlib.import_module(f"samples.lenet.{name}")


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


def test_the_counter_counts_what_is_counted_by_hand(lenet: Load) -> None:
    # Counted by hand: class, __init__ and its 6 lines, forward and its 4, and so on; see the files.
    by_hand = {"Keras on JAX, predict": (19, 8), "PyTorch eager": (20, 19), "LibTorch": (30, 18)}
    kinds, of_level = lenet("levels").KINDS, lenet("code_length").of_level
    lengths = {kind.label: of_level(name) for name, kind in kinds.items() if kind.label in by_hand}
    assert {name: (one.lines, one.statements) for name, one in lengths.items()} == by_hand


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


def hand_made(lenet: Load, times: dict[str, dict[str, Any]], kernel_ms: float = 0.01) -> Any:
    """A run of these levels on the GPU, all networks and batches alike.

    Lines fall level by level.
    """
    rows = {
        ("cuda", level, size, batch): {"call": made, "copies": made, "kernel_ms": kernel_ms}
        for level, made in times.items()
        for size in ("large", "small")
        for batch in (1, 128)
    }
    lengths = {
        level: SimpleNamespace(lines=200 - at, statements=1) for at, level in enumerate(times)
    }
    return lenet("rows").Run({}, rows, lengths=lengths)


def test_fewer_lines_and_more_time_go_together_by_ranks(lenet: Load) -> None:
    levels = list(lenet("levels").of_device("cuda"))[:10]
    run = hand_made(lenet, {level: time(at, at, at) for at, level in enumerate(levels, 1)})
    analyse = lenet("analyse")
    assert analyse.lines_and(run, "large", copies=True) == (pytest.approx(-1), 10)
    # Kernels take 0.01 ms of a longer and longer call.
    assert analyse.lines_and_overhead(run) == (pytest.approx(-1), 10)


def test_keras_is_compared_with_every_other_level(lenet: Load) -> None:
    levels = {
        "cudnn": time(1, 1, 1),
        "jax_jit": time(2, 2, 2),
        "jax_ops": time(9, 9, 9),
        "keras_jax_call": time(6, 6, 6),
    }
    found = lenet("analyse").keras_beside(hand_made(lenet, levels))
    assert {name: set(ratios) for name, ratios in found.items()} == {
        "keras_jax_call": {"cudnn", "jax_jit", "jax_ops"}
    }
    assert found["keras_jax_call"]["jax_jit"].middle == 3


def test_where_the_gpu_is_slower_is_counted(lenet: Load) -> None:
    run = hand_made(lenet, {"eager": time(5, 5, 5), "libtorch": time(5, 5, 5)})
    rows = dict(run.rows)
    for (_, level, size, batch), row in run.rows.items():
        rows["cpu", level, size, batch] = row | {"copies": time(6, 6, 6)}
    rows["cpu", "eager", "small", 1] = {"copies": time(4, 4, 4)}
    assert lenet("analyse").gpu_wins(lenet("rows").Run({}, rows)) == (7, 1, 8)


# The driver, and the committed page


@pytest.mark.exhaustive
def test_the_driver_measures_what_is_installed(lenet: Load, tmp_path: Path) -> None:
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
    subprocess.run([sys.executable, "-m", "samples.lenet.run", *words], check=True, cwd=ROOT)
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
