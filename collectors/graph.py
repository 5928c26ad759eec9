"""Read the sidecar in which a live capture records the graph of the model that ran."""

import json
from pathlib import Path

import msgspec
import polars as pl

from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector
from tracelens.trace.sidecars import Sidecar, decode_sidecar, names_format

KIND = "graph"
FORMAT = "tracelens-graph"
VERSION = 1


class _Node(msgspec.Struct, frozen=True):
    node: str
    op: str
    inputs: list[str | None]
    arguments: list[bool | int | float | list[bool | int | float] | None]
    shape: list[int] | None
    dtype: str | None
    strides: list[int] | None
    alias_of: str | None
    is_input: bool
    is_output: bool
    module_path: str | None


class _Sidecar(Sidecar, frozen=True, kw_only=True):
    graph_key: str
    source: str
    nodes: list[_Node]


def sniff(path: Path, head: bytes) -> bool:
    """Whether the content is such a sidecar: JSON, plain or gzip, that names its format first."""
    return names_format(path, head, FORMAT)


def read(path: Path) -> list[Capture]:
    """Read one sidecar: the table `graph`. Raises SourceError when it is damaged, or of a later version."""
    sidecar = decode_sidecar(path, _Sidecar, FORMAT, VERSION, "--graph")
    diagnostics = Diagnostics()
    for note in sidecar.notes:
        diagnostics.add("info", "graph_source", note)
    table = _table(sidecar)
    return [
        Capture(
            kind=KIND,
            source=SourceFile.of(path, KIND),
            tables={"graph": table} if table.height else {},
            producer="tracelens collect torch --graph",
            versions={"torch": sidecar.torch},
            rank=sidecar.rank,
            rank_origin="sidecar" if sidecar.rank is not None else "input order",
            reasons={"graph": "the model could be neither exported nor traced"},
            diagnostics=diagnostics,
        )
    ]


def _table(sidecar: _Sidecar) -> pl.DataFrame:
    def text(value: object) -> str | None:
        return None if value is None else json.dumps(value)

    schema = TABLES["graph"].without("rank").schema
    rows = [
        (
            sidecar.graph_key, node.node, order, node.op, text(node.inputs), text(node.arguments), text(node.shape),
            node.dtype, text(node.strides), node.alias_of, node.is_input, node.is_output, node.module_path,
            sidecar.source,
        )
        for order, node in enumerate(sidecar.nodes)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


COLLECTOR = Collector(
    kind=KIND,
    expects="a sidecar of --graph (.json, .json.gz)",
    sniff=sniff,
    read=read,
    fills={"graph": "of a sidecar of --graph"},
)
