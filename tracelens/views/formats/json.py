"""A report as JSON: `{"trace": …, "sections": {NAME: {"rows": […], "notes": […]}}}`."""

import json
import math
from typing import Any

from tracelens.report import Report
from tracelens.trace import Trace
from tracelens.views.formats.format import Format


def to_json(report: Report) -> str:
    """Write every row under the result's column names, as JSON.

    Times are integer nanoseconds; NaN and infinity are written as null. A section without an answer
    has no rows and says why under "missing"; "base" is there when two traces are compared, and
    "gate" with --fail-on.
    """
    document: dict[str, Any] = {"trace": _trace(report.trace)}
    if report.base is not None:
        document["base"] = _trace(report.base)
    if report.gate is not None:
        document["gate"] = _finite([verdict.as_dict() for verdict in report.gate])
    document["sections"] = {
        section.analysis.name: (
            {"rows": _finite(section.frame.to_dicts()), "notes": section.notes}
            | ({} if section.missing is None else {"missing": section.missing})
        )
        for section in report.sections
    }
    return json.dumps(document, indent=1, allow_nan=False, default=str) + "\n"


def _trace(trace: Trace) -> dict[str, Any]:
    return {"name": trace.name, **_finite(trace.manifest.as_dict())}


def _finite(value: Any) -> Any:
    """Replace every float that JSON has no number for by None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


FORMAT = Format("json", (".json",), lambda report, _: to_json(report))
