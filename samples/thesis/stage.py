"""Where the processes of a run wait for each other, and keep what they found."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GRACE_S = 20
"""After the end the parent ends who is not done."""
PHASES = ("compiled", "timed", "planned", "measured")
"""All processes finish one before any begins the next: nothing is compiled while something is
timed."""


@dataclass
class Stage:
    """Where the processes wait for each other.

    All reach a phase before one of them at a time measures in it.
    """

    folder: Path
    name: str
    n: int
    end: float
    deadlines: dict[str, float] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def ready(self, phase: str) -> None:
        """Wait until every process has come this far, or ended.

        It never waits less, as one may still compile.
        The parent ends those that have not come this far in time.
        """
        (self.folder / f"{phase}.{self.name}").touch()
        while len(list(self.folder.glob(f"{phase}.*"))) < self.n:
            time.sleep(0.05)
            if time.time() > self.end + GRACE_S:
                raise TimeoutError(f"other processes had not {phase} at the end")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process measures."""
        import fcntl  # noqa: PLC0415 - not on every system, and only needed here

        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def save(self) -> None:
        """Write what is known so far."""
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.found, indent=1) + "\n")

    def attempt(self, what: str, work: Callable[[], Any]) -> Any:
        """The result of the work; None where it fails, and why is kept."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - one failing part must not cost the others
            self.found.setdefault("failures", {})[what] = f"{type(error).__name__}: {error}"[:500]
            traceback.print_exc()
            return None
        finally:
            self.save()
