"""A folder of captures of CUDA graphs, one file per batch size, as the base of a trace."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.command_line import command_line
from tests.test_graph_replay import LAYERS, SPANS
from tests.torch_files import call, kernel, span, write
from tracelens.answers import make_answer
from tracelens.derive.layers.graph_capture import captured_graphs
from tracelens.jobs.graph_captures import captures_of
from tracelens.report import chosen_analyses
from tracelens.trace import Trace

SIZES = (8, 16, 32)


def captured(size: int) -> list[dict[str, Any]]:
    """The capture of a graph of one product of so many tokens; AMD's launches name kernels."""
    shapes = {"Input Dims": [[size, 64], [64, 32]], "Input type": ["float", "float"]}
    launch = call("hipModuleLaunchKernel", 35, 5, 2)
    launch["args"] |= {"kernel": f"Cijk_{size}", "grid": [1, 1, 1], "block": [64, 1, 1]}
    return [
        span(f"capture_{size}_FULL", 10, 90, cat="user_annotation"),
        call("hipStreamBeginCapture", 20, 2, 1),
        span("aten::mm", 30, 20, args=shapes),
        launch,
        call("hipStreamEndCapture", 60, 2, 3),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "captures").mkdir()
    for size in SIZES:
        name = f"graph_capture_rank_0.17{99 - size}.pt.trace.json.gz"
        write(tmp_path / "captures" / name, captured(size))
    (tmp_path / "captures" / "notes.txt").write_text("no trace")
    return tmp_path / "captures"


def size_in(file: Path) -> int:
    document = json.loads(gzip.decompress(file.read_bytes()))
    marks = [event["name"] for event in document["traceEvents"] if "capture_" in event["name"]]
    return int(marks[0].split("_")[1])


def replayed(n_tokens: int | None, name: str = "Cijk_8") -> Trace:
    steps = [{"step": 0, "n_tokens": n_tokens}]
    return make_trace(
        steps=steps,
        kernels=[{"link": "graph", "step": 0, "duration_ns": 9, "name": name, "api_call_id": 0}],
        api_calls=[{"kind": "graph_launch", "api": "hipGraphLaunch"}],
    )


@pytest.mark.parametrize(("n_tokens", "expected"), [(1, 8), (8, 8), (9, 16), (32, 32)])
def test_the_smallest_size_that_the_tokens_fit_into(
    folder: Path, n_tokens: int, expected: int
) -> None:
    assert size_in(*captures_of(folder, replayed(n_tokens))) == expected


def test_without_a_size_the_first_whose_launches_fit(folder: Path) -> None:
    assert size_in(*captures_of(folder, replayed(None, "Cijk_16"))) == 16


def test_other_folders_are_themselves(folder: Path, tmp_path: Path) -> None:
    only = next(folder.glob("*.gz"))
    assert captures_of(only, replayed(8)) == [only]
    for file in sorted(folder.glob("*.gz"))[1:]:
        file.unlink()
    assert captures_of(folder, replayed(8)) == [folder]


def test_the_roofline_and_the_answer_take_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replay of 12 tokens ran the graph of 16: 2 * 16 * 64 * 32 operations."""
    step = "execute_12_context_0(sq0sk0sqsq0sqsk0)_generation_12(sq12sk99sqsq12sqsk99)"
    events = [
        span(step, 0, 100, cat="user_annotation"),
        call("hipGraphLaunch", 10, 5, 7),
        kernel("Cijk_16", 30, 50, 7, grid=[1, 1, 1], block=[64, 1, 1]),
    ]
    source = write(tmp_path / "decode.pt.trace.json.gz", events)
    roofline: Any = tl.analyses.roofline
    frame = roofline(source, base=str(folder))
    assert frame.filter(op="aten::mm").select("flops", "n_kernels").rows() == [(65_536.0, 1)]
    plain = command_line(capsys, "report", source, "--against", folder)
    assert plain.code == 0
    assert "ops: aten::mm 100 %" in plain.out
    assert "--section roofline" in plain.err


def captured_layers() -> Trace:
    """The capture of a product in net.a and a sum in net.b; nothing ran."""
    apis = (
        "cudaStreamBeginCapture",
        "cudaLaunchKernel",
        "cudaLaunchKernel",
        "cudaStreamEndCapture",
    )
    ops = [
        layer | {"kind": "op", "name": name, "parent_id": at}
        for at, (layer, name) in enumerate(zip(SPANS, ("aten::mm", "aten::add"), strict=True))
    ]
    calls = [
        {"api": api, "kind": kind, "span_id": span, "start_ns": start_ns}
        for api, kind, span, start_ns in zip(
            apis,
            ("other", "kernel_launch", "kernel_launch", "other"),
            (None, 2, 3, None),
            (0, 10, 20, 30),
            strict=True,
        )
    ]
    return make_trace(layers=LAYERS, spans=[*SPANS, *ops], api_calls=calls)


def replayed_layers(*durations_ns: int) -> Trace:
    kernels = [
        {"link": "graph", "api_call_id": 0, "duration_ns": ns, "start_ns": 100 * at}
        for at, ns in enumerate(durations_ns)
    ]
    return make_trace(kernels=kernels, api_calls=[{"kind": "graph_launch"}])


def test_a_replay_has_ops_and_layers_of_its_capture() -> None:
    answer = make_answer(replayed_layers(75, 25), captured_layers())
    assert answer.refused is None
    assert "ops: aten::mm 75 %, aten::add 25 %" in answer.details
    assert "layers: net.a 75 %, net.b 25 %" in answer.details
    assert "the capture of these CUDA graphs, not a run to compare with" in answer.doubts[0]
    assert answer.sections[:2] == ("layer_attribution", "roofline")


def test_no_section_compares_a_replay_with_its_capture() -> None:
    replay = replayed_layers(75, 25)
    chosen = [analysis.name for analysis in chosen_analyses(replay, captured_layers(), ())]
    assert "layer_attribution" in chosen
    assert not [name for name in chosen if name.startswith("compare_")]
    chosen = [analysis.name for analysis in chosen_analyses(replay, replay, ())]
    assert "compare_time" in chosen


def test_captures_of_other_graphs_are_refused_and_swapped_ones() -> None:
    other = make_answer(replayed_layers(75, 20, 5), captured_layers())
    assert "but not of those that" in str(other.refused)
    assert "replays have 3 kernels, captures 2 launches" in str(other.refused)
    swapped = make_answer(captured_layers(), replayed_layers(75, 25))
    assert "report the replay against the capture" in str(swapped.refused)


def test_a_larger_graph_than_the_tokens_need_is_found(folder: Path, tmp_path: Path) -> None:
    """5 tokens fit into 8, but other ranks needed 16: the kernel is that graph's."""
    names = [sorted(folder.glob("*.gz"))[place] for place in (1, 2)]
    base = tl.collect(names, ranks=[0, 1])
    (file,) = [file for file in names if size_in(file) == 16]
    assert size_in(names[1 - names.index(file)]) == 8
    trace = replayed(5, "Cijk_16")
    captured = captured_graphs(base)
    assert captured is not None
    assert captured.pairs(trace)["base_rank"].to_list() == [names.index(file)]
    assert not captured.refused
