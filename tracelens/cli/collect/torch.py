"""The command `collect torch`: read traces of torch.profiler, or run a program with it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tracelens.cli.collect import request as asked
from tracelens.cli.options import Address, Step
from tracelens.cli.panels import RUNNING
from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.running import COMPILE_PROVENANCE, GRAPH
from tracelens.errors import UsageError

_OF_A_COMMAND = (
    "wait",
    "warmup",
    "active",
    "window",
    "no_shapes",
    "no_stacks",
    "no_modules",
    "memory",
    "cuda_sync",
    "compile_provenance",
    "graph",
    "keep",
)


def collect_torch(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Chrome traces exported by torch.profiler (.json, .json.gz); - is standard input.",
        ),
    ] = None,
    *,
    out: asked.Out = None,
    force: asked.Force = False,
    rank: asked.Rank = None,
    force_mix: asked.ForceMix = False,
    max_memory: asked.MaxMemory = None,
    step: Step = None,
    engine: asked.OnEngine = None,
    address: Address = None,
    min_ranks: asked.MinRanks = 0,
    wait: Annotated[
        int,
        typer.Option(min=0, metavar="N", rich_help_panel=RUNNING, help="Steps to leave out first."),
    ] = 2,
    warmup: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            rich_help_panel=RUNNING,
            help="Steps to run under the profiler without keeping them.",
        ),
    ] = 1,
    active: Annotated[
        int, typer.Option(min=1, metavar="N", rich_help_panel=RUNNING, help="Steps to keep.")
    ] = 3,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="START:SECONDS",
            rich_help_panel=RUNNING,
            help="Record a time instead of steps: 5:2 records two seconds, from 5 s after torch"
            " was imported on; 5: records from then to the end.",
        ),
    ] = None,
    no_shapes: Annotated[
        bool,
        typer.Option(
            "--no-shapes",
            rich_help_panel=RUNNING,
            help="Do not record the shapes of inputs, which the roofline needs.",
        ),
    ] = False,
    no_stacks: Annotated[
        bool,
        typer.Option(
            "--no-stacks",
            rich_help_panel=RUNNING,
            help="Do not record calls of Python functions. They show lines of code, but slow the"
            " host.",
        ),
    ] = False,
    no_modules: Annotated[
        bool,
        typer.Option(
            "--no-modules",
            rich_help_panel=RUNNING,
            help="Do not record modules. Layers are then named by class and number, as stacks"
            " show them; with --no-stacks there are no layers.",
        ),
    ] = False,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory", rich_help_panel=RUNNING, help="Record allocations: memory_timeline."
        ),
    ] = False,
    cuda_sync: Annotated[
        bool,
        typer.Option(
            "--cuda-sync",
            rich_help_panel=RUNNING,
            help="Record what streams wait for (table synchronizations).",
        ),
    ] = False,
    compile_provenance: Annotated[
        bool,
        typer.Option(
            "--compile-provenance",
            rich_help_panel=RUNNING,
            help="Record from which modules each kernel of torch.compile came, and the sizes of"
            " what it reads and writes. Everything is compiled again.",
        ),
    ] = False,
    graph: Annotated[
        bool,
        typer.Option(
            "--graph",
            rich_help_panel=RUNNING,
            help="Record the model's graph, by torch.export, for tracelens advise.",
        ),
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel=RUNNING, help="Keep the profiler's own files there."
        ),
    ] = None,
) -> None:
    """Collect traces of torch.profiler: from files, or from a program that runs with the profiler.

    The program is not changed: python train.py, python -m pkg, torchrun. Its steps are found from
    the optimizer, the data loader or the outermost module's calls. After the steps to keep, as many
    steps again are recorded without stacks, modules and shapes, because recording those slows the
    program. The trace's times come from this second group of steps. Exits with the program's own
    code, or with 1 if nothing was captured.
    """

    def options(_: Path) -> dict[str, Any]:
        if window is not None:
            asked.refuse_options(
                context, ("wait", "warmup", "active"), "steps, not of a --window of time"
            )
        settings = Settings(
            "",
            wait,
            warmup,
            active,
            _window(window),
            shapes=not no_shapes,
            stacks=not no_stacks,
            modules=not no_modules,
            memory=memory,
            cuda_sync=cuda_sync,
            light=memory or not (no_shapes and no_stacks and no_modules),
            recorders=[
                name
                for name, on in ((COMPILE_PROVENANCE, compile_provenance), (GRAPH, graph))
                if on
            ],
        )
        return {"settings": settings, "keep": keep}

    request = asked.Request(
        out, force, rank, None, max_memory, step, force_mix, engine, address, min_ranks
    )
    asked.read_or_run(context, files, request, _OF_A_COMMAND, options)


def _window(text: str | None) -> tuple[float, float | None] | None:
    """Parse start and length in seconds; the length is None without an end.

    Raises UsageError for malformed text.
    """
    if text is None:
        return None
    start, colon, length = text.partition(":")
    try:
        window = (float(start), float(length) if length else None)
    except ValueError:
        window = (-1.0, None)
    if not colon or window[0] < 0 or (window[1] is not None and not window[1] > 0):
        raise UsageError(f"--window {text}: expected START:SECONDS, as in 5:2 or 5:")
    return window
