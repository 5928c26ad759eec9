"""What a process of the program tells the collector: a JSON file of its own, written anew at each stage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

SUFFIX = ".live.json"
PYTHON, TORCH, RECORDING, DONE = "python", "torch", "recording", "done"


class Report:
    """The facts of one process. `stage` is how far it came: python, torch (was imported), recording, done.

    Whatever goes wrong while it is written is left at that: the program must not fail for it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.facts: dict[str, Any] = {"stage": PYTHON, "process_id": os.getpid(), "notes": []}

    @property
    def stem(self) -> Path:
        """Path that this process's files begin with; the rank is in it where a launcher gave one."""
        rank = os.environ.get("RANK", "")
        name = f"rank{rank}.{os.getpid()}" if rank.isdecimal() else f"process.{os.getpid()}"
        return self.folder / name

    @property
    def trace(self) -> Path:
        """Where the process's Chrome trace goes."""
        return self.stem.with_name(self.stem.name + ".pt.trace.json")

    def reach(self, stage: str) -> None:
        """Write that the process came as far as this."""
        self.facts["stage"] = stage
        self.write()

    def note(self, text: str) -> None:
        """Add a sentence for the user, once."""
        if text not in self.facts["notes"]:
            self.facts["notes"].append(text)

    def write(self) -> None:
        """Write the facts; a reader sees the old file or the new one."""
        rank = os.environ.get("RANK", "")
        self.facts["rank"] = int(rank) if rank.isdecimal() else None
        target = self.stem.with_name(self.stem.name + SUFFIX)
        part = target.with_name(target.name + ".part")
        try:
            part.write_text(json.dumps(self.facts), encoding="utf-8")
            part.replace(target)
        except OSError:
            return
