"""Find gdb and the program to run under it.

gdb cannot start a script, only the script's interpreter.
"""

import glob
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tracelens.errors import ToolError
from tracelens.running.program import ask, find_program

CUDA_FOLDERS = "/usr/local/cuda*/bin"
"""Pattern of the folders of CUDA's programs, which are rarely on PATH."""

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?$")
_MOST_SCRIPTS = 4
_PATIENCE_S = 20


def find_gdb(asked: str | None = None) -> str:
    """Return the path of the requested debugger, else of gdb on PATH, else of cuda-gdb.

    Raises ToolError if there is no debugger.
    """
    if asked is not None:
        path = shutil.which(os.path.expanduser(asked))  # noqa: PTH111 - a bare name is looked up, not a path yet
        if path is None:
            raise ToolError(f"--gdb {asked}: no such program; give the path of gdb or cuda-gdb")
        return path
    path = shutil.which("gdb") or find_cuda_gdb()
    if path is None:
        raise ToolError(
            "a live capture needs gdb or cuda-gdb: neither is on PATH, nor cuda-gdb in"
            f" {CUDA_FOLDERS}; install gdb with the system's package manager (cuda-gdb comes with"
            " the CUDA toolkit), or name one with --gdb PATH"
        )
    return path


def find_cuda_gdb() -> str | None:
    """Return the path of cuda-gdb, on PATH or in the newest CUDA installation.

    Return None if there is none.
    """
    newest_first = sorted(glob.glob(CUDA_FOLDERS), reverse=True)  # noqa: PTH207 - which() takes text
    return shutil.which("cuda-gdb") or shutil.which("cuda-gdb", path=os.pathsep.join(newest_first))


def resolve(command: Sequence[str]) -> list[str]:
    """Return the command with a real executable as its first word.

    A script is preceded by its interpreter. Raises ToolError if there is no such program.
    """
    words = [
        os.path.abspath(find_program(command[0])),  # noqa: PTH100
        *command[1:],
    ]
    for _ in range(_MOST_SCRIPTS):
        line = _first_line(words[0])
        if line is None:
            return words
        # A version manager's `python` is a script that finds the real interpreter.
        named = _PYTHON.match(Path(words[0]).name) and _real_python(words[0])
        if named and named != words[0]:
            words = [named, *words[1:]]
            continue
        interpreter = _interpreter(line)
        if not interpreter:
            break
        words = [
            os.path.abspath(find_program(interpreter[0])),  # noqa: PTH100
            *interpreter[1:],
            *words,
        ]
    raise ToolError(
        f"{command[0]}: gdb needs a program, found a script that leads to none; name the"
        f" interpreter: -- python {' '.join(command)}"
    )


def find_py_spy() -> str | None:
    """Return the path of py-spy, beside this Python or on PATH, None if it is not installed."""
    return shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")


def _first_line(path: str) -> str | None:
    """Return a script's first line without `#!`.

    Return an empty text for a file without `#!`, None for an executable.
    """
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - the head only
            head = stream.read(512)
    except OSError as error:
        raise ToolError(f"{path}: cannot be read: {error.strerror or error}") from error
    if head.startswith(b"\x7fELF"):
        return None
    line = head.split(b"\n", 1)[0].decode(errors="replace")
    return line[2:].strip() if line.startswith("#!") else ""


def _interpreter(line: str) -> list[str]:
    """Return the interpreter and its arguments from a script's first line, without `env`."""
    program, *rest = line.split(None, 1) or [""]
    arguments = [
        word
        for text in rest
        for word in (shlex.split(text) if text.startswith("-S") else [text.strip()])
    ]
    if Path(program).name != "env":
        return [program, *arguments] if program else []
    named = (word for word in arguments if word not in {"-S", "-i", "-u"})
    return [word.removeprefix("-S") for word in named]


def _real_python(path: str) -> str | None:
    """Return the interpreter that a `python` shim runs, None if the shim prints no path."""
    try:
        answer = ask([path, "-I", "-S", "-c", "import sys; print(sys.executable)"], _PATIENCE_S)
    except ToolError:
        return None
    path = answer.stdout.strip()
    return path if answer.returncode == 0 and os.path.isabs(path) else None  # noqa: PTH117 - text that was printed
