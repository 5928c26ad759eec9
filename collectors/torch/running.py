"""Capture a running program with torch.profiler.

The program is a whole command, or a block of this process (`tl.capture`).
"""

import functools
import importlib
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypedDict, TypeVar, Unpack

from tracelens.collectors.torch.live.settings import VARIABLE, Settings
from tracelens.collectors.torch.live.status_file import StatusFile
from tracelens.collectors.torch.recording import read_recording
from tracelens.errors import SourceError, ToolError, UsageError, printable
from tracelens.running.nvml import Sampler
from tracelens.running.program import run_program
from tracelens.storage.folders import OwnFolder
from tracelens.trace import Trace
from tracelens.trace.collector import Run
from tracelens.trace.combine import combine
from tracelens.trace.target_folder import check_target

P = ParamSpec("P")
R = TypeVar("R")
_SITE = Path(__file__).parent / "live" / "on-start"
COMPILE_PROVENANCE, GRAPH = "compile_provenance", "graph"
"""Names of modules of `live` that record more than the profiler, if requested."""


def run(
    command: Sequence[str],
    settings: Settings | None = None,
    *,
    keep: Path | None = None,
) -> Run:
    """Run the command with torch.profiler in its Python processes.

    `keep` is a folder to which the profiler's files are copied. `settings.folder` is ignored.
    Raises ToolError, with the reason and the program's exit code, if the command cannot be run or
    if nothing was captured.
    """
    with OwnFolder("tracelens-live-") as folder:
        asked = replace(settings or Settings(""), folder=folder)
        paths = [
            str(_SITE),
            *filter(None, [os.environ.get("PYTHONPATH")]),
        ]
        environment = {VARIABLE: asked.to_text(), "PYTHONPATH": os.pathsep.join(paths)}
        exit_code = run_program(command, environment)
        try:
            captures, notes, cost = read_recording(Path(folder), asked, exit_code)
        except ToolError as error:
            nothing = ToolError(f"{error} (the program ended with exit code {exit_code})")
            nothing.program_exit_code = exit_code
            raise nothing from error
        finally:
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                for file in Path(folder).iterdir():
                    shutil.copy2(file, keep / file.name)
    return Run(captures, exit_code, notes, cost)


class CaptureOptions(TypedDict, total=False):
    """Holds the options of `tl.capture`, with the names of options of `tracelens collect torch`."""

    wait: int
    warmup: int
    active: int | None
    shapes: bool
    stacks: bool
    modules: bool
    memory: bool
    cuda_sync: bool
    compile_provenance: bool
    graph: bool


def _settings_of_block(options: CaptureOptions) -> Settings:
    """Return settings that record the whole block unless steps are chosen.

    Raises UsageError for invalid options.
    """
    unknown = set(options) - set(CaptureOptions.__annotations__)
    if unknown:
        known = ", ".join(CaptureOptions.__annotations__)
        raise UsageError(f"tl.capture has no option {min(unknown)!r}; its options are {known}")
    given: dict[str, Any] = {"wait": 0, "warmup": 0, "active": None, **options}
    if (
        given["wait"] < 0
        or given["warmup"] < 0
        or (given["active"] is not None and given["active"] < 1)
    ):
        raise UsageError(
            "tl.capture: wait and warmup are 0 or more steps, active is 1 or more, or None for all"
        )
    given["recorders"] = [name for name in (COMPILE_PROVENANCE, GRAPH) if given.pop(name, False)]
    return Settings("", opening=False, **given)


_under_way: list[object] = []
"""The running capture of this process, if any. torch has only one profiler."""


class capture:  # noqa: N801 - `with tl.capture(...)` and `@tl.capture(...)` read like open and lru_cache
    """Record a block or a function with torch.profiler into a trace.

    Write `with tl.capture("run.tracelens") as cap: …`. As a decorator, it records the function's
    first call. The whole block is recorded, unless steps are chosen:

    - `wait`: the number of steps to leave out.
    - `warmup`: the number of steps after the first `wait` that run under the profiler, but are not
      kept.
    - `active`: the number of steps to keep, None for all.

    `cap.step()` ends a step. If it is never called, steps are found as `tracelens collect torch`
    finds them. Further options are those of `tracelens collect torch`:

    - `shapes`, `stacks`, `modules`, `memory`, `cuda_sync`
    - `compile_provenance`: record what torch.compile generates. The first run of the compiled code
      must be inside the block.
    - `graph`: record the graph of the model that the block calls.

    After the block, `cap.trace` is the Trace, and `cap.notes` says what was recorded and what
    recording cost. The trace is written even after an exception in the block.

    Raises UsageError for invalid options, and for a capture within another. Raises SourceError
    before the block if the target exists (unless `force`) or cannot be written. Raises ToolError
    after the block if nothing was recorded.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        **options: Unpack[CaptureOptions],
    ) -> None:
        self.path = Path(path)
        self.force = force
        self.trace: Trace | None = None
        self.notes: list[str] = []
        self._settings = _settings_of_block(options)
        self._folder: OwnFolder | None = None
        self._recorder: Any = None
        self._sampler: Sampler | None = None

    def __repr__(self) -> str:
        """Return what was recorded, as a notebook shows it."""
        recorded = "; ".join(self.notes) if self.trace is not None else "nothing recorded yet"
        return f"<capture {printable(str(self.path))}: {recorded}>"

    def __enter__(self) -> Self:
        if _under_way:
            raise UsageError(
                f"{self.path}: a capture is under way in this process, and torch has one profiler"
            )
        check_target(self.path, force=self.force)
        try:
            module = importlib.import_module("tracelens.collectors.torch.live.recorder")
        except ImportError as error:
            raise ToolError(f"torch cannot be imported ({error}); pip install torch") from error
        self._folder = OwnFolder("tracelens-live-")
        self._settings = replace(self._settings, folder=self._folder.name)
        self._sampler = Sampler()
        self._sampler.start()
        self._recorder = module.Recorder(self._settings, StatusFile(self._folder.name))
        self._recorder.watch()
        self._recorder.begin_now()
        _under_way.append(self)
        return self

    def step(self) -> None:
        """End one step and begin the next.

        Raises UsageError before the block begins.
        """
        if self._recorder is None:
            raise UsageError(
                "step() ends a step of the block: call it inside of with tl.capture(...) as cap"
            )
        self._recorder.mark()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._folder is not None
        assert self._sampler is not None
        _under_way.remove(self)
        self._recorder.finish()
        self._sampler.stop()
        try:
            with suppress(*((ToolError, SourceError) if error is not None else ())):
                captures, notes, cost = read_recording(Path(self._folder.name), self._settings)
                self.notes = [*notes, *filter(None, [cost])]
                combined = combine(
                    [*captures, self._sampler.capture(captures[0].rank)],
                    is_one_run=True,
                )
                self.trace = combined.write(self.path, force=self.force)
        finally:
            self._folder.cleanup()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function with its first call recorded. Later calls are not recorded."""

        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            if self._folder is not None:
                return function(*args, **kwargs)
            with self:
                return function(*args, **kwargs)

        return recorded
