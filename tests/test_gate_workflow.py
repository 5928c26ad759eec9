"""The reusable workflow: its commands, read from its file, run in a repository of two branches."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples" / "torch"
PROFILED = "import shutil, sys; shutil.copy({sample!r}, sys.argv[1])\n"
"""Stands in for a program on a GPU: the trace that the program would have given."""


WORKFLOW = ROOT / ".github" / "workflows" / "tracelens-gate.yml"


def commands() -> list[str]:
    """The lines of the workflow that a shell runs."""
    return re.findall(r"^ +- run: (.+)$", WORKFLOW.read_text(), re.MULTILINE)


def git(folder: Path, *words: str) -> None:
    told = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *told, *words], cwd=folder, check=True, capture_output=True)


def checkout(folder: Path, base: str, new: str) -> Path:
    """A clone. Its branch profiles as `new` does, and its origin's main as `base`."""
    origin = folder / "origin"
    origin.mkdir()
    git(origin, "init")
    for kind, branch in ((base, "main"), (new, "change")):
        sample = str(SAMPLES / f"resnet50_train_{kind}.pt.trace.json.gz")
        git(origin, "checkout", "-B", branch)
        (origin / "profile_step.py").write_text(PROFILED.format(sample=sample))
        git(origin, "add", ".")
        git(origin, "commit", "--allow-empty", "-m", branch)
    git(folder, "clone", "--branch", "change", str(origin), "work")
    return folder / "work"


def tools(folder: Path) -> Path:
    """A folder of programs: this Python, this tracelens, and a pip that prints its arguments."""
    made = folder / "bin"
    made.mkdir()
    lines = {
        "python": f'exec {sys.executable} "$@"',
        "tracelens": f'exec {sys.executable} -m tracelens "$@"',
        "pip": 'echo "$@"',
    }
    for name, line in lines.items():
        (made / name).write_text(f"#!/bin/sh\n{line}\n")
        (made / name).chmod(0o755)
    return made


@pytest.mark.exhaustive
@pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash"
)
def test_the_workflow_fails_for_twice_the_bytes(tmp_path: Path) -> None:
    work, summary = checkout(tmp_path, "f32_pageable", "f64_pageable"), tmp_path / "summary.md"
    path = f"{tools(tmp_path)}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(summary),
        "INSTALL": "pip install tracelens-toolkit",
        "PROFILE": "python profile_step.py",
        "GATES": "gpu_time > +500%\n\nh2d_bytes > +50%",
    }
    environment["PYTHONPATH"] = str(ROOT)
    lines = commands()
    (name,) = re.findall(r'^name = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert f"pip install {name}" in WORKFLOW.read_text()
    ended = [
        subprocess.run(
            ["bash", "-e", "-c", line],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for line in lines
    ]
    assert [one.returncode for one in ended] == [*[0] * (len(lines) - 1), 3], [
        one.stderr for one in ended
    ]
    assert "1 of 2 gates failed" in summary.read_text()
    assert 'failures="1"' in (work / "gates.xml").read_text()
    assert (work / "report.html").stat().st_size > 10_000
