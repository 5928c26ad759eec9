"""Programs with one planted cause each: the verdict and the idle time name it, with its place."""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests import accuracy
from tests.agreement import check_agreement
from tests.answer_checks import check_answer
from tests.selection import every, only
from tests.sources import check_kernel_time_adds_up
from tracelens.derive.time.activity_places import PROFILER
from tracelens.trace import Trace

PLANTED = Path(__file__).parents[1] / "samples" / "planted"
CAPTURES = PLANTED / "captures"
accuracy_page = accuracy.script("accuracy_page")
IDLE = {"input", "sync", "allocation", "loading", "launch", "host", "dependency"}
"""Causes of idle time. The other bounds are of a device that works."""


def truth_of(folder: Path) -> list[dict[str, Any]]:
    captures: list[dict[str, Any]] = json.loads((folder / "truth.json").read_text())["captures"]
    return captures


def traces_of(folder: Path, program: str) -> Iterator[tuple[Trace, dict[int, dict[str, Any]]]]:
    """Yield for each setting of a program its trace and the truth of each rank."""
    captures = [row for row in truth_of(folder) if row["program"] == program]
    captures.sort(key=lambda row: (row["stacks"], row["rank"]))
    for _, rows in groupby(captures, lambda row: row["stacks"]):
        ranks = {row["rank"]: row for row in rows}
        yield tl.collect([folder / row["file"] for row in ranks.values()]), ranks


def check(folder: Path, program: str) -> None:
    """Check for each setting and rank of a program that the bound and its place are named."""
    for trace, ranks in traces_of(folder, program):
        verdicts = tl.analyses.verdict(trace).rows_by_key("rank", named=True, unique=True)
        gaps = tl.analyses.idle_gaps(trace)
        assert verdicts.keys() == ranks.keys()
        for rank, truth in ranks.items():
            check_verdict(truth, verdicts[rank])
            if folder == CAPTURES:
                accuracy.check_rows([accuracy_page.planted_row(truth, verdicts[rank])])
            cause = truth["cause"] or verdicts[rank]["bound"]
            if cause in IDLE:
                check_gaps(truth, cause, gaps.filter(pl.col("rank") == rank))


def check_verdict(truth: dict[str, Any], found: dict[str, Any]) -> None:
    assert found["bound"] in truth["bound"].split("|"), (truth["file"], found["evidence"])
    if truth["cause"] and found["bound"] == "compute":
        assert found["second"] == truth["cause"], (truth["file"], found["evidence"])
    if not truth["cause"]:
        assert re.search(truth["what"], found["what"] or ""), (truth["file"], found["evidence"])
        assert found["what"] in found["evidence"]


def check_gaps(truth: dict[str, Any], cause: str, gaps: pl.DataFrame) -> None:
    """Check that most idle time has the cause, and that the largest row has cause and place."""
    own = gaps.filter(pl.col("what").ne_missing(PROFILER)).sort("idle_ns", descending=True)
    sums = own.group_by("cause").agg(pl.col("idle_ns").sum()).sort("idle_ns", descending=True)
    assert sums["cause"][0] == cause, (truth["file"], sums)
    assert truth["spread"] or own["cause"][0] == cause, (truth["file"], own)
    assert re.search(truth["what"], own.filter(pl.col("cause") == cause)["what"][0] or ""), (
        truth["file"],
        own,
    )


def test_the_captures_cover_every_bound_and_are_small() -> None:
    captures = truth_of(CAPTURES)
    assert {row["file"] for row in captures} == {file.name for file in CAPTURES.glob("*.gz")}
    bounds = {"compute", "communication", "waiting", "copy", *IDLE, "too little to judge"}
    assert bounds <= {row[key] for row in captures for key in ("bound", "cause")}
    assert sum(file.stat().st_size for file in CAPTURES.iterdir()) < 3_000_000


PROGRAMS = sorted({row["program"] for row in truth_of(CAPTURES)})


def first_of_each_kind() -> set[str]:
    """Return the first of the programs with the same bounds and causes."""
    kinds: dict[frozenset[tuple[str, str]], list[str]] = {}
    for program in PROGRAMS:
        rows = [row for row in truth_of(CAPTURES) if row["program"] == program]
        kinds.setdefault(frozenset((row["bound"], row["cause"]) for row in rows), []).append(
            program
        )
    return {programs[0] for programs in kinds.values()}


FIRST = first_of_each_kind()


@pytest.mark.parametrize("program", only(sorted(FIRST)[::2], PROGRAMS))
def test_every_planted_cause_is_named_with_its_place(program: str) -> None:
    check(CAPTURES, program)


@pytest.mark.parametrize("program", every(24, PROGRAMS))
def test_sections_of_each_setting_agree(program: str) -> None:
    for trace, _ in traces_of(CAPTURES, program):
        if trace.has("kernels"):
            check_kernel_time_adds_up(trace)
        check_answer(trace)
        check_agreement(trace)


LIVE = ("compute_matmul", "input_slow_workers", "host_checkpoint")
"""One program per cause that shows without a GPU. The other programs are among the captures."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch, which is not installed")
    out = tmp_path_factory.mktemp("planted")
    command = [
        sys.executable,
        str(PLANTED / "run.py"),
        "--out",
        str(out),
        "--cpu",
        "--only",
        ",".join(LIVE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ", 0 failed" in done.stdout, done.stdout
    return out


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", LIVE)
def test_causes_that_show_without_a_gpu_are_named_live(live: Path, program: str) -> None:
    check(live, program)
