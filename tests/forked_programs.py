"""Start programs as forks of a Python that has imported torch, because importing takes long.

`start_fork` replaces `tracelens.running.program.start`. Its program has the same streams, folder,
variables, arguments, parent and end. Python's start is repeated: its path, sitecustomize, and the
import of torch, which takes the loaded module. A program that needs torch.compile is not forked.
"""

import atexit
import ctypes
import functools
import importlib
import importlib.abc
import json
import os
import signal
import socket
import sys
import types
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

CAN_FORK = sys.platform == "linux"
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


class Fork:
    """A running program, with the methods of Popen that its callers use."""

    def __init__(self, process_id: int) -> None:
        self.process_id = process_id

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process_id, number)

    def wait(self) -> int:
        """Wait for its end; return its exit code, below 0 where a signal ended it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process_id, 0)[1])


def start_fork(_path: str, command: Sequence[str], *, env: Mapping[str, str], **_: Any) -> Fork:
    """Start the command `python SCRIPT ARGUMENTS…`."""
    request = {"words": list(command), "folder": str(Path.cwd()), "environment": dict(env)}
    channel, libc = _server(), ctypes.CDLL(None)
    libc.prctl(_ADOPT_ORPHANS, 1)
    socket.send_fds(channel, [json.dumps(request).encode()], [0, 1, 2])
    process_id = int(channel.recv(100))
    assert channel.recv(100) == b"orphan"
    libc.prctl(_ADOPT_ORPHANS, 0)
    return Fork(process_id)


@functools.cache
def _server() -> socket.socket:
    """Start the process that forks. It ends with this process."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.set_inheritable(True)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    # A fork has one thread, and so has what is forked.
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, __file__, str(there.fileno())]
    process_id = os.posix_spawn(sys.executable, words, environment)
    there.close()

    def end() -> None:
        here.close()
        os.waitpid(process_id, 0)

    atexit.register(end)
    return here


def _serve(channel: socket.socket) -> str:
    """Fork for each request until the other side ends; in a fork, return its script."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        request, streams, *_ = socket.recv_fds(channel, 1 << 20, 3)
        if not request:
            sys.exit()
        # The child of a process that has ended goes to the one that adopts orphans, the test's.
        between = os.fork()
        if between == 0:
            if process_id := os.fork():
                channel.send(str(process_id).encode())
                os._exit(0)
            channel.close()
            return _begin(streams, **json.loads(request))
        os.waitpid(between, 0)
        for stream in streams:
            os.close(stream)
        channel.send(b"orphan")


def _begin(streams: list[int], words: list[str], folder: str, environment: dict[str, str]) -> str:
    """Do what Python does at its start; return the script."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.orig_argv, sys.argv = words, words[1:]
    folders = [str(Path(words[1]).parent), *environment["PYTHONPATH"].split(os.pathsep)]
    sys.path[:1] = folders
    sys.meta_path.insert(0, _Imported("torch"))
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")
    return words[1]


class _Imported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module that was imported before, and has it imported again without running it."""

    def __init__(self, name: str) -> None:
        self.module = sys.modules.pop(name)

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        spec = self.module.__spec__
        if spec is None or fullname != spec.name:
            return None
        spec.loader = self
        return spec

    def create_module(self, _spec: ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it as it is."""


if __name__ == "__main__":
    exec(importlib.import_module("never_compiled").NEVER_COMPILED)  # noqa: S102
    importlib.import_module("torch")
    script = _serve(socket.socket(fileno=int(sys.argv[1])))
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    program.__file__ = script
    exec(compile(Path(script).read_bytes(), script, "exec"), vars(program))  # noqa: S102
