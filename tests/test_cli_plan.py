"""Plans from the command line, and the times that they are made from."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import tracelens as tl
from tests.cases import make_trace
from tests.test_layer_oracle import BASE, OTHER
from tests.test_timing_methods import MEASURED, timing
from tracelens.advisor.plan import make_plan
from tracelens.cli.app import main
from tracelens.cli.commands import app
from tracelens.derive.comparing.predicted_vs_measured import planned_steps
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="times a PyTorch model; torch is not installed here"
)


@pytest.fixture(autouse=True)
def modules_are_found_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back the folders that `collect timings` adds.

    One has a json.py, which later tests would import.
    """
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_plan_follows_the_oracle() -> None:
    """All of stem, block.conv, block.bn and fc but block.conv are faster compiled; it loses 20."""
    free = make_plan(BASE, OTHER)
    assert (free.compile, free.disable) == (("stem", "block.bn", "fc"), ())
    assert free.layers["block.conv"] == "eager"
    assert free.made_from["predicted_speedup_over_base"] == 1.6
    dear = make_plan(BASE, OTHER, switch_cost_ns=11)
    assert (dear.compile, dear.disable) == (("",), ())
    assert make_plan(BASE, OTHER, oracle="best_of_two", switch_cost_ns=11).compile == free.compile


@pytest.mark.parametrize(
    ("percent", "said"),
    [
        (70, "by -30.0% (-30.0% to -30.0%): it helps."),
        (130, "by +30.0% (+30.0% to +30.0%): it does harm."),
        (
            100,
            (
                "by +0.0% (-0.0% to +0.0%): no difference can be told: device 0: less than the"
                " least effect."
            ),
        ),
    ],
)
def test_a_plans_steps_are_measured_against_those_of_base(percent: int, said: str) -> None:
    base, planned = (
        make_trace(
            kernels=[{"step": at, "duration_ns": 10, "start_ns": at * step} for at in range(3)],
            steps=[{"step": at, "duration_ns": step, "start_ns": at * step} for at in range(3)],
        )
        for step in (10**8, percent * 10**6)
    )
    assert (
        planned_steps(base, planned)
        == f"A step of the measured plan differs from one of base {said}"
    )


def test_what_no_plan_can_be_made_of() -> None:
    with pytest.raises(UsageError, match="the oracles are best_of_two, profile_timed, dynamic"):
        make_plan(BASE, OTHER, oracle="best")
    with pytest.raises(
        MissingTableError, match="tell no profile_timed path; tracelens collect timings"
    ):
        make_plan(MEASURED, MEASURED, oracle="profile_timed")


def test_no_plan_of_runs_not_known_as_eager_and_compiled() -> None:
    with pytest.raises(
        UsageError, match=r"a plan chooses between an eager run \(BASE, trace\) and a compiled one"
    ):
        make_plan(BASE, BASE)
    with pytest.raises(
        UsageError, match="is the compiled run and trace the eager one: give the eager run first"
    ):
        make_plan(OTHER, BASE)


def one_unclear_layer() -> Trace:
    """Conv's times overlap (35 to 85, 35 to 65), fc's do not (30, 10)."""
    timings = [
        *timing("layer", 10, 110, module_path="conv", synchronized=True),
        *timing("layer", 30, 30, module_path="fc", synchronized=True),
        *timing("layer", 20, 80, configuration="cpp", module_path="conv", synchronized=True),
        *timing("layer", 10, 10, configuration="cpp", module_path="fc", synchronized=True),
    ]
    return make_trace(timings=timings, layers=MEASURED.layers.drop("rank").to_dicts())


def test_a_plan_compiles_only_what_is_clearly_faster() -> None:
    """The plan compiles fc only: 60 and 30 become 60 and 10."""
    trace = one_unclear_layer()
    for oracle in ("dynamic", "best_of_two"):
        made = make_plan(trace, trace, oracle=oracle)
        assert dict(made.layers) == {"conv": "eager", "fc": "compiled"}
        assert made.made_from["predicted_speedup_over_base"] == 90 / 70
        assert made.made_from["n_unclear"] == 1


def test_the_command_says_why_layer_oracle_promises_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As measured, conv takes 50 instead of 60, and fc 10 instead of 30: 90 become 60."""
    one_unclear_layer().write(tmp_path / "timed.tracelens")
    with pytest.raises(SystemExit) as ended:
        main(["plan", *[str(tmp_path / "timed.tracelens")] * 2])
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "1 layer may be no faster in either run, as times vary" in told
    assert "its choice would be 1.500 times as fast as base" in told


def test_the_command_says_that_devices_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, trace, device in (("base", BASE, "NVIDIA A100"), ("other", OTHER, "NVIDIA H100")):
        tables = {table: trace.frame(table).to_dicts() for table in ("layers", "spans", "kernels")}
        make_trace(**tables, devices=[{"name": device}]).write(tmp_path / f"{name}.tracelens")
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(tmp_path / "base.tracelens"), str(tmp_path / "other.tracelens")])
    assert ended.value.code == 0
    assert "warning: base ran on NVIDIA A100, new on NVIDIA H100" in capsys.readouterr().err


def test_the_command_writes_a_plan_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    BASE.write(tmp_path / "base.tracelens")
    OTHER.write(tmp_path / "other.tracelens")
    words = ["plan", str(tmp_path / "base.tracelens"), str(tmp_path / "other.tracelens")]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    printed, told = capsys.readouterr()
    assert json.loads(printed)["compile"] == ["stem", "block.bn", "fc"]
    assert "3 of 4 layers compiled, in 3 regions with 0 exceptions" in told
    assert "1.600 times as fast as base and 1.100 times as fast as new" in told
    out = tmp_path / "plan.json"
    assert (
        CliRunner().invoke(app, [*words, "--switch-cost-ns", "11", "--out", str(out)]).exit_code
        == 0
    )
    assert tl.Plan.read(out).compile == ("",)
    assert CliRunner().invoke(app, [*words, "--oracle", "best"]).exit_code == 2


def test_timings_join_a_trace_of_the_same_program() -> None:
    joined = tl.add_timings(OTHER, MEASURED)
    assert joined.timings.equals(MEASURED.timings)
    assert joined.kernels.equals(OTHER.kernels)
    assert joined.layers["module_path"].to_list() == [
        *OTHER.layers["module_path"],
        "conv",
    ]  # both have fc
    assert OTHER.timings.is_empty()


SUBJECT = """
import os
import sys
import torch

