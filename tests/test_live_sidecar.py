"""What stands beside a live capture: exact paths, layers, rank; which processes record."""

import json
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.torch_files import call, codes, kernel, read, rows, span, write
from tracelens.collectors.torch import sidecar
from tracelens.collectors.torch.live.bootstrap import is_helper, is_spawned
from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.recording import read_recording
from tracelens.derive.replay import costs
from tracelens.errors import SourceError, UsageError
from tracelens.trace.combine import combine

MODULES = (
    span("nn.Module: Net_0", 0, 100, cat="python_function"),
    span("in net", 1, 1),
    span("nn.Module: Conv2d_0", 10, 10, cat="python_function"),
    span("aten::conv2d", 11, 5),
    span("nn.Module: Gone_0", 30, 40, cat="python_function"),
    span("nn.Module: ReLU_0", 31, 9, cat="python_function"),
    span("aten::relu", 32, 5),
    span("nn.Module: Linear_0", 50, 9, cat="python_function"),
    span("aten::linear", 51, 5),
)
BESIDE = {
    "rank": 3,
    "module_paths": {"Net_0": "Net", "Conv2d_0": "layer1.0.conv1", "Linear_0": "fc"},
    "layers": {
        "layer1.0.conv1": {
            "class_name": "Conv2d",
            "n_parameters": 9,
            "hyperparameters": {"kernel_size": [3, 3]},
        },
        "fc": {"class_name": "Linear", "n_parameters": 4, "hyperparameters": {}},
    },
}


def traced(folder: Path, beside: Any, *events: dict[str, Any]) -> Path:
    """A trace with a sidecar. A sidecar given as text is written as it is."""
    text = beside if isinstance(beside, str) else json.dumps(beside)
    (folder / "run.live.json").write_text(text)
    return write(folder / "run.pt.trace.json", events or MODULES)


def test_a_modules_path_and_that_of_one_that_is_gone(tmp_path: Path) -> None:
    capture = read(traced(tmp_path, BESIDE))
    ops = {
        name: path
        for name, path in rows(capture, "spans", "name", "module_path")
        if not name.startswith("nn.")
    }
    assert ops == {
        "in net": "Net",
        "aten::conv2d": "layer1.0.conv1",
        "aten::relu": "Net.Gone_0.ReLU_0",
        "aten::linear": "fc",
    }
    assert rows(
        capture,
        "layers",
        "module_path",
        "class_name",
        "call_order",
        "n_parameters",
        "hyperparameters",
    ) == [
        ("Net", "Net", 0, None, None),
        ("layer1.0.conv1", "Conv2d", 1, 9, '{"kernel_size": [3, 3]}'),
        ("Net.Gone_0", "Gone", 2, None, None),
        ("Net.Gone_0.ReLU_0", "ReLU", 3, None, None),
        ("fc", "Linear", 4, 4, None),
    ]
    assert (capture.rank, capture.rank_origin) == (3, "launcher")
    assert "unprofiled_step_ns" not in capture.settings
    assert codes(capture)["modules_unnamed"] == 2


def test_what_steps_took_without_the_profiler_is_kept(tmp_path: Path) -> None:
    times = {
        "unprofiled_step_ns": {"n": 4, "median": 2_290_000},
        "profiled_step_ns": {"n": 3, "mean": 8_150_000},
    }
    kept = tl.collect(traced(tmp_path, BESIDE | times)).write(tmp_path / "run.tracelens")
    assert tl.open(tmp_path / "run.tracelens").manifest.unprofiled_step_ns(3) == 2_290_000
    assert kept.manifest.unprofiled_step_ns(0) is None
    damaged = times | {"profiled_step_ns": {"mean": "8"}}
    assert tl.collect(traced(tmp_path, BESIDE | damaged)).manifest.unprofiled_step_ns(3) is None


