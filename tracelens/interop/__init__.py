"""Hand traces to other tools' analyses, in the form that these tools have after parsing."""

from importlib import import_module
from typing import Any

from tracelens.errors import ToolError, first_line
from tracelens.trace import Trace


def hta(trace: Trace, *, include_last_profiler_step: bool = False) -> Any:
    """Return HTA's TraceAnalysis of the trace, with all methods, as if HTA had read the files.

    - By default, the last of several steps is left out, as HTA does.
    - Starts and ends are rounded inward to microseconds, unless HTA_DISABLE_NS_ROUNDING is set.
    - Events are numbered in the order of the trace's tables.
    - The device time of an annotation is computed from the work launched in it.
    - Arguments that no analysis of HTA reads (shapes, message sizes) are left out.

    Raises ToolError if HTA is not installed, and MissingTableError for a trace without kernels.
    """
    try:
        import_module("hta.trace_analysis")
    except ImportError as error:
        raise ToolError(
            f"HTA (traceinsight) cannot be imported ({first_line(error)}): pip install traceinsight"
        ) from error
    # HTA requires NumPy, so it is installed.
    hta_trace = import_module("tracelens.interop.hta_trace")
    return hta_trace.analysis_of(trace, include_last_profiler_step=include_last_profiler_step)


__all__ = ["hta"]
