"""Read a live capture's provenance files: which modules each kernel of torch.compile comes from."""

from typing import Annotated, Any

import msgspec
import polars as pl

from tracelens.schemas import TABLES
from tracelens.trace.sidecars import Sidecar, sidecar_collector


class _Node(msgspec.Struct, frozen=True):
    node: str
    aten_op: str
    module_path: str | None
    rule: str
    output_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class _Inputs(msgspec.Struct, frozen=True):
    """Holds the arguments of one kernel call, one list entry per argument.

    The entries have the form of an op's inputs in torch.profiler's traces.
    """

    shapes: list[Any]
    dtypes: list[str]
    strides: list[Any]
    values: list[Any]

    def texts(self) -> tuple[str, ...]:
        """Return shapes, dtypes, strides and values as JSON, in this order."""
        return tuple(
            msgspec.json.encode(column).decode()
            for column in (self.shapes, self.dtypes, self.strides, self.values)
        )


class _Call(msgspec.Struct, frozen=True):
    name: str
    is_extern: bool
    nodes: list[_Node]
    inputs: _Inputs | None = None


class _Graph(msgspec.Struct, frozen=True):
    key: str
    is_backward: bool
    calls: list[_Call]


class _Provenance(Sidecar, frozen=True, kw_only=True):
    kind = "provenance"
    option = "--compile-provenance"
    about_notes = "provenance_evidence"
    why_empty = "no graph was compiled while it was recorded"

    graphs: list[_Graph]

    def rows(self) -> pl.DataFrame:
        """Return one row per pair of a kernel and a node that it computes.

        A kernel without nodes has one row, with None as the node.
        """
        rows = [
            (graph.key, graph.is_backward, order, call.name, call.is_extern, *node_fields, *inputs)
            for graph in self.graphs
            for order, call in enumerate(graph.calls)
            for inputs in [(None,) * 4 if call.inputs is None else call.inputs.texts()]
            for node_fields in [msgspec.structs.astuple(node) for node in call.nodes]
            or [(None, None, None, "none", None)]
        ]
        return pl.DataFrame(rows, schema=TABLES["provenance"].without("rank").schema, orient="row")


COLLECTOR = sidecar_collector(_Provenance, "torch")
