"""The command `collect nsys`: read exports of Nsight Systems, or run a program under nsys."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tracelens.cli.collect import request as asked
from tracelens.cli.options import Address, Step
from tracelens.cli.panels import RANKS, RUNNING
from tracelens.collectors import nsys as nsys_collector
from tracelens.collectors.nsys import live

_OF_A_COMMAND = ("trace", "capture_range", "nsys_option", "nsys", "keep")


def collect_nsys(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Nsight Systems exports: .sqlite files, or directories of --type parquetdir or"
            " arrowdir; reports (.nsys-rep) if nsys is installed. Or -- COMMAND.",
        ),
    ] = None,
    *,
    out: asked.Out = None,
    force: asked.Force = False,
    rank: asked.Rank = None,
    force_mix: asked.ForceMix = False,
    step: Step = None,
    engine: asked.OnEngine = None,
    address: Address = None,
    min_ranks: asked.MinRanks = 0,
    rank_by: Annotated[
        str,
        typer.Option(
            metavar="|".join(nsys_collector.RANK_BY),
            rich_help_panel=RANKS,
            help="What counts as a rank in a file of several processes: each process with"
            " kernels, or the whole file. auto takes processes if they use different devices.",
        ),
    ] = nsys_collector.RANK_BY[0],
    trace: Annotated[
        str,
        typer.Option(
            metavar="APIS",
            rich_help_panel=RUNNING,
            help="What nsys traces, in the words of its own --trace.",
        ),
    ] = live.Options().trace,
    capture_range: Annotated[
        bool,
        typer.Option(
            "--capture-range",
            rich_help_panel=RUNNING,
            help="Record only from the program's cudaProfilerStart to its cudaProfilerStop.",
        ),
    ] = False,
    nsys_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            rich_help_panel=RUNNING,
            help="An option passed on to nsys profile; repeat for several.",
        ),
    ] = None,
    nsys: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            rich_help_panel=RUNNING,
            help="The nsys to use; by default the one on PATH, "
            "or in /opt/nvidia or /usr/local/cuda*.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUNNING,
            help="Keep the report of nsys in this file (.nsys-rep).",
        ),
    ] = None,
) -> None:
    """Collect exports of NVIDIA Nsight Systems, or run a program under nsys and collect its report.

    Kernels stay visible under CUDA graphs. Exits with the program's own code, or with 1 if nothing
    was captured.
    """

    def options(target: Path) -> dict[str, Any]:
        recorded = live.Options(trace, capture_range, tuple(nsys_option or ()))
        return {
            "options": recorded,
            "nsys": nsys,
            "keep": keep,
            "raw": target.with_suffix(".qdstrm"),
        }

    request = asked.Request(
        out, force, rank, None, None, step, force_mix, engine, address, min_ranks
    )
    with nsys_collector.ranked_by(rank_by):
        asked.read_or_run(context, files, request, _OF_A_COMMAND, options)
