"""Read the graph of a model from the file that a live capture writes beside its trace."""

import json
from typing import Literal

import msgspec
import polars as pl
from msgspec.structs import asdict

from tracelens.schemas import TABLES
from tracelens.trace.sidecars import Sidecar, sidecar_collector

_Word = Literal["none", "tanh"]


class _Node(msgspec.Struct, frozen=True):
    node: str
    op: str
    inputs: list[str | None]
    arguments: list[bool | int | float | _Word | list[bool | int | float | _Word] | None]
    shape: list[int] | None
    dtype: str | None
    strides: list[int] | None
    alias_of: str | None
    is_input: bool
    is_output: bool
    module_path: str | None


class _Graph(Sidecar, frozen=True, kw_only=True):
    kind = "graph"
    option = "--graph"
    about_notes = "graph_source"
    why_empty = "the model could be neither exported nor traced"

    graph_key: str
    source: str
    nodes: list[_Node]

    def rows(self) -> pl.DataFrame:
        """Return one row per node of the graph, in call order."""
        rows = [
            {
                name: json.dumps(value) if isinstance(value, list) else value
                for name, value in asdict(node).items()
            }
            | {"graph_key": self.graph_key, "call_order": order, "source": self.source}
            for order, node in enumerate(self.nodes)
        ]
        return pl.DataFrame(rows, schema=TABLES["graph"].without("rank").schema)


COLLECTOR = sidecar_collector(_Graph, "torch")
