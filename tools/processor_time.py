"""Provide a pytest plugin that records the processor time of each test and its child processes.

    python -m pytest -p tools.processor_time --note-times FILE …
    python -m tools.processor_time FILE

The second command prints seconds by file and the most expensive tests.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PRINTED_TESTS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option for the file of times."""
    parser.addoption("--note-times", type=Path, required=True, help="append a line per test here")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append the test and its seconds to the file; the first test with a fixture pays for it."""
    began = seconds_used()
    result = yield
    line = json.dumps([item.nodeid, seconds_used() - began])
    with item.config.getoption("--note-times").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    return result


def seconds_used() -> float:
    """Return the user and system time of this process and its ended children, in seconds."""
    return sum(os.times()[:4])


def main() -> None:
    """Print the seconds of each file and of the most expensive tests."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    by_test: dict[str, float] = dict(map(json.loads, lines))
    by_file: dict[str, float] = defaultdict(float)
    for test, seconds in by_test.items():
        by_file[test.partition("::")[0]] += seconds
    print(f"{sum(by_test.values()):8.1f} s in {len(by_test)} tests")
    for times, n_printed in ((by_file, len(by_file)), (by_test, PRINTED_TESTS)):
        print()
        for name, seconds in sorted(
            times.items(),
            key=lambda pair: -pair[1],
        )[:n_printed]:
            print(f"{seconds:8.1f} s {name}")


if __name__ == "__main__":
    main()