def test_calls_marked_one_by_one_are_modules(tmp_path: Path) -> None:
    events = (span("nn.Module: Conv2d_0", 10, 10), span("aten::conv2d", 11, 5))
    capture = read(traced(tmp_path, {**BESIDE, "is_marked": True}, *events))
    assert rows(capture, "spans", "name", "kind", "module_path") == [
        ("nn.Module: Conv2d_0", "module", "layer1.0.conv1"),
        ("aten::conv2d", "op", "layer1.0.conv1"),
    ]


@pytest.mark.parametrize(
    "beside", ["{", "[1]", '{"module_paths": 3, "layers": {"fc": 1}, "rank": "x"}', "{}"]
)
def test_a_damaged_sidecar_costs_nothing_but_what_it_held(tmp_path: Path, beside: str) -> None:
    capture = read(traced(tmp_path, beside))
    assert (
        "Net_0.Conv2d_0" in [path for _, path in rows(capture, "spans", "name", "module_path")]
    ) is True
    assert ("sidecar_damaged" in codes(capture)) is (beside in ("{", "[1]"))
    assert capture.rank is None


@pytest.mark.parametrize("depth", [600, 960, 100_000])
def test_a_sidecar_of_lists_in_lists(tmp_path: Path, depth: int) -> None:
    capture = read(traced(tmp_path, '{"layers": ' + "[" * depth + "]" * depth + "}"))
    assert len(rows(capture, "spans", "name")) == len(MODULES)


def test_a_sidecar_is_no_trace_of_its_own(tmp_path: Path) -> None:
    trace = traced(tmp_path, BESIDE)
    assert tl.collect(tmp_path).manifest.ranks == [3]
    with pytest.raises(SourceError, match=r"give run\.pt\.trace\.json"):
        tl.collect(trace.with_name("run.live.json"), kind="torch")


def test_of_two_processes_of_a_rank_one_is_kept(tmp_path: Path) -> None:
    for number, n_active in ((7, 3), (77, 1)):
        stem = tmp_path / f"process.{number}"
        node = {
            "node": "mm",
            "aten_op": "aten.mm",
            "module_path": "fc",
            "rule": "nn_module_stack",
            "output_bytes": 8,
        }
        call = {"name": "extern_kernels.mm", "is_extern": True, "nodes": [node]}
        graph = {"key": f"of {number}", "is_backward": False, "calls": [call]}
        sidecar = {
            "format": "tracelens-provenance",
            "version": 1,
            "torch": "2.13",
            "rank": None,
            "graphs": [graph],
        }
        Path(f"{stem}.provenance.json").write_text(json.dumps(sidecar))
        report = {
            "stage": "done",
            "process_id": number,
            "rank": None,
            "notes": [],
            "n_active": n_active,
        }
        Path(f"{stem}.live.json").write_text(json.dumps(report))
        write(Path(f"{stem}.pt.trace.json"), (span("aten::mm", number, 1),))
    captures, _, _ = read_recording(tmp_path, Settings(str(tmp_path)))
    trace = combine(captures, is_one_run=True)
    assert trace.provenance["graph_key"].to_list() == ["of 7"]
    assert trace.spans.height == 1
    assert trace.diagnostics.filter(code="other_process")["count"].to_list() == [1]


@pytest.mark.parametrize(
    ("words", "helper", "spawned"),
    [
        ("python train.py", False, False),
        ("python -m pkg.train", False, False),
        ("/venv/bin/python /venv/bin/torchrun --nproc-per-node 2 train.py", True, False),
        ("python -m torch.distributed.run train.py", True, False),
        ("python -m accelerate.commands.launch train.py", True, False),
        ("python /venv/bin/accelerate launch train.py", True, False),
        ("python -u /venv/bin/deepspeed train.py", True, False),
        ("python -u -m deepspeed.launcher.launch --world_info=x train.py", True, False),
        ("python -W ignore -Xdev -um torch.distributed.run train.py", True, False),
        ("python -u train.py --local_rank=0", False, False),
        ("python -m deepspeed_examples.train", False, False),
        ("python train.py -m accelerate.commands.launch", False, False),
        ("python train.py torchrun", False, False),
        ("python", False, False),
        ("python /venv/lib/torch/_inductor/compile_worker/__main__.py --workers=4", True, False),
        ("python -c from_multiprocessing.resource_tracker_import_main;main(5)", True, False),
        (
            "python -c from_multiprocessing.spawn_import_spawn_main --multiprocessing-fork",
            False,
            True,
        ),
    ],
)
def test_launchers_and_helpers_do_not_record(words: str, helper: bool, spawned: bool) -> None:
    assert (is_helper(words.split()), is_spawned(words.split())) == (helper, spawned)


