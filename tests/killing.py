"""Kill collections into a bucket at random moments, and begin them again.

    python -m tests.killing [N]

A test kills three. This program kills 50 unless N is given, and prints how many were killed before
any rank was in the bucket, when some ranks were, and when everything was.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from polars.testing import assert_frame_equal

import tracelens as tl
from tests.object_store import make_bucket, object_store
from tests.torch_files import call, kernel, span, write
from tracelens.errors import SourceError
from tracelens.jobs.job import Job, Work, collect_job, in_turn
from tracelens.jobs.ranks import RankRecord, TargetError
from tracelens.jobs.target import finished_ranks
from tracelens.jobs.tasks import Task
from tracelens.schemas import TABLES
from tracelens.storage.objects import Objects

EPOCH_US = 1_700_000_000 * 10**6


def write_ranks(folder: Path, n_ranks: int) -> Path:
    """Write traces of `n_ranks` ranks.

    Each has an op that launches a kernel of 10 + rank microseconds.
    """
    folder.mkdir()
    for rank in range(n_ranks):
        events = [
            span("aten::mm", EPOCH_US, 50),
            call("cudaLaunchKernel", EPOCH_US + 5, 4, rank + 1),
            kernel("gemm", EPOCH_US + 20, 10 + rank, rank + 1),
        ]
        write(
            folder / f"rank{rank:02}.pt.trace.json.gz",
            events,
            distributedInfo={"rank": rank, "world_size": n_ranks},
        )
    return folder


def put(folder: Path, url: str) -> str:
    """Upload the files of a folder as objects below a URL."""
    for file in folder.iterdir():
        Objects(url).upload(file.name, file)
    return url


def same_tables(one: tl.Trace, other: tl.Trace) -> None:
    """Fail if a table differs between the two traces."""
    for name in TABLES:
        assert_frame_equal(one.frame(name), other.frame(name))


def kill_and_go_on(runs: str, target: str, whole: tl.Trace, after_s: float) -> str:
    """Kill a collection after `after_s` seconds, check what a reader finds, and collect again.

    The second collection must read no finished rank. Return what the first one left: no rank, some
    ranks, or the whole trace.
    """
    command = [sys.executable, "-m", "tracelens", "collect", "torch", runs, "--out", target]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as driver:
        try:
            driver.wait(after_s)
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)
    finished = {record.rank for record in finished_ranks(target)}
    try:
        found = tl.open(target)
    except SourceError as error:
        assert "found none" in str(error)  # noqa: PT017 - not of a test alone
    else:
        same_tables(found, whole)
        return "whole"
    left = {
        name
        for rank, name in enumerate(sorted(one["name"] for one in whole.manifest.sources))
        if rank not in finished
    }
    read: set[str] = set()

    def noting(
        tasks: Sequence[Task], work: Work
    ) -> Iterator[tuple[Task, list[RankRecord] | SourceError]]:
        read.update(task.name for task in tasks)
        yield from in_turn(tasks, work)

    # What the killed one had sent may arrive after it was looked for: a rank that is finished then,
    # or the manifest.
    try:
        trace, failed = collect_job(Job(runs, target, "torch"), noting, lambda _: None)
    except TargetError:
        same_tables(tl.open(target), whole)
        return "whole"
    assert not failed
    assert read <= left
    same_tables(trace, whole)
    return "some ranks" if finished else "no rank"


def seconds_of_one(runs: str, target: str) -> float:
    """Return the time that an undisturbed collection takes."""
    command = [sys.executable, "-m", "tracelens", "collect", "torch", runs, "--out", target]
    began = time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    """Kill as many collections as the command line says."""
    n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    chance, found = random.Random(), Counter[str]()  # noqa: S311
    with object_store() as variables, tempfile.TemporaryDirectory() as folder:
        os.environ.update(variables)
        runs = put(write_ranks(Path(folder, "runs"), 8), f"{make_bucket('killed')}/runs")
        whole = tl.collect(Path(folder, "runs"))
        takes_s = seconds_of_one(runs, "s3://killed/first.tracelens")
        for number in range(n_kills):
            was = kill_and_go_on(
                runs, f"s3://killed/run{number}.tracelens", whole, chance.uniform(0, takes_s)
            )
            takes_s *= {"whole": 0.9, "no rank": 1.1}.get(
                was, 1
            )  # what else the machine does changes meanwhile
            found[was] += 1
            print(f"{number + 1} of {n_kills}: {dict(found)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
