"""Decide in each Python process of the program whether this process records.

Recording begins once the process has imported torch.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .settings import Settings
from .status_file import TORCH, StatusFile

_LAUNCHERS = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate.commands",
    "deepspeed.launcher",
)
_LAUNCHER_PROGRAMS = (
    "torchrun",
    "accelerate",
    "accelerate-launch",
    "deepspeed",
    "deepspeed.pt",
    "ds",
)
_HELPERS = (
    "torch._inductor.compile_worker",
    "torch/_inductor/compile_worker",
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
)


def begin() -> None:
    """Prepare this Python process to record once it imports torch, unless it is a helper.

    Every Python process of the program calls this at its start.
    """
    settings = Settings.from_environment()
    if settings is None or is_helper(list(getattr(sys, "orig_argv", []))):
        return
    status = StatusFile(settings.folder)
    status.write()
    sys.meta_path.insert(
        0,
        AfterImport("torch", lambda: _begin_to_record(settings, status)),
    )


def is_helper(words: Sequence[str]) -> bool:
    """Return whether the command line is of a launcher, or of a worker that runs no steps."""
    kind, name = _run_target(words)
    if kind == "module" and any(f"{name}.".startswith(f"{launcher}.") for launcher in _LAUNCHERS):
        return True
    if kind == "script" and os.path.basename(name) in _LAUNCHER_PROGRAMS:  # noqa: PTH119 - need be no path
        return True
    return any(helper in word for word in words[1:4] for helper in _HELPERS)


def _run_target(words: Sequence[str]) -> tuple[str, str]:
    """Return the kind and the text of what Python's command line runs.

    The pairs are ("module", name), ("code", text) and ("script", path). Without a script, the path
    is empty.
    """
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            return "script", word
        if word == "--check-hash-based-pycs":
            next(rest, "")
        letters = "" if word.startswith("--") else word[1:]
        for n_letters, letter in enumerate(letters, 1):
            if letter in "cmWX":  # the value is the rest of the word, or the next word
                value = letters[n_letters:] or next(rest, "")
                if letter in "cm":
                    return ("code" if letter == "c" else "module"), value
                break
    return "script", ""


def is_spawned(words: Sequence[str]) -> bool:
    """Return whether multiprocessing started this Python process."""
    # Such a process is a data loader's worker. If an optimizer steps in it, it is a rank.
    return any(
        "multiprocessing.spawn" in word or word == "--multiprocessing-fork" for word in words
    )


def _begin_to_record(settings: Settings, status: StatusFile) -> None:
    """Begin to record. A failure is noted in the status file, and the program goes on."""
    from .recorder import Recorder  # noqa: PLC0415 - imports torch

    status.reach(TORCH)
    # Describing the program's modules looks at all existing objects, except frozen ones. The
    # imports leave some hundred thousand objects, and none of them is a module of the program.
    gc.freeze()
    try:
        Recorder(settings, status).watch(is_child=is_spawned(list(getattr(sys, "orig_argv", []))))
    except Exception as error:  # noqa: BLE001 - the program must run whatever happens here
        status.note(f"the capture could not begin: {error!r}")
        status.write()


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function once a module has been imported, and then removes itself."""

    def __init__(self, name: str, callback: Callable[[], None]) -> None:
        self.name = name
        self.callback = callback

    def forget(self) -> None:
        """Remove this finder, so that it never calls the function."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        _path: Sequence[str] | None,
        _target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's spec with a loader that calls the function after the import."""
        if fullname != self.name:
            return None
        self.forget()
        spec = importlib.util.find_spec(fullname)
        loader: Any = spec.loader if spec is not None else None
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self.callback()

        loader.exec_module = exec_module
        return spec
