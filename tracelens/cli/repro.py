"""The command `repro`: write a script that runs one op of a trace again."""

import shlex
from typing import Annotated

import typer

from tracelens.cli.io import keep_sources, open_any
from tracelens.cli.next_step import suggest
from tracelens.cli.options import OneTrace, OutFile
from tracelens.cli.output import emit, tell
from tracelens.storage.addresses import shown
from tracelens.views.op_script import op_script


def repro(
    trace: OneTrace,
    op: Annotated[str, typer.Argument(metavar="OP", help="An op, such as aten::linear.")],
    *,
    out: OutFile = None,
) -> None:
    """Write a Python script that runs one op again and times it, with PyTorch only.

    Its inputs have the shapes, types and strides of the calls that took the most time. The trace
    must have shapes: profile with record_shapes=True.
    """
    keep_sources([trace], [out])
    emit(op_script(open_any([trace]), op), out)
    if out is not None:
        tell(f"wrote {out}")
        suggest(f"python {shlex.quote(str(out))}")
    else:
        suggest(f"tracelens repro {shlex.quote(shown(trace))} {shlex.quote(op)} --out op.py")
