"""Options of a live capture, passed to the program in one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

VARIABLE = "TRACELENS_LIVE"


@dataclass(frozen=True)
class Settings:
    """Holds the settings of a capture."""

    folder: str
    """The folder where each process leaves its files."""
    wait: int = 2
    """The number of first steps that run without the profiler."""
    warmup: int = 1
    """The number of steps after the first `wait` that run with the profiler, and are not kept."""
    active: int | None = 3
    """The number of steps after the warm-up that are kept. None keeps all steps to the end."""
    window_s: tuple[float, float | None] | None = None
    """Start and length of a time to record instead of steps, in seconds since torch was imported.

    A length of None is the rest of the run.
    """
    shapes: bool = True
    stacks: bool = True
    modules: bool = True
    memory: bool = False
    cuda_sync: bool = False
    opening: bool = True
    """True to keep the ops of the program's beginning if there are no or too few steps."""
    light: bool = False
    """True to record a second window of ops and kernels only.

    Its times are nearer to the program's times without a profiler.
    """
    recorders: list[str] = field(default_factory=list)
    """Modules of this package that record more than the profiler."""

    def to_text(self) -> str:
        """Return the settings as the value of the environment variable."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Settings | None:
        """Return the settings in the environment, None if there are none."""
        text = os.environ.get(VARIABLE)
        if not text:
            return None
        data = json.loads(text)
        if data.get("window_s") is not None:
            data["window_s"] = tuple(data["window_s"])
        return cls(**data)
