"""The command `report`: answer questions about a trace, and judge a comparison by gates.

Here are its options; `reporting.py` answers.
"""

from pathlib import Path
from typing import Annotated

import typer

from tracelens.analyses import ANALYSES
from tracelens.cli.options import Address, OneFormat, Sources, Step
from tracelens.cli.panels import COMPARING, GATING, RANKS, READING, SHOWING
from tracelens.cli.reporting import Request, answer_request
from tracelens.derive.comparing.significance import DEFAULT
from tracelens.views.formats import FORMATS


def report(  # noqa: PLR0913 - one parameter an option
    sources: Sources,
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            rich_help_panel=SHOWING,
            help="Show every section that the trace can answer, not only the answer.",
        ),
    ] = False,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="BASE",
            rich_help_panel=COMPARING,
            help="Trace or source to compare with, or baseline:NAME, the runs that tracelens baseline"
            " keeps; speedups are BASE / TRACE. Several TRACEs are runs of one program, several"
            " BASEs of the other. From a folder with captures of CUDA graphs, those with TRACE's"
            " batch sizes are used.",
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SHOWING,
            help="Show only this section; repeat for several.",
            autocompletion=lambda: [*ANALYSES],
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=SHOWING,
            help="Write a self-contained HTML page, and print "
            "nothing unless --format or --out is given.",
        ),
    ] = None,
    form: OneFormat = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SHOWING,
            help="Number of rows of each table, in formats for people and in json (in html, of rows"
            " shown at a time); by default "
            f"{', '.join(form.rows_in_words() for form in FORMATS.values() if form.rows)},"
            " all in others.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=SHOWING,
            help="Write to this file, not to standard output; needed by "
            f"{', '.join(form.name for form in FORMATS.values() if not form.is_text)}.",
        ),
    ] = None,
    step: Step = None,
    peaks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=READING,
            help="The GPU's peaks as tracelens peaks wrote them, not its datasheet's.",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPR",
            rich_help_panel=GATING,
            help="Exit with 3 if the run is judged worse than BASE by more than this: gpu_time >"
            " +5%, exposed_copy > 1 ms, layer:layer1.*:duration > +10%; repeat for several.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", rich_help_panel=GATING, help="Exit with 1 if a gate could not be judged."
        ),
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=GATING,
            help="Write gates, differences and judged rows to this file, as Markdown.",
        ),
    ] = None,
    min_effect: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="F",
            rich_help_panel=COMPARING,
            help="Least difference that counts, as a share of BASE.",
        ),
    ] = DEFAULT.min_effect,
    across_devices: Annotated[
        bool,
        typer.Option(
            "--across-devices",
            rich_help_panel=COMPARING,
            help="Judge runs even if they used two kinds of GPU.",
        ),
    ] = False,
    any_work: Annotated[
        bool,
        typer.Option(
            "--any-work",
            rich_help_panel=GATING,
            help="Let gates judge runs even if these did different work.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            rich_help_panel=COMPARING,
            help="Compare runs even if they are of two programs.",
        ),
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=GATING, help="Write the gates as JUnit's XML."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray",
            rich_help_panel=RANKS,
            help="Run each rank as a separate task, in processes of this machine or on a Ray"
            " cluster, for sections that need only one rank at a time. The trace must be one"
            " that tracelens collect wrote.",
        ),
    ] = None,
    address: Address = None,
) -> None:
    """Say what limits a program and what would help, in 25 lines; --all and --section show more.

    With an option for tables (--section, --format, --out, --rows, --peaks, --engine), tables are
    shown in place of the answer: the tables of all sections, or of the named ones.
    """
    answer_request(
        Request(
            sources,
            everything=everything,
            against=against or [],
            sections=section or [],
            html=html,
            form=form,
            rows=rows,
            out=out,
            step=step,
            peaks=peaks,
            fail_on=fail_on or [],
            strict=strict,
            summary=summary,
            min_effect=min_effect,
            across_devices=across_devices,
            any_work=any_work,
            force=force,
            junit=junit,
            engine=engine,
            address=address,
        )
    )
