"""Measure which tests take long, and list them in tests/slow.txt.

    python -m tools.slow_tests [PYTEST ARGUMENT ...]

Runs every test that tests/fast.py takes for fast. A test function is listed if its cases take more
than 0.1 seconds of processor time each, or one second together, or if one fails. `make check-fast`
leaves out the listed tests. The first test that reads a capture pays for the reading.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow.txt"
MOST_OF_A_CASE_S, MOST_OF_A_TEST_S = 0.1, 1.0
"""Above these seconds of processor time, of a case or of all cases, a test function is slow."""
_FILE = "TRACELENS_TEST_TIMES"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append the name of a test and its processor time to the file of times."""
    began = time.process_time()
    yield
    _note(item.nodeid, time.process_time() - began)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a failed test as slow: it may fail because it reads a large sample."""
    if report.failed:
        _note(report.nodeid, math.inf)


def _note(test: str, seconds: float) -> None:
    line = json.dumps([test.partition("[")[0], seconds])
    with Path(os.environ[_FILE]).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def slow_tests(times: list[tuple[str, float]]) -> list[str]:
    """Return the sorted names of functions with too long cases, on average or together."""
    by_function: dict[str, list[float]] = defaultdict(list)
    for function, seconds in times:
        by_function[function].append(seconds)
    return sorted(
        name
        for name, seconds in by_function.items()
        if sum(seconds) > min(MOST_OF_A_CASE_S * len(seconds), MOST_OF_A_TEST_S)
    )


def main() -> int:
    """Run the tests and write the list."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times"
        words = ["-q", "-m", "fast", "-p", "tools.slow_tests", *sys.argv[1:]]
        environment = os.environ | {"TRACELENS_EXAMPLES": "10", "TRACELENS_SLOW_LIST": "off"}
        code = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=ROOT,
            env=environment | {_FILE: str(file)},
            check=False,
        ).returncode
        times = [tuple(json.loads(line)) for line in file.read_text().splitlines()]
    LIST.write_text(
        "".join(f"{name}\n" for name in slow_tests(times)),
        encoding="utf-8",
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
