"""A pytest plugin: run the suite as in a bare clone, then the tests that further captures add.

The first run is given `--note-passed FILE`. The second run is given `--leave-out FILE` and runs the
tests that did not pass in the first: skipped tests, and tests of captures that were missing. Files
with only passed tests are not even imported, unless they name the folder of captures.
"""

from pathlib import Path

import pytest

from tests.sources import MORE


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare both options."""
    parser.addoption("--note-passed", type=Path, help="write the ids of tests that passed")
    parser.addoption("--leave-out", type=Path, help="leave out the tests with ids in this file")


def pytest_configure(config: pytest.Config) -> None:
    """End a second run if there are no captures to read."""
    if config.getoption("--leave-out") and not MORE.is_dir():
        pytest.exit("no captures beside those of samples/", returncode=0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file if all its tests passed before, unless it names the folder of captures."""
    file = config.getoption("--leave-out")
    if file is None or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    is_done = name in file.read_text().splitlines()
    return True if is_done and "MORE" not in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that passed before."""
    if file := config.getoption("--leave-out"):
        passed = set(file.read_text().splitlines())
        items[:] = [item for item in items if item.nodeid not in passed]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the ids of tests that passed, and the names of files in which all tests passed.

    With several workers, the main process writes them.
    """
    if file := config.getoption("--note-passed"):
        file.parent.mkdir(exist_ok=True)
        reports = [report for group in terminalreporter.stats.values() for report in group]
        others = [report for report in reports if getattr(report, "outcome", "passed") != "passed"]
        passed = {report.nodeid for report in terminalreporter.stats.get("passed", [])}
        whole = {_file_of(name) for name in passed} - {_file_of(one.nodeid) for one in others}
        file.write_text("\n".join(sorted(passed | whole)))


def _file_of(test: str) -> str:
    """Name the file of a test by its id."""
    return test.partition("::")[0]
