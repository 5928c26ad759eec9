"""Declare functions of upper packages that lower packages call without importing them.

`tracelens/__init__` sets the functions before any other module is imported. A function imports the
module of the upper package only when the function is called.
"""

from collections.abc import Callable
from typing import Any

_NOT_FILLED_IN = "tracelens/__init__ has not been imported"


class Hooks:
    """Holds functions of collectors, report and views for callers in lower packages."""

    def __init__(self) -> None:
        self.list_collectors: Callable[[], object] = _missing
        """Imports all collectors, so that each is listed in `COLLECTORS`."""
        self.open_trace: Callable[[Any], Any] = _missing
        """Opens a trace, or reads a source into one, by its path."""
        self.open_base: Callable[[Any, Any], Any] = _missing
        """Opens the base with which a trace is compared, by its path.

        If the path is a folder of graph captures, it opens the captures of the trace's batch sizes.
        """
        self.report_view: Callable[..., Any] = _missing
        """Builds the notebook view of a report, from a trace, section names, and a base or None."""


def _missing(*_: object) -> Any:
    raise RuntimeError(_NOT_FILLED_IN)


HOOKS = Hooks()
