"""The command `collect timings`: measure how long a model's layers take, by several methods."""

import importlib
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from tracelens.advisor.measuring import CONFIGURATIONS, METHODS, Protocol, measure
from tracelens.advisor.plan import Plan, apply_plan
from tracelens.cli.collect.request import Force, Out, tell_of
from tracelens.cli.io import progress
from tracelens.cli.output import AT_END, tell
from tracelens.derive.comparing.predicted_vs_measured import PLANNED, planned_outcome
from tracelens.errors import SourceError, TracelensError, UsageError, first_line
from tracelens.trace.combine import add_timings
from tracelens.trace.target_folder import check_target


def collect_timings(  # noqa: PLR0913 - one parameter an option
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:FUNCTION",
            help="A function without parameters that "
            "returns a model and its inputs (a tensor, a tuple or a dict); MODULE:FUNCTION too.",
        ),
    ],
    *,
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="One of "
            f"{', '.join(CONFIGURATIONS[:-1])}; repeat for several. By default all that run here.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"One of {', '.join(METHODS)}; repeat for several. By default all."
        ),
    ] = None,
    compile_mode: Annotated[
        list[str] | None,
        typer.Option(metavar="MODE", help="A mode of torch.compile; repeat for several."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also measure the model with this compile plan, as the configuration custom.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Rounds of executions.")] = 10,
    executions: Annotated[int, typer.Option(min=1, metavar="N", help="Executions a round.")] = 2,
    warmup: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rounds of warm-up before them.")
    ] = 2,
    out: Out = None,
    force: Force = False,
) -> None:
    """Measure how long a model's layers take, by several methods, and what measuring costs.

    There is no time limit. Ctrl-C ends the measurement. Processes and threads that FUNCTION left
    running end with the command.
    """
    target = out or Path(f"{Path(subject.rpartition(':')[0]).stem}.tracelens")
    check_target(target, force=force)
    absolute_target = target.absolute()  # the user's code may change the working directory
    before = set(_descendants(os.getpid())), set(threading.enumerate())
    AT_END.append(lambda ended: _leave(ended, subject, *before))
    chosen_plan = None if plan is None else Plan.read(plan)
    with progress(f"importing {subject}"):
        make = _import_function(subject)
    protocol = Protocol(rounds, executions, warmup, compile_modes=compile_mode or ("default",))
    planned = None
    # A plan of another model is refused before anything is measured.
    if chosen_plan is not None:
        mode = {"mode": compile_mode[0]} if compile_mode and compile_mode[0] != "default" else {}
        model, inputs = _make_model(make, subject)
        planned = apply_plan(model, chosen_plan, **mode), inputs
    with progress(f"measuring {subject}"), _users_code(f"{subject}: fails while it is measured"):
        trace = measure(
            *_make_model(make, subject),
            method or METHODS,
            configuration,
            protocol,
        )
        if planned is not None and chosen_plan is not None:
            custom = measure(*planned, ("e2e",), (PLANNED,), protocol)
            custom.manifest.sources[0]["settings"]["plan"] = dict(chosen_plan.made_from)
            trace = add_timings(trace, custom)
    tell_of(trace.write(absolute_target, force=force), target)
    for sentence in planned_outcome(trace):
        tell(sentence)


def _import_function(subject: str) -> Callable[[], Any]:
    """Import the named function.

    Raises UsageError for a malformed name, SourceError if there is no such function.
    """
    source, _, name = subject.rpartition(":")
    if not source or not name.isidentifier():
        raise UsageError(f"expected FILE.py:FUNCTION or MODULE:FUNCTION, found {subject}")
    with _users_code(f"{source}: cannot be imported"):
        module = (
            _load_module(Path(source))
            if source.endswith(".py")
            else importlib.import_module(source)
        )
    function = getattr(module, name, None)
    if not callable(function):
        raise SourceError(
            f"{source}: expected a function {name}, found"
            f" {'none' if function is None else 'something else'}"
        )
    return function  # type: ignore[no-any-return]


def _load_module(file: Path) -> Any:
    """Load the module in the file. It can import modules of the same folder."""
    if not file.is_file():
        raise SourceError(
            f"{file}: no such file; name the file of the function that makes the model"
        )
    sys.path.insert(0, str(file.resolve().parent))
    # The file may be called like a loaded module, such as json.py
    name = f"{file.stem}_of_timings" if file.stem in sys.modules else file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _make_model(make: Callable[[], Any], subject: str) -> tuple[Any, Any]:
    """Call the function for the model and its inputs.

    Raises SourceError if the function fails or returns something else.
    """
    with _users_code(f"{subject}: fails"):
        result = make()
        is_pair = (
            isinstance(result, tuple) and len(result) == 2 and hasattr(result[0], "named_modules")
        )
    if not is_pair:
        raise SourceError(
            f"{subject}: expected it to return (model, inputs), found {type(result).__name__}"
        )
    return result  # type: ignore[no-any-return]


@contextmanager
def _users_code(what: str) -> Iterator[None]:
    """Turn any error of the user's code into a SourceError of one line."""
    try:
        yield
    except (TracelensError, KeyboardInterrupt):
        raise
    # Also sys.exit, or its code would become this command's exit code
    except BaseException as error:
        # This command exits so after a SIGTERM.
        if isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM:
            raise
        problem = f"{type(error).__name__}: {first_line(error)}"
        raise SourceError(
            f"{what}: {problem}; tracelens --debug collect timings shows where"
        ) from error


def _leave(
    ended: SystemExit,
    subject: str,
    processes: set[int],
    threads: set[threading.Thread],
) -> None:
    """End processes and threads that the user's code left running."""
    for process_id in _descendants(os.getpid()):
        # Processes that existed before the command stay.
        if process_id not in processes:
            with suppress(OSError):
                os.kill(process_id, signal.SIGTERM)
    # Further threads would keep Python from ending, so this process ends at once.
    if any(not thread.daemon for thread in threading.enumerate() if thread not in threads):
        tell(f"{subject}: a thread that it left running was ended")
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(ended.code if isinstance(ended.code, int) else bool(ended.code))


def _descendants(process_id: int) -> list[int]:
    """Return the ids of a process's descendants, depth first; empty if /proc cannot be read."""
    descendants = []
    for task in Path(f"/proc/{process_id}/task").glob("*/children"):
        with suppress(OSError):  # it may have ended
            for child in map(int, task.read_text().split()):
                descendants += [child, *_descendants(child)]
    return descendants
