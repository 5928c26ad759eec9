"""What the profiler adds, measured on a machine and kept in its traces."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tracelens as tl
from tests.step_traces import StepTrace
from tracelens.analyses import unprofiled_step
from tracelens.cli.calibrate import costs_of_capture, with_costs
from tracelens.cli.commands import app
from tracelens.derive.replay.costs import SETTING, TORCH_COSTS, Costs, costs_by_kind

RUNNER = CliRunner()


def ops_and_launches() -> tl.Trace:
    """One step of 1 ms: ten ops, each with one launch, on a host that never waits."""
    step = StepTrace()
    step.step(0, 1000)
    for start in range(0, 1000, 100):
        step.span("aten::add", start + 10, start + 90)
        step.launch("add", start + 40, start + 50, start + 51)
    return step.trace("torch")


def timed(plain: int, profiled: int, least: int | None = None) -> dict[str, object]:
    """A source that timed steps without the profiler (median and minimum), and with it."""
    settings = {
        "unprofiled_step_ns": {"median": plain, "min": least or plain, "max": plain},
        "profiled_step_ns": {"mean": profiled, "median": profiled, "min": profiled},
    }
    return {"kind": "torch", "rank": 0, "settings": settings}


def test_kept_costs_are_used_in_place_of_the_table() -> None:
    trace = with_costs(ops_and_launches(), {"plain": [5_000, 0, 1_000, 0]})
    row = unprofiled_step(trace).row(0, named=True)
    assert row["unprofiled_ns"] == pytest.approx(1_000_000 - 10 * 5_000 - 10 * 1_000, abs=1_000)
    assert row["evidence"] == "calibrated"


def test_costs_of_another_kind_of_profile_are_not_used() -> None:
    trace = with_costs(ops_and_launches(), {"stacks": [5_000, 0, 1_000, 0]})
    assert unprofiled_step(trace)["evidence"].item() == "table"


def test_a_capture_that_timed_its_steps_gives_its_costs() -> None:
    trace = ops_and_launches()
    usual = TORCH_COSTS["plain"]
    added = 10 * (usual.op_ns + usual.call_ns)
    trace.manifest.sources = [timed(round(1_000_000 - 1.2 * added), 1_000_000)]
    costs = costs_of_capture(trace)
    assert costs is not None
    assert costs.op_ns == pytest.approx(1.2 * usual.op_ns, rel=0.01)
    assert costs.call_ns == pytest.approx(1.2 * usual.call_ns, rel=0.01)


@pytest.mark.parametrize(
    ("plain", "profiled", "least"),
    [(900_000, 1_000_000, 600_000), (1_010_000, 1_000_000, 1_000_000), (9_000, 1_000_000, 9_000)],
    ids=["steps differ", "no longer under the profiler", "not explained by its events"],
)
def test_of_unsteady_steps_nothing_is_told(plain: int, profiled: int, least: int) -> None:
    trace = ops_and_launches()
    trace.manifest.sources = [timed(plain, profiled, least)]
    assert costs_of_capture(trace) is None


def test_a_capture_that_timed_nothing_gives_none() -> None:
    assert costs_of_capture(ops_and_launches()) is None


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        "plain",
        {"plain": None},
        {"plain": [1, 2, 3]},
        {"plain": [1, 2, 3, "4"]},
        {"plain": [1, 2, 3, True]},
        {"plain": [1, 2, 3, -4]},
        {"plain": [1, 2, 3, float("nan")]},
        {"plain": [1, 2, 3, 1e300]},
        {"another": [1, 2, 3, 4]},
    ],
)
def test_what_are_no_costs(stored: object) -> None:
    assert costs_by_kind(stored) == {}


def test_costs_of_a_file_are_kept_in_a_trace(tmp_path: Path) -> None:
    path, costs = tmp_path / "a.tracelens", tmp_path / "costs.json"
    ops_and_launches().write(path)
    costs.write_text(json.dumps({SETTING: {"plain": [5_000, 0, 1_000, 0]}}))
    done = RUNNER.invoke(app, ["calibrate", str(path), "--costs", str(costs)])
    assert done.exit_code == 0, done.output
    assert "keeps these costs" in done.stderr
    assert unprofiled_step(tl.open(path))["evidence"].item() == "calibrated"


def test_costs_of_a_trace_are_kept_in_another(tmp_path: Path) -> None:
    path, live = tmp_path / "a.tracelens", tmp_path / "live.tracelens"
    ops_and_launches().write(path)
    refused = RUNNER.invoke(app, ["calibrate", str(path), "--costs", str(path)])
    assert (refused.exit_code, "holds no costs" in refused.stderr) == (1, True)
    trace = ops_and_launches()
    trace.manifest.sources[0]["settings"] = {SETTING: {"plain": [5_000, 0, 1_000, 0]}}
    trace.write(live)
    done = RUNNER.invoke(app, ["calibrate", str(path), "--costs", str(live)])
    assert done.exit_code == 0, done.output
    assert unprofiled_step(tl.open(path))["evidence"].item() == "calibrated"


def test_a_link_to_a_trace_stays_a_link(tmp_path: Path) -> None:
    path, link, costs = (tmp_path / name for name in ("a.tracelens", "latest", "costs.json"))
    ops_and_launches().write(path)
    link.symlink_to(path)
    costs.write_text(json.dumps({SETTING: {"plain": [5_000, 0, 1_000, 0]}}))
    assert RUNNER.invoke(app, ["calibrate", str(link), "--costs", str(costs)]).exit_code == 0
    assert link.is_symlink()
    assert unprofiled_step(tl.open(path))["evidence"].item() == "calibrated"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no json", "not read as costs"),
        ("{}", "holds no costs"),
        ("[1]", "holds no costs"),
        ("[" * 200_000, "not read as costs"),
    ],
)
def test_a_file_without_costs_is_an_error(tmp_path: Path, text: str, expected: str) -> None:
    path, costs = tmp_path / "a.tracelens", tmp_path / "costs.json"
    ops_and_launches().write(path)
    costs.write_text(text)
    done = RUNNER.invoke(app, ["calibrate", str(path), "--costs", str(costs)])
    assert done.exit_code == 1
    assert expected in done.stderr


def test_costs_without_traces_are_a_usage_error(tmp_path: Path) -> None:
    done = RUNNER.invoke(app, ["calibrate", "--costs", str(tmp_path / "costs.json")])
    assert done.exit_code == 2
    assert "name the TRACEs" in done.stderr


@pytest.mark.exhaustive
def test_the_profiler_of_this_machine_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "costs.json"
    done = RUNNER.invoke(app, ["calibrate", "--out", str(out)])
    if done.exit_code:
        assert "run this while nothing else runs on the machine" in done.output
        assert not out.exists()
        pytest.skip("the machine is too busy: equal steps differed too much")
    costs = costs_by_kind(json.loads(out.read_text())[SETTING])
    assert costs
    assert all(isinstance(one, Costs) and one.op_ns > 0 for one in costs.values())
