"""Trace analysis for PyTorch performance work: what abstraction costs, from traces and stacks.

This module imports little, so that Ctrl-C works as soon as the command line starts. The first use
of a name imports all modules, which takes a second.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracelens.hooks import HOOKS

if not getattr(sys, "_is_gil_enabled", lambda: True)():  # since Python 3.13
    raise ImportError(
        "tracelens was never tried without the interpreter's lock (free-threaded Python); start it"
        " with PYTHON_GIL=1, or with another Python"
    )

if TYPE_CHECKING:
    from tracelens import analyses, interop
    from tracelens.advisor import apply_calls
    from tracelens.advisor.measuring import Protocol, measure
    from tracelens.advisor.plan import Plan, apply_plan, make_plan
    from tracelens.collectors import collect
    from tracelens.collectors.torch.running import capture
    from tracelens.derive.kernels.op_work import roofline_model
    from tracelens.derive.replay.predict import whatif
    from tracelens.trace import Trace
    from tracelens.trace.combine import add_timings

    open = Trace.open  # noqa: A001 - tl.open reads like gzip.open

__all__ = [
    "Plan",
    "Protocol",
    "Trace",
    "add_timings",
    "analyses",
    "apply_calls",
    "apply_plan",
    "capture",
    "collect",
    "interop",
    "make_plan",
    "measure",
    "open",
    "roofline_model",
    "whatif",
]
_MODULES = {
    "collectors": ("collect",),  # must be first: it registers the collectors, which messages name
    "collectors.torch.running": ("capture",),
    "advisor": ("apply_calls",),
    "derive.kernels.op_work": ("roofline_model",),
    "derive.replay.predict": ("whatif",),
    "advisor.measuring": ("Protocol", "measure"),
    "advisor.plan": ("Plan", "apply_plan", "make_plan"),
    "trace": ("Trace",),
    "trace.combine": ("add_timings",),
}


def _import_all() -> dict[str, Any]:
    """Import the public modules, and return the package's public objects by name."""
    offered = {}
    for module_name, names in _MODULES.items():
        module = import_module(f"{__name__}.{module_name}")
        offered.update({name: getattr(module, name) for name in names})
    rooms = {name: import_module(f"{__name__}.{name}") for name in ("analyses", "interop")}
    return offered | rooms | {"open": offered["Trace"].open}


def _report_view(*arguments: Any) -> Any:
    """Build the report of a trace as notebooks show it, see `ReportView.of`."""
    return import_module("tracelens.views.notebook").ReportView.of(*arguments)


def _open_trace(path: Any) -> Any:
    """Open a trace, or read a source of any kind into one."""
    is_trace = import_module("tracelens.trace.objects").is_trace(Path(path))
    package = import_module(__name__)
    return package.open(path) if is_trace else package.collect(path)


def _open_base(path: Any, trace: Any) -> Any:
    """Open the trace at `path`, which `trace` is compared with.

    If `path` is a folder of CUDA graph captures, open the captures of the graphs that `trace`
    replays.
    """
    if not Path(path).is_dir() or import_module("tracelens.trace.objects").is_trace(Path(path)):
        return _open_trace(path)
    captures = import_module("tracelens.jobs.graph_captures")
    return captures.open_captures(path, trace)


HOOKS.open_trace = _open_trace
HOOKS.open_base = _open_base
HOOKS.list_collectors = lambda: import_module("tracelens.collectors")
HOOKS.report_view = _report_view

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a public name of the package. The first use imports all names."""
        if name not in __all__:
            from tracelens.errors import near  # noqa: PLC0415 - most imports need no error

            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}; {near(name, __all__)}"
            )
        globals().update(_import_all())
        return globals()[name]

    def __dir__() -> list[str]:
        """Return the names in the package."""
        return __all__
