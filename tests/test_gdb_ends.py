"""How a run under gdb ends: failing programs, symbols that are never hit, and no program at all."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import MAIN, NEEDS_GDB, library, program
from tests.test_gdb_live import PYTHON, SYMBOL, functions, run
from tracelens.collectors import gdb
from tracelens.collectors.gdb import targets
from tracelens.collectors.gdb.mi import Session
from tracelens.errors import ToolError, UsageError

pytestmark = NEEDS_GDB


CRASHES = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int cudnnConvolutionForward(int);
int main(void) { FIRST; cudnnConvolutionForward(1); END; return 0; }
"""


@pytest.mark.parametrize(
    ("end", "code", "complete"),
    [
        ("exit(3)", 3, True),
        ("abort()", 128 + signal.SIGABRT, False),
        pytest.param("*(volatile int *)0 = 1", 139, False, marks=pytest.mark.exhaustive),
    ],
    ids=["exits", "aborts", "crashes"],
)
def test_a_program_that_fails_keeps_its_code_and_stacks(
    tmp_path: Path, end: str, code: int, complete: bool
) -> None:
    found = run(program(tmp_path, CRASHES.replace("FIRST", "").replace("END", end), "-O0"))
    assert found.exit_code == code
    assert found.captures[0].tables["stacks"].height == 1
    assert found.captures[0].complete is complete


