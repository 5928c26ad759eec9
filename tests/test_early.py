"""What is settled before Polars is imported, by the command alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracelens.allocator import gives_back_soon

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "_RJEM_MALLOC_CONF"
SAYS = """
import gc, sys
sys.argv, sys.orig_argv = {argv!r}, {argv!r}
import tracelens
from tracelens import early
print(gc.isenabled(), end=" ")
early.imported()
print(gc.isenabled())
"""


@pytest.mark.parametrize(
    ("argv", "collects_garbage"),
    [
        (["/usr/bin/tracelens", "collect", "torch", "t.json"], False),
        (["tracelens", "report", "t"], False),
        (["-m", "tracelens", "collect"], False),
        (["-m", "pytest", "collect"], True),
        (["train.py", "collect"], True),
        ([], True),
    ],
)
def test_only_the_command_imports_without_collecting_garbage(argv: list[str], *, collects_garbage: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SAYS.format(argv=argv)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(collects_garbage), "True"]


def test_the_larger_the_file_the_sooner_memory_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    large, small = tmp_path / "large.json", tmp_path / "small.json"
    for file, size in ((large, 2 * 10**9), (small, 10**6)):
        file.touch()
        os.truncate(file, size)
    told = {}
    for name, words in {
        "small": [str(small), "--force"],
        "large": [str(small), str(large)],
        "none": ["-"],
        "nsys": ["nsys", str(large)],
    }.items():
        with gives_back_soon(words):
            told[name] = os.environ[VARIABLE]
        assert VARIABLE not in os.environ
    assert told["large"].startswith("dirty_decay_ms:0,")
    assert told["nsys"].startswith("dirty_decay_ms:5000,")
    assert told["small"] == told["none"] != told["large"]


def test_who_tells_the_allocator_oneself_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "narenas:1")
    with gives_back_soon([]):
        assert os.environ[VARIABLE] == "narenas:1"
    assert os.environ[VARIABLE] == "narenas:1"


def test_what_polars_told_its_own_program_does_not_bind_a_collect_started_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = "import os, polars; print(os.environ.get('_RJEM_MALLOC_CONF', ''))"
    monkeypatch.delenv(VARIABLE, raising=False)
    for _ in range(2):  # a program that Polars told, and one started by it
        inherited = subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, check=True
        ).stdout.strip()
        monkeypatch.setenv(VARIABLE, inherited)
        with gives_back_soon([]):
            assert os.environ[VARIABLE].startswith("dirty_decay_ms:100,")
        assert os.environ.get(VARIABLE) == inherited
    monkeypatch.setenv(VARIABLE, f"{inherited},narenas:1" if inherited else "narenas:1")
    with gives_back_soon([]):
        assert os.environ[VARIABLE].endswith("narenas:1")
