"""Write the status file of one process at each stage, as JSON for the collector."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

SUFFIX, LIGHT_SUFFIX = ".live.json", ".light.json"
PYTHON, TORCH, RECORDING, DONE = "python", "torch", "recording", "done"


def own_rank() -> int | None:
    """Return the rank that a launcher gave this process, None without a launcher."""
    return _number("RANK")


def own_node() -> int | None:
    """Return the number that torchrun or Slurm gave this host, None without a launcher."""
    node = _number("GROUP_RANK")
    return _number("SLURM_NODEID") if node is None else node


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else None


def write_whole(target: Path, content: bytes) -> None:
    """Replace the file at once, so that a reader sees either the old file or the new file."""
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(content)
    part.replace(target)


class StatusFile:
    """Holds the facts of one process, and writes them to its status file.

    The fact `stage` says how far the process came: python, torch (was imported), recording, done.
    Errors in writing the file are ignored, because they must not make the program fail.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.facts: dict[str, Any] = {"stage": PYTHON, "process_id": os.getpid(), "notes": []}

    @property
    def stem(self) -> Path:
        """The path prefix of this process's files, with the rank if a launcher set one."""
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
        """Write the facts to the status file, whole or not at all."""
        self.facts |= {"rank": own_rank(), "node": own_node()}
        with suppress(OSError):
            write_whole(
                Path(f"{self.stem}{SUFFIX}"),
                json.dumps(self.facts).encode(),
            )
