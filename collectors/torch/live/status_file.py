"""The status file of one process, for the collector: JSON, written again at each stage."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

SUFFIX, LIGHT_SUFFIX = ".live.json", ".light.json"
PYTHON, TORCH, RECORDING, DONE = "python", "torch", "recording", "done"


def own_rank() -> int | None:
    """Return the rank that a launcher gave this process; None without one."""
    return _number("RANK")


def own_node() -> int | None:
    """Return the number that torchrun or Slurm gave this host; None without one."""
    node = _number("GROUP_RANK")
    return _number("SLURM_NODEID") if node is None else node


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else None


def write_whole(target: Path, content: bytes) -> None:
    """Write the file; a reader sees either the old one or the new one."""
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(content)
    part.replace(target)


class StatusFile:
    """The facts of one process.

    `stage` is how far it came: python, torch (was imported), recording, done. Errors in writing the
    file are ignored, because the program must not fail for it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.facts: dict[str, Any] = {"stage": PYTHON, "process_id": os.getpid(), "notes": []}

    @property
    def stem(self) -> Path:
        """The path with which this process's file names begin.

        It contains the rank if a launcher gave one.
        """
        rank = own_rank()
        return self.folder / f"{'process' if rank is None else f'rank{rank}'}.{os.getpid()}"

    @property
    def trace(self) -> Path:
        """The path of the process's Chrome trace."""
        return Path(f"{self.stem}.pt.trace.json")

    @property
    def light_trace(self) -> Path:
        """The path of the light window's Chrome trace."""
        return Path(f"{self.stem}{LIGHT_SUFFIX}")

    def reach(self, stage: str) -> None:
        """Record that the process has reached this stage."""
        self.facts["stage"] = stage
        self.write()

    def note(self, text: str) -> None:
        """Add a sentence for the user, once."""
        if text not in self.facts["notes"]:
            self.facts["notes"].append(text)

    def write(self) -> None:
        """Write the facts; a reader sees either the old file or the new one."""
        self.facts |= {"rank": own_rank(), "node": own_node()}
        with suppress(OSError):
            write_whole(
                Path(f"{self.stem}{SUFFIX}"),
                json.dumps(self.facts).encode(),
            )
