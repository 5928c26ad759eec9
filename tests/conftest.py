"""Settings for every test."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.fast import Watch, imports_slow_modules, is_fast
from tracelens.storage import limits

# A shared machine may stall for a second: time is the benchmark's business. Most examples read or
# analyse a trace: TRACELENS_EXAMPLES=1000 looks longer than every run can.
IN_CI = "CI" in os.environ
ASKED_EXAMPLES = int(os.environ.get("TRACELENS_EXAMPLES", "0"))


def examples(n: int) -> int:
    """Choose the number of examples: a tenth of `n` in CI, never more than are asked for."""
    return min(max(3, n // 10) if IN_CI else n, ASKED_EXAMPLES or n)


settings.register_profile(
    "tracelens",
    deadline=None,
    max_examples=ASKED_EXAMPLES or examples(40),
    # a change is judged by what it changes; everybody else looks for something new
    derandomize=IN_CI,
)
settings.load_profile("tracelens")

# What is refused shall not depend on this machine's memory.
limits.SHARE_OF_MEMORY = 1 << 40

# What HTA brings along has jsonschema, and with it altair, build 38 grammars on import: a second of
# every process, for checks of addresses that no chart has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# As wide as a pipe without a terminal, which what is printed is compared with; pytest-xdist names
# another width.
os.environ["COLUMNS"] = "140"

# Programs that the tests start run beside each other: torch's threads would wait for each other,
# spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Inductor compiles small models here: neither kernels with vector instructions, nor trials of which
# of them the machine knows. All tests share the headers that it makes ready, as their kernels are
# compiled alike.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")

# Programs that the tests stop by a signal inherit whether it is ignored, as SIGHUP is under `nohup`
# and SIGINT behind a script's `&`, and would rightly go on. What is handled, they do not inherit:
# the session still outlives the hang-up, and so do its workers, which are not told whether it
# should.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN or "PYTEST_XDIST_WORKER" in os.environ:
    signal.signal(signal.SIGHUP, lambda *_: None)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that start many programs or read many traces. The last one to begin should be short: it ends
# alone, on one core.
LONGEST = (
    "accuracy",
    "cloud",
    "compile_provenance",
    "engines",
    "gdb_",
    "hta",
    "interrupted",
    "live_",
    "nsys_live",
    "planted",
    "torch_fast",
    "verdict",
    "whatif",
)


WATCH = Watch()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a fast test if only fast tests are requested.

    Importing files takes long.
    """
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    wanted = config.getoption("markexpr") == "fast"
    return True if wanted and is_test and imports_slow_modules(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the fast tests where these are asked for, and put the longest files first.

    Others keep the order of names.
    """
    for item in items if "fast" in config.getoption("markexpr") else ():
        if is_fast(item):
            item.add_marker(pytest.mark.fast)
    items.sort(key=lambda item: not item.path.stem.removeprefix("test_").startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Keep what was imported out of garbage collection, which looks at a million objects there."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch what a fast test and its fixtures do."""
    WATCH.begin(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a fast test that did what takes long."""
    yield
    WATCH.end()


@pytest.fixture(autouse=True)
def no_program_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End what a failed test started and left running.

    It would take the time of the tests that follow.
    """
    begin, started = subprocess.Popen.__init__, []

    def noted(process: "subprocess.Popen[Any]", *command: Any, **options: Any) -> None:
        begin(process, *command, **options)
        started.append(process)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    yield
    for process in started:
        if process.poll() is None:
            with process:
                process.kill()
