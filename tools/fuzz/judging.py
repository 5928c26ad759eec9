"""Judge every input by one rule, and try many inputs in processes.

An input passes if reading it raises a TracelensError, or gives a trace that passes `check`. Any
other exception is a failure, and so is a process that dies, or takes too much time or memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tracelens.advisor.plan import make_plan
from tracelens.analyses import ANALYSES
from tracelens.analyses.advise import advised_ranks, frame_of, notes
from tracelens.cli.collect.request import Request, write_files
from tracelens.derive.calls.advising import plan_of
from tracelens.errors import MissingTableError, TracelensError, UsageError, first_line
from tracelens.exports import EXPORTS
from tracelens.exports.export import Selection
from tracelens.report import build_query, build_report
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.checking import blame_rows, problems
from tracelens.views.formats.json import to_json

FAILED = "FAILED"
KEEP = "TRACELENS_FUZZ_KEEP"
"""The environment variable with the folder for copies of failed inputs."""
_DETAIL = ": "
_OWN = re.compile(re.escape(str(Path(__file__).resolve().parents[2])) + "/(?!.venv)")
_BATCH = 250
_SECONDS, _SECONDS_A_MIB = 10, 20
"""Limit of an input's processor time in seconds: a constant, and an amount per MiB of input."""
_MIB, _MIB_A_MIB = 512, 400
"""Limit of an input's peak memory in MiB: a constant, and an amount per MiB of input.

The limit allows for a table of 64 MiB from any file, or of 200 times the file's size.
"""
_HANG_S = 300
_ADDRESS_SPACE = 12 << 30
_MEMORY = Path("/proc/self/status")


@dataclass(frozen=True)
class Source:
    """A kind of input."""

    # The collector named for every second input; None for traces, which are opened.
    kind: str | None
    # Writes an undamaged input.
    make: Callable[[Path, random.Random], Path]
    # Functions that damage an input and describe the damage
    changes: Sequence[Callable[[Path, random.Random], str]]
    # Functions that are called with the trace. Each may raise a TracelensError.
    uses: Sequence[Callable[[Trace], object]] = ()
    # Raises an error if the input is read wrongly.
    holds: Callable[[Path], object] | None = None


def report(trace: Trace) -> None:
    """Write a report with every section as JSON."""
    to_json(build_report(trace, trace, [*ANALYSES])).encode()


def advise(trace: Trace) -> None:
    """Make the call plan of each rank, with its notes."""
    advice_by_rank = advised_ranks(trace, [trace], z3=None)
    for advice in advice_by_rank.values():
        json.dumps(plan_of(advice, {}))
    notes(trace, frame_of(advice_by_rank), costs=[trace])


def plan(trace: Trace) -> None:
    """Make a compile plan, with the same trace for both runs."""
    make_plan(trace, trace).to_json()


def export(trace: Trace) -> None:
    """Write every export."""
    for exporter in EXPORTS.values():
        with contextlib.suppress(TracelensError):  # the next one may be possible
            exporter.write(Selection.of(trace), io.BytesIO())


def query(trace: Trace) -> None:
    """Query the rows of every table, and the sums of its columns of numbers."""
    for name, table in TABLES.items():
        numbers = [column.name for column in table.columns if column.dtype.is_numeric()]
        sums = "".join(f", SUM({column}) AS {column}" for column in numbers)
        to_json(build_query(trace, f"SELECT COUNT(*) AS n_rows{sums} FROM {name}"))  # noqa: S608
        to_json(build_query(trace, f"SELECT * FROM {name} LIMIT 3"))  # noqa: S608


