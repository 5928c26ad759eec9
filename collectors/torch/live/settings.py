"""Options of a live capture, passed to the program in one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

VARIABLE = "TRACELENS_LIVE"


@dataclass(frozen=True)
class Settings:
    """Holds the settings of a capture. `folder` is where each process leaves its files.

    Steps count from 0. The first `wait` steps run without the profiler. The next `warmup` steps run
    with it but are not kept. The next `active` steps are kept (None: all to the end). `window_s`
    selects a time instead of steps: (start, length) in seconds since torch was imported. A length
    of None is the rest of the run. `opening`: also keep the ops of the program's beginning, in case
    no step is found or the program ends before the active steps. `light`: record a second window of
    ops and kernels only, whose times are nearer to the program's own times. `recorders` names
    modules of this package that record more than the profiler.
    """

    folder: str
    wait: int = 2
    warmup: int = 1
    active: int | None = 3
    window_s: tuple[float, float | None] | None = None
    shapes: bool = True
    stacks: bool = True
    modules: bool = True
    memory: bool = False
    cuda_sync: bool = False
    opening: bool = True
    light: bool = False
    recorders: list[str] = field(default_factory=list)

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
