"""What commands say of themselves and of this machine: help, reference, doctor, version."""

import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.command_line import Result, command_line
from tracelens.cli import doctor
from tracelens.cli.commands import app
from tracelens.cli.loading import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(command_line, capsys)


@pytest.mark.slow
def test_doctor_says_what_is_found_and_how_to_get_the_rest(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_: "/bin/echo" if name == "gdb" else None)
    found = {row["tool"]: row for row in doctor.examine().to_dicts()}
    assert found["gdb"]["found"]
    assert not found["nsys"]["found"]
    assert found["nsys"]["to_get_it"] == "install NVIDIA Nsight Systems"
    assert set(found) == {
        "gdb",
        "cuda-gdb",
        "nsys",
        "py-spy",
        "NVML",
        "native library",
        "torch",
        "nvidia-ml-py",
        "pygdbmi",
        "adbc-driver-sqlite",
        "z3-solver",
        "obstore",
        "ray",
        "traceinsight",
        "mcp",
    }
    assert "Nsight" in run("doctor").out


@pytest.mark.slow
def test_doctor_reads_the_version_that_a_tool_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "gdb"
    tool.write_text("#!/bin/sh\necho 'GNU gdb (Debian 13.1-3) 13.1'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.examine().row(0)[:3] == ("gdb", True, "13.1")


def test_a_group_without_a_command_lists_its_commands(run: Run) -> None:
    asked = run("collect")
    assert asked.code == 2
    assert any(line.startswith("  files ") for line in asked.err.splitlines())


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("tracelens ")


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, child in getattr(command, "commands", {}).items():
        yield from _commands(child, f"{name} {word}")


EVERY_COMMAND = dict(_commands(typer.main.get_command(app), "tracelens"))


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_command_and_option_has_help(name: str) -> None:
    command = EVERY_COMMAND[name]
    assert (command.help or "").strip(), f"{name} has no help"
    for parameter in command.params:
        assert (getattr(parameter, "help", None) or "").strip(), (
            f"{name} {parameter.name} has no help"
        )


@pytest.mark.slow
def test_help_lists_commands_without_loading_them() -> None:
    code = (
        "import sys; from tracelens.cli.commands import app; app(['--help'], standalone_mode=False);"
        " print([one for one in ('polars', 'pyarrow', 'numpy') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert set(COMMANDS) <= set(listed)
    assert "..." not in done.stdout.partition("Commands:")[2]
    assert done.stdout.endswith("\n[]\n")


def test_summaries_of_collect_are_whole(run: Run) -> None:
    _, _, commands = run("collect", "--help").out.partition("Commands:")
    assert "timings" in commands
    assert "..." not in commands


def test_a_mistyped_command_is_answered_with_the_near_one(run: Run) -> None:
    done = run("docter")
    assert done.code == 2
    assert "near: doctor" in done.err
    done = run("run", "--output", "kept.tracelens", "python", "train.py")
    assert done.code == 2
    assert "no option is called --output; near: --out" in done.err


def test_the_reference_pages_are_what_the_code_says() -> None:
    pages: dict[str, str] = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [name for name, text in pages.items() if (ROOT / "docs" / name).read_text() != text]
    assert stale == [], "run: python docs/generate.py"
