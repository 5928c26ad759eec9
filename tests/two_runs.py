"""A pytest plugin: the suite as in a bare clone, then what the captures beside it add.

The first run is given `--note-passed FILE`, and the second `--leave-out FILE`, which runs what did
not pass in the first: tests that were skipped, and those of captures that were not there.
"""

from pathlib import Path

import pytest

from tests.sources import MORE


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare both options."""
    parser.addoption("--note-passed", type=Path, help="write the ids of tests that passed")
    parser.addoption("--leave-out", type=Path, help="leave out the tests with ids in this file")


def pytest_configure(config: pytest.Config) -> None:
    """End a second run where there are no captures to read."""
    if config.getoption("--leave-out") and not MORE.is_dir():
        pytest.exit("no captures beside those of samples/", returncode=0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    if file := config.getoption("--leave-out"):
        passed = set(file.read_text().splitlines())
        items[:] = [item for item in items if item.nodeid not in passed]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the ids of tests that passed, in the process that hears of all workers' tests."""
    if file := config.getoption("--note-passed"):
        file.parent.mkdir(exist_ok=True)
        passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
        file.write_text("\n".join(sorted(passed)))
