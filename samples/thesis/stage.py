"""Let the processes of a run wait for each other, and keep their results."""

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
"""Seconds after the deadline at which the parent ends a process."""
PHASES = ("compiled", "timed", "planned", "measured")
"""Phases of a run.

All processes finish one before any begins the next: nothing is compiled while something is timed.
"""


@dataclass
class Stage:
    """Lets processes wait for each other: all reach a phase before one at a time measures in it."""

    folder: Path
    name: str
    n: int
    end: float
    deadlines: dict[str, float] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def ready(self, phase: str) -> None:
        """Wait until every process has reached this phase, or has ended."""
        (self.folder / f"{phase}.{self.name}").touch()
        # There is no limit: another process may still compile. The parent ends processes that miss
        # the deadline.
        while len(list(self.folder.glob(f"{phase}.*"))) < self.n:
            time.sleep(0.05)
            if time.time() > self.end + GRACE_S:
                raise TimeoutError(f"other processes had not {phase} at the end")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock that lets one process at a time measure."""
        import fcntl  # noqa: PLC0415 - not on every system, and only needed here

        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def save(self) -> None:
        """Write the results so far."""
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.found, indent=1) + "\n")

    def attempt(self, what: str, work: Callable[[], Any]) -> Any:
        """Return the result of the work; if it fails, keep the reason and return None."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - one failing part must not cost the others
            self.found.setdefault("failures", {})[what] = f"{type(error).__name__}: {error}"[:500]
            traceback.print_exc()
            return None
        finally:
            self.save()