@pytest.mark.parametrize("window", ["5", "a:2", "-1:2", "1:0", ":"])
def test_a_window_is_two_numbers(window: str) -> None:
    from tracelens.cli.collect.torch import _window  # noqa: PLC0415 - of this test alone

    with pytest.raises(UsageError, match="expected START:SECONDS"):
        _window(window)
    assert (_window("5:2"), _window("0.5:")) == ((5.0, 2.0), (0.5, None))


def test_the_slowest_usual_host_is_the_one_of_the_costs() -> None:
    assert sidecar.SLOWEST_LAUNCH_NS == costs.SLOWEST_HOST * 4_350


LAUNCHES = ((1, 5), (120, 10), (1_010, 5), (1_120, 10))
"""Begin and length in µs of the launches in two steps of 500 µs: two of 5 and two of 10."""
WINDOW = (
    *(span(f"ProfilerStep#{n}", 1_000 * n, 500, cat="user_annotation") for n in range(2)),
    *(call("cudaPeekAtLastError", 1_000 * n + 200, 1, 5 + n) for n in range(2)),
)


@pytest.mark.parametrize(
    ("kernel_us", "times", "measured_us", "expected_us"),
    [
        # In a step 80 % stay of 5 µs, of 10 (counted as the median, 7.5) and of 1: 10.8. All of
        # the 13.5 at most.
        (1, 1, 100, (89.2, 90.2, 85.5)),
        # The device works for 90 µs of a step, and for half a µs of one of both.
        (45, 1, 100, (90.25, 90.25, 90.25)),
        # It works during 4 and all of the 10 µs of the second launches, and all of each third call.
        # In one step 5 µs and 6/10 of 7.5 can have made it longer, in the other 5: 7.25 on average,
        # of which 5.8 stay.
        (118, 1, 400, (394.2, 395.2, 391.75)),
        # Launches of 10 and 20 µs: on the slowest usual host they take 7.83 µs.
        (1, 2, 100, (86.672, 87.672, 82.34)),
    ],
)
def test_steps_after_a_recording_are_without_what_cupti_leaves(
    tmp_path: Path,
    kernel_us: int,
    times: int,
    measured_us: int,
    expected_us: tuple[float, float, float],
) -> None:
    numbered = [(n, begin, times * length) for n, (begin, length) in enumerate(LAUNCHES, 1)]
    launches = [call("cudaLaunchKernel", begin, length, n) for n, begin, length in numbered]
    kernels = [kernel("work", begin + length, kernel_us, n) for n, begin, length in numbered]
    # A length that fits into fewer bits than those of kernels, in another stream.
    args = {"device": 0, "context": 1, "stream": 8, "correlation": 2}
    kernels.append(kernel("Memset (Device)", 400, 0.5, 2, cat="gpu_memset", args=args))
    ns = 1_000 * measured_us
    measured = {"n": 3, "median": ns, "mean": ns + 1_000, "min": ns - 1_000, "max": 2 * ns}
    facts = {
        "unprofiled_step_ns": measured,
        "is_run_slower": True,
        "profiled_step_ns": {"n": 2, "mean": 500_000},
    }
    path = traced(tmp_path, facts, *WINDOW, *launches, *kernels)
    found = read(path).settings["unprofiled_step_ns"]
    median, mean, least = (round(1_000 * us) for us in expected_us)
    assert found == measured | {"median": median, "mean": mean, "min": least}
    path = traced(tmp_path, facts | {"is_run_slower": False}, *WINDOW, *launches, *kernels)
    assert read(path).settings["unprofiled_step_ns"] == measured
