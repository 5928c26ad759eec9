"""`tracelens collect nsys`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.collect.request import (
    Force,
    Out,
    Rank,
    Request,
    command_target,
    marked,
    refuse_options,
    tell_of,
    words_of,
    write_files,
)
from tracelens.cli.io import Step, tell
from tracelens.collectors.nsys import live
from tracelens.running.nvml import Sampler
from tracelens.trace.combine import combine

_OF_A_COMMAND = ("trace", "capture_range", "nsys_option", "nsys", "keep")


def collect_nsys(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Nsight Systems exports: .sqlite files, or directories of --type parquetdir or arrowdir; where nsys "
            "is installed also reports (.nsys-rep). Or -- COMMAND.",
        ),
    ] = None,
    *,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
    step: Step = None,
    trace: Annotated[
        str, typer.Option(metavar="APIS", help="COMMAND: what nsys traces, as its own --trace takes it.")
    ] = live.Options().trace,
    capture_range: Annotated[
        bool,
        typer.Option(
            "--capture-range", help="COMMAND: record only from the program's cudaProfilerStart to its cudaProfilerStop."
        ),
    ] = False,
    nsys_option: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="COMMAND: an option for nsys profile as it is; repeat for several."),
    ] = None,
    nsys: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="COMMAND: nsys to use; by default the one on PATH, or in /opt/nvidia or /usr/local/cuda*.",
        ),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COMMAND: keep the report of nsys there (.nsys-rep).")
    ] = None,
) -> None:
    """Collect exports of NVIDIA Nsight Systems, or run a program under nsys and collect what it records.

    Kernels stay visible under CUDA graphs. Exits with the program's own code, with 1 when nothing was captured.
    """
    paths, command = words_of(context, files)
    request = Request(out, force, rank, step=step)
    if not command:
        refuse_options(context, _OF_A_COMMAND, "a COMMAND")
        write_files(paths, "nsys", request)
        return
    target = command_target(command, request)
    options = live.Options(trace, capture_range, tuple(nsys_option or ()))
    with Sampler() as sampler:
        found = live.run(command, options, nsys=nsys, keep=keep, raw=target.with_suffix(".qdstrm"))
    combined = combine([found.capture, sampler.capture()], ranks=request.ranks or ())
    tell_of(marked(combined, request).write(target, force=force), target)
    for remark in found.remarks:
        tell(remark)
    raise typer.Exit(found.exit_code)
