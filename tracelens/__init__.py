"""Trace analysis for PyTorch performance work: read profiler traces and call stacks, ask what abstraction costs.

The modules are imported with the first name that is asked for: that takes a second, in which the
command line shall answer Ctrl-C, and Python imports this one before any other of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracelens.hooks import HOOKS

if TYPE_CHECKING:
    from tracelens import analyses, interop
    from tracelens.advisor import apply_calls
    from tracelens.collectors import collect
    from tracelens.collectors.torch.running import capture
    from tracelens.derive.replay.predict import whatif
    from tracelens.measuring import Protocol, measure
    from tracelens.plan import Plan, apply_plan, make_plan
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
    "whatif",
]
_MODULES = {
    "collectors": (
        "collect",
    ),  # the first one: what no collector filled is said with those that would
    "collectors.torch.running": ("capture",),
    "advisor": ("apply_calls",),
    "derive.replay.predict": ("whatif",),
    "measuring": ("Protocol", "measure"),
    "plan": ("Plan", "apply_plan", "make_plan"),
    "trace": ("Trace",),
    "trace.combine": ("add_timings",),
}


def _import_all() -> dict[str, Any]:
    """The names that the package offers."""
    found = {}
    for place, names in _MODULES.items():
        module = import_module(f"{__name__}.{place}")
        found.update({name: getattr(module, name) for name in names})
    rooms = {name: import_module(f"{__name__}.{name}") for name in ("analyses", "interop")}
    return found | rooms | {"open": found["Trace"].open}


def _report_view(*arguments: Any) -> Any:
    """Build what `trace.report()` returns."""
    return import_module("tracelens.views.notebook").ReportView.of(*arguments)


HOOKS.list_collectors = lambda: import_module("tracelens.collectors")
HOOKS.report_view = _report_view

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """One of the names above, with which all of them are there."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals().update(_import_all())
        return globals()[name]
