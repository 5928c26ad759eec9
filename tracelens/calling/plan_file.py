"""A call plan: which library calls compute a model's graph, as a file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tracelens.errors import SchemaError, SourceError

PLAN_VERSION = 1
FORMAT = "tracelens call plan"


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call: the nodes that it covers, what it reads, each in a layout, and the layout of what it gives."""

    function: str
    realisation: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    layouts: tuple[str, ...]
    layout: str
    predicted_ns: int = 0
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """Calls in order, the graph that they were made for, and calls that are worth timing alone."""

    source: str
    calls: tuple[PlannedCall, ...]
    inputs: tuple[dict[str, Any], ...] = ()
    candidates: tuple[dict[str, str], ...] = ()
    predicted: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CallPlan:
        """The plan in a file. Raises SourceError when it is none, SchemaError when a newer version wrote it."""
        file = Path(path)
        how = "make one with tracelens advise TRACE --out plan.json"
        try:
            data: Any = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise SourceError(
                f"{file}: expected a call plan as JSON, found none that can be read ({error}); {how}"
            ) from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise SourceError(f"{file}: expected the format {FORMAT!r}, found other JSON; {how}")
        version = data.get("plan_version")
        if type(version) is int and version > PLAN_VERSION:
            raise SchemaError(f"{file}: plan version {version}, this tracelens reads up to {PLAN_VERSION}; upgrade it")
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise SourceError(f"{file}: {error}; {how}") from error
