"""Sidecars in which a live capture records, at compile time, the modules that each generated kernel was made from."""

from pathlib import Path
from typing import Annotated

import msgspec
import polars as pl

from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector
from tracelens.trace.sidecars import Sidecar, decode_sidecar, names_format

KIND = "provenance"
FORMAT = "tracelens-provenance"
VERSION = 1


class _Node(msgspec.Struct, frozen=True):
    node: str
    aten_op: str
    module_path: str | None
    rule: str
    output_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class _Call(msgspec.Struct, frozen=True):
    name: str
    is_extern: bool
    nodes: list[_Node]


class _Graph(msgspec.Struct, frozen=True):
    key: str
    is_backward: bool
    calls: list[_Call]


class _Sidecar(Sidecar, frozen=True, kw_only=True):
    graphs: list[_Graph]


def sniff(path: Path, head: bytes) -> bool:
    """Whether the content is a sidecar: JSON, plain or gzip, that names its format first."""
    return names_format(path, head, FORMAT)


def read(path: Path) -> list[Capture]:
    """Read one sidecar: the table `provenance`, a row for each node, and one without node for a kernel without any.

    Raises SourceError when it cannot be read, is damaged, or is of a later version.
    """
    sidecar = decode_sidecar(path, _Sidecar, FORMAT, VERSION, "--compile-provenance")
    diagnostics = Diagnostics()
    for note in sidecar.notes:
        diagnostics.add("info", "provenance_evidence", note)
    table = _table(sidecar)
    return [
        Capture(
            kind=KIND,
            source=SourceFile.of(path, KIND),
            tables={"provenance": table} if table.height else {},
            producer="tracelens collect torch --compile-provenance",
            versions={"torch": sidecar.torch},
            rank=sidecar.rank,
            rank_origin="sidecar" if sidecar.rank is not None else "input order",
            reasons={"provenance": "no graph was compiled while it was recorded"},
            diagnostics=diagnostics,
        )
    ]


def _table(sidecar: _Sidecar) -> pl.DataFrame:
    schema = TABLES["provenance"].without("rank").schema
    rows = [
        (graph.key, graph.is_backward, order, call.name, call.is_extern, *found)
        for graph in sidecar.graphs
        for order, call in enumerate(graph.calls)
        for found in ([msgspec.structs.astuple(node) for node in call.nodes] or [(None, None, None, "none", None)])
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


COLLECTOR = Collector(
    kind=KIND,
    expects="a sidecar of --compile-provenance (.json, .json.gz)",
    sniff=sniff,
    read=read,
    fills={"provenance": "of a sidecar of --compile-provenance"},
)