def try_all(sources: dict[str, Source], module: str) -> int:
    """Try a number of inputs per source, and print the results; return 1 if an input failed.

    This is the command `python -m MODULE INPUTS [NAME [FIRST]]`. The source's name and a number
    identify an input, the same in every run.
    """
    words = sys.argv[1:]
    if words[0] == "--here":
        _try_here(
            sources,
            [
                (name, int(number))
                for name, number in zip(
                    words[1::2],
                    words[2::2],
                    strict=True,
                )
            ],
        )
        return 0
    n_inputs, names, first = (
        int(words[0]),
        words[1:2] or [*sources],
        int(words[2]) if words[2:] else 0,
    )
    left = [(name, number) for name in names for number in range(first, first + n_inputs)]
    ends = {name: Counter[str]() for name in names}
    while left:
        # Sources share a process, which takes longer to start than most inputs do.
        asked = left[:_BATCH]
        command = [
            sys.executable,
            "-m",
            module,
            "--here",
            *(str(word) for pair in asked for word in pair),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        printed = done.stdout.splitlines()
        results = [line for line in printed if not line.startswith("#")]
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            why = " / ".join(
                [
                    f"exit {done.returncode}",
                    *lines[:6],
                    *lines[6:][-3:],
                ]
            )
            results.append(f"{FAILED} the process died of input {asked[len(results)][1]}: {why}")
        for (name, _), end in zip(asked, results, strict=False):
            ends[name][end] += 1
        del left[: len(results)]
        sys.stdout.writelines(f"{line[2:]}\n" for line in printed if line.startswith("#"))
        sys.stdout.flush()
    n_failed = 0
    for name, ended in ends.items():
        failed = sum(count for end, count in ended.items() if end.startswith(FAILED))
        n_failed += failed
        sys.stdout.write(f"{name}: {n_inputs:,} inputs, {failed} failed\n")
        sys.stdout.writelines(f"{count:9,}  {end}\n" for end, count in ended.most_common())
    return int(n_failed > 0)


def _try_here(
    sources: dict[str, Source],
    asked: Sequence[tuple[str, int]],
) -> None:
    """Try inputs in this process, and print one line with the result of each.

    A further line that begins with # describes a failure.
    """
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE,) * 2)
    for name, number in asked:
        faulthandler.dump_traceback_later(_HANG_S, exit=True)
        chance = random.Random(f"{name} {number}")  # noqa: S311 - to be repeated
        with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
            if chance.random() < 0.3:
                patch.setattr("tracelens.collectors.torch.reading.read_native", lambda *_: None)
            path = sources[name].make(Path(place), chance)
            what = chance.choice(sources[name].changes)(path, chance)
            kind = sources[name].kind
            uses = sources[name].uses or ([report] if kind is None or number % 3 == 0 else [])
            end = broken(path, sources[name].holds) or judged(
                path, kind, uses, is_named=number % 2 == 1
            )
            if end.startswith(FAILED) and KEEP in os.environ:
                shutil.copytree(place, Path(os.environ[KEEP], f"{name}-{number}"))
        if end.startswith(FAILED):
            sys.stdout.write(f"# {name}: {number} {what}: {end}\n")
        sys.stdout.write(f"{end.split(_DETAIL)[0]}\n")
        sys.stdout.flush()


def broken(path: Path, holds: Callable[[Path], object] | None) -> str | None:
    """Return the error that `holds` raises, in a few words, or None."""
    try:
        if holds is not None:
            holds(path)
    except Exception as error:  # noqa: BLE001 - what is looked for
        return _failure(error)
    return None


def judged(
    path: Path,
    kind: str | None,
    uses: Sequence[Callable[[Trace], object]],
    *,
    is_named: bool,
) -> str:
    """Read and use an input, and say in a few words whether it passes."""
    size_mib = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file()) / (
        1 << 20
    )
    before_s, before_mib = time.process_time(), _resident_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts anew
    end = _end(path, kind, uses, is_named=is_named)
    seconds, mib = time.process_time() - before_s, _resident_mib("VmHWM") - before_mib
    if seconds > _SECONDS + _SECONDS_A_MIB * size_mib:
        return f"{FAILED} too slow{_DETAIL}{seconds:.0f} s for {size_mib:.2f} MiB"
    if mib > _MIB + _MIB_A_MIB * size_mib:
        return f"{FAILED} too large{_DETAIL}{mib:.0f} MiB for {size_mib:.2f} MiB"
    return end


def _end(
    path: Path,
    kind: str | None,
    uses: Sequence[Callable[[Trace], object]],
    *,
    is_named: bool,
) -> str:
    try:
        trace = Trace.open(path if kind is None else _collected(path, kind if is_named else None))
        with blame_rows(trace):
            wrong = list(problems(trace))
        for use in uses:
            with blame_rows(trace), contextlib.suppress(MissingTableError, UsageError):
                use(trace)
    except TracelensError as error:
        return f"{FAILED} no single line{_DETAIL}{error!r}" if "\n" in str(error) else "refused"
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - what is looked for
        return _failure(error)
    if wrong and kind is not None:
        return f"{FAILED} written, but check says{_DETAIL}{wrong[0]}"
    return "read, and check finds what is wrong" if wrong else "read"


def _failure(error: BaseException) -> str:
    where = [
        frame for frame in traceback.extract_tb(error.__traceback__) if _OWN.match(frame.filename)
    ]
    places = " ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in where[-3:])
    return f"{FAILED} {type(error).__name__} at {places}{_DETAIL}{first_line(error)[:100]}"


def _collected(path: Path, kind: str | None) -> Path:
    """Collect the input as the command line does, and return the path of the trace."""
    target = path.parent / "collected.tracelens"
    with contextlib.redirect_stderr(io.StringIO()):
        write_files(
            [path],
            kind,
            Request(target, force=False, ranks=None),
        )
    return target


def _resident_mib(which: str) -> float:
    """Return this process's resident memory in MiB, current (VmRSS) or peak (VmHWM)."""
    match = re.search(rf"{which}:\s*(\d+) kB", _MEMORY.read_text())
    return int(match[1]) / 1024 if match else 0
