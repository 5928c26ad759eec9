"""Programs with one planted cause each: the verdict and the idle time name it, with its place."""

import importlib.util
import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl

ROOT = Path(__file__).parents[1]
PLANTED = ROOT / "samples" / "planted"
IDLE = {"input", "sync", "allocation", "loading", "launch", "host", "dependency"}
"""Causes of idle time; the other bounds are of a device that works."""


def runs_of(folder: Path) -> list[list[dict[str, Any]]]:
    """What truth says of each capture whose file is there, in lists of the ranks of one run."""
    captures = [row for file in sorted(folder.glob("truth*.json")) for row in json.loads(file.read_text())["captures"]]
    there = [row for row in captures if (folder / row["file"]).is_file()]

    def run(row: dict[str, Any]) -> tuple[str, bool]:
        return row["program"], row["stacks"]

    return [sorted(rows, key=lambda row: row["rank"]) for _, rows in groupby(sorted(there, key=run), run)]


def check(folder: Path, run: list[dict[str, Any]]) -> None:
    trace = tl.collect([folder / row["file"] for row in run])
    verdicts = {row["rank"]: row for row in tl.analyses.verdict(trace).iter_rows(named=True)}
    assert len(verdicts) == len(run)
    for truth, found in zip(run, (verdicts[rank] for rank in sorted(verdicts)), strict=True):
        assert found["bound"] in truth["bound"].split("|"), found["evidence"]
        if truth["what"]:
            assert re.search(truth["what"], found["evidence"]), found["evidence"]
        cause = truth["cause"] or found["bound"]
        if cause in IDLE:
            gaps = tl.analyses.idle_gaps(trace).filter(pl.col("rank") == found["rank"]).sort("idle_ns", descending=True)
            by_cause = gaps.group_by("cause").agg(pl.col("idle_ns").sum()).sort("idle_ns", descending=True)
            assert by_cause["cause"][0] == cause, by_cause
            assert re.search(truth["what"], gaps.filter(pl.col("cause") == cause)["what"][0] or ""), gaps


BUNDLED = runs_of(PLANTED / "captures")


@pytest.mark.parametrize("run", BUNDLED, ids=[f"{run[0]['program']}{'_stacks' * run[0]['stacks']}" for run in BUNDLED])
def test_every_planted_cause_is_named_with_its_place(run: list[dict[str, Any]]) -> None:
    check(PLANTED / "captures", run)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch, which is not installed")
    out = tmp_path_factory.mktemp("planted")
    done = subprocess.run(
        [sys.executable, str(PLANTED / "run.py"), "--out", str(out), "--cpu"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ", 0 failed" in done.stdout, done.stdout
    return out


@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize(
    "program", ["compute_matmul", "input_main_process", "input_slow_workers", "host_sleep", "host_checkpoint"]
)
def test_causes_that_show_without_a_gpu_are_named_live(live: Path, program: str, stacks: bool) -> None:
    (run,) = [run for run in runs_of(live) if run[0]["program"] == program and run[0]["stacks"] == stacks]
    check(live, run)