def make():
    os.chdir("/")  # the trace is written where it was asked for
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).eval(), torch.ones(2, 3)

def nothing():
    return 3

def leaves():
    sys.exit(3)

def misfits():
    return torch.nn.Linear(3, 3), torch.ones(2, 5)

class Refusing:
    def __getattr__(self, name):
        raise ValueError(name + "\\nand more")

def refuses():
    return Refusing(), torch.ones(2, 5)
"""


@needs_torch
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_times_of_a_function_in_a_file_and_of_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "subject_of_timings.py").write_text(SUBJECT)
    # A product, which needs no compiler of C++.
    tl.Plan(("0",), made_from={"predicted_speedup_over_base": 1.25}).write(tmp_path / "plan.json")
    out = tmp_path / "out.tracelens"
    words = [
        "collect",
        "timings",
        f"{tmp_path}/subject_of_timings.py:make",
        "--configuration",
        "interpreted",
        "--method",
        "layer",
        "--method",
        "e2e",
        "--rounds",
        "2",
        "--executions",
        "1",
        "--warmup",
        "1",
        "--plan",
        "plan.json",
        "--out",
        out.name,
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    timings = tl.open(out).timings
    assert set(timings["configuration"]) == {"interpreted", "custom"}
    assert set(timings.drop_nulls("module_path")["module_path"]) == {"0", "1"}
    pure = timings.filter(configuration="custom", profiled=False)
    assert pure["round"].to_list() == [0, 1, 2]
    assert pure["is_warmup"].to_list() == [True, False, False]
    assert pl.Series(["0", "1"]).equals(tl.open(out).layers["module_path"])
    assert "The measured plan (custom) takes" in result.stderr
    assert "predicted 1.25" in result.stderr


@pytest.mark.exhaustive  # a process of its own, as Kineto reads its log level once
@needs_torch
def test_timings_show_no_log_of_the_profiler(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(SUBJECT)
    command = [sys.executable, "-m", "tracelens", "collect", "timings", "subject.py:make"]
    command += ["--configuration", "interpreted", "--method", "profiler", "--rounds", "1"]
    env = {name: text for name, text in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120, check=True
    )
    assert "wrote" in done.stderr
    assert "profiler_st" not in done.stdout + done.stderr


@pytest.mark.slow
@needs_torch
def test_a_plan_of_another_model_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.cli.collect.timings.measure", lambda *_: pytest.fail("measured"))
    monkeypatch.chdir(tmp_path)
    Path("subject_of_timings.py").write_text(SUBJECT)
    tl.Plan(("elsewhere",)).write("plan.json")
    result = CliRunner().invoke(
        app, ["collect", "timings", "subject_of_timings.py:make", "--plan", "plan.json"]
    )
    assert result.exit_code == 2
    assert "the plan names elsewhere, which the model does not have" in " ".join(
        result.stderr.split()
    )


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("subject", "code", "message"),
    [
        ("subject_of_timings.py", 2, "expected FILE.py:FUNCTION or MODULE:FUNCTION"),
        ("absent.py:make", 1, "no such file"),
        ("json.py:make", 1, "expected a function make, found none"),
        ("no_such_module_anywhere:make", 1, "cannot be imported: ModuleNotFoundError"),
        ("subject_of_timings.py:other", 1, "expected a function other, found none"),
        ("subject_of_timings.py:nothing", 1, "expected it to return (model, inputs), found int"),
        ("subject_of_timings.py:leaves", 1, "leaves: fails: SystemExit: 3; tracelens --debug"),
        (
            "subject_of_timings.py:misfits",
            1,
            "fails while it is measured: RuntimeError: mat1 and mat2 shapes cannot",
        ),
        ("subject_of_timings.py:refuses", 1, "fails: ValueError: named_modules; tracelens --debug"),
    ],
)
def test_what_cannot_be_timed(
    subject: str, code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("subject_of_timings.py").write_text(SUBJECT)
    Path("json.py").write_text("")
    result = CliRunner().invoke(app, ["collect", "timings", subject])
    assert result.exit_code == code
    assert sys.modules["json"] is json, "a file of that name is not what others import"
    assert message in " ".join(result.stderr.split())