@pytest.mark.parametrize(
    "obstinate",
    [
        pytest.param("", id="ends", marks=pytest.mark.exhaustive),
        pytest.param("signal(SIGTERM, SIG_IGN)", id="must be killed"),
    ],
)
def test_a_program_that_hangs_is_killed_and_its_stacks_kept(
    tmp_path: Path, obstinate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over at the first stop, however long gdb takes to get there."""
    wait, n_waits = Session.wait_stop, iter((1,))

    def waited(session: Session, deadline: float | None, *, wakeable: bool = True) -> Any:
        if not wakeable:
            return wait(session, deadline, wakeable=False)
        return wait(session, None) if next(n_waits, 0) else None

    monkeypatch.setattr(Session, "wait_stop", waited)
    if obstinate:
        monkeypatch.setattr("tracelens.collectors.gdb.live._GRACE_S", 0.5)
    made = program(
        tmp_path, CRASHES.replace("FIRST", obstinate).replace("END", "for (;;) pause()"), "-O0"
    )
    found = run(made, timeout_s=0.01)
    assert found.exit_code == 128 + (signal.SIGKILL if obstinate else signal.SIGTERM)
    assert found.captures[0].tables["stacks"].height == 1
    assert not found.captures[0].complete
    assert "killed after 0.01 s" in found.remarks[0]
    (process_id,) = found.captures[0].tables["stacks"]["process_id"]
    assert not Path(f"/proc/{process_id}").exists()


def test_a_signal_that_the_program_handles_is_its_own_affair(tmp_path: Path) -> None:
    text = """
#include <signal.h>
#include <stdlib.h>
int cudnnConvolutionForward(int);
static void handled(int number) { exit(number == SIGSEGV ? 9 : 1); }
int main(void) { signal(SIGSEGV, handled); cudnnConvolutionForward(1); raise(SIGSEGV); return 0; }
"""
    assert run(program(tmp_path, text, "-O0")).exit_code == 9


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (
            "cudnnNoSuchFunction",
            "cudnnNoSuchFunction: never found, the breakpoint is still pending",
        ),
        ("cudnnBackendExecute", "cudnnBackendExecute: found, but never called"),
    ],
)
def test_a_symbol_that_is_never_hit(tmp_path: Path, symbol: str, expected: str) -> None:
    made = program(tmp_path, MAIN.replace("KEEP", ""), "-O0")
    with pytest.raises(
        ToolError,
        match=f"^no stack was captured, and the program ended with exit code 0. {expected}",
    ):
        run(made, breaks=(symbol,))
    found = run(made, breaks=(SYMBOL, symbol))
    assert expected in found.remarks[1]


def test_torch_past_the_old_cudnn_interface_is_said(
    tmp_path: Path,
) -> None:
    made = program(
        tmp_path,
        "int cudnnBackendExecute(int); int main(void) { return cudnnBackendExecute(1) - 3; }",
    )
    with pytest.raises(ToolError) as raised:
        run(made)
    for words in (
        "found, but never called",
        "--break cudnnBackendExecute",
        "TORCH_CUDNN_V8_API_DISABLED=1",
    ):
        assert words in str(raised.value)


def test_calls_that_were_all_passed_over_are_said(tmp_path: Path) -> None:
    made = program(tmp_path, MAIN.replace("KEEP", ""), "-O0")
    with pytest.raises(
        ToolError, match="was called 3 times, and no call was kept: check --where-frame"
    ):
        run(made, where_frame="no_such_frame")
    with pytest.raises(ToolError, match="killed after 1 s"):
        run("/bin/sleep", "20", timeout_s=1.0)


def test_scripts_are_run_by_what_interprets_them(tmp_path: Path) -> None:
    made = program(tmp_path, MAIN.replace("KEEP", ""), "-O0", "-g")
    script, shim = tmp_path / "train", tmp_path / "python3"
    script.write_text(f"#!/bin/sh\nexec {made}\n")
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for path in (script, shim):
        path.chmod(0o755)
    assert functions(run(script))[-1] == "main"
    (tmp_path / "net.py").write_text(PYTHON)
    assert SYMBOL in functions(run(shim, tmp_path / "net.py", library(tmp_path)))
    assert targets.resolve([str(shim), "-c", "pass"])[0] == sys.executable


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#!/bin/sh -e", ["/bin/sh", "-e"]),
        ("#!/usr/bin/env sh", ["sh"]),
        ("#!/usr/bin/env -S sh -e", ["sh", "-e"]),
        ("# no program", None),
    ],
)
def test_the_first_line_of_a_script(tmp_path: Path, line: str, expected: list[str] | None) -> None:
    script = tmp_path / "script"
    script.write_text(f"{line}\n")
    script.chmod(0o755)
    if expected is None:
        with pytest.raises(ToolError, match="found a script that leads to none"):
            targets.resolve([str(script), "word"])
        return
    name, *options = expected
    resolved = targets.resolve([str(script), "word"])
    assert Path(resolved[0]).name == Path(name).name
    assert resolved[1:] == [*options, str(script), "word"]


@pytest.mark.slow
def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="no_such_program: cannot be run"):
        run(tmp_path / "no_such_program")
    with pytest.raises(ToolError, match="--gdb /nowhere/gdb: no such program"):
        gdb.run(["/bin/true"], gdb="/nowhere/gdb")
    with pytest.raises(UsageError, match="at least one symbol"):
        run("/bin/true", breaks=())
    with pytest.raises(UsageError, match="above 0"):
        run("/bin/true", hits=0)
    with pytest.raises(UsageError, match="expected the name of a function"):
        run("/bin/true", breaks=("one\ntwo",))
    monkeypatch.setitem(sys.modules, "pygdbmi.IoManager", None)
    with pytest.raises(ToolError, match="needs pygdbmi"):
        run("/bin/true")


def test_cuda_gdb_is_found_where_gdb_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(targets, "CUDA_FOLDERS", str(tmp_path / "cuda*" / "bin"))
    with pytest.raises(ToolError, match="needs gdb or cuda-gdb: neither is on PATH"):
        targets.find_gdb()
    for version in ("12.8", "13.0"):
        folder = tmp_path / f"cuda-{version}" / "bin"
        folder.mkdir(parents=True)
        (folder / "cuda-gdb").write_text("#!/bin/sh\n")
        (folder / "cuda-gdb").chmod(0o755)
    assert targets.find_gdb() == str(tmp_path / "cuda-13.0" / "bin" / "cuda-gdb")
    (tmp_path / "gdb").write_text("#!/bin/sh\n")
    (tmp_path / "gdb").chmod(0o755)
    assert targets.find_gdb() == str(tmp_path / "gdb")


LOGIN = """
__attribute__((noinline)) int login(const char *word) { return !word; }
int main(int n, char **words) { return login(words[n - 1]); }
"""


def test_nothing_of_the_surroundings_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an argument gdb says its name, and is not asked for its value."""
    folder = tmp_path / "s3cret"
    folder.mkdir()
    stops: list[str] = []
    wait = Session.wait_stop

    def waited(session: Session, deadline: float | None, *, wakeable: bool = True) -> Any:
        stop = wait(session, deadline, wakeable=wakeable)
        stops.append(str((stop or {}).get("frame", {}).get("args")))
        return stop

    monkeypatch.setattr(Session, "wait_stop", waited)
    monkeypatch.setenv("S3CRET", "s3cret")
    found = run(program(folder, LOGIN, "-O0", "-g"), "s3cret", breaks=("login",))
    kept = str([frame.rows() for frame in found.captures[0].tables.values()]) + str(
        found.captures[0]
    )
    assert "s3cret" not in kept
    assert "word" in stops[0]
    assert "s3cret" not in " ".join(stops)


@pytest.mark.slow
def test_a_gdb_that_ends_early_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "gdb"
    broken.write_text("#!/bin/sh\necho no license >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(ToolError, match="gdb failed: no license; try it alone"):
        gdb.run(["/bin/true"], gdb=str(broken))


def test_a_gdb_that_is_killed_leaves_what_was_taken(tmp_path: Path) -> None:
    kills_gdb = program(
        tmp_path, CRASHES.replace("FIRST", "").replace("END", "kill(getppid(), SIGKILL); pause()")
    )
    found = run(kills_gdb)
    assert found.captures[0].tables["stacks"].height == 1
    assert not found.captures[0].complete
    assert found.exit_code == 1
    assert "gdb failed" in found.remarks[0]
