"""Declare functions of upper packages that lower packages call without importing them.

`tracelens/__init__`, which Python imports before any other module of the package, fills them in.
Each function imports its module when it is called.
"""

from collections.abc import Callable
from typing import Any

_NOT_FILLED_IN = "tracelens/__init__ has not been imported"


class Hooks:
    """Functions of upper packages (collectors, report and views), for callers in lower ones."""

    def __init__(self) -> None:
        self.list_collectors: Callable[[], object] = _missing
        """Imports all collectors, so that each is listed in `COLLECTORS`."""
        self.open_trace: Callable[[Any], Any] = _missing
        """Opens a trace, or reads a source into one, by its path."""
        self.open_base: Callable[[Any, Any], Any] = _missing
        """Opens, by its path, the base with which a trace is compared.

        From a folder of graph captures, it opens those for the trace's batch sizes.
        """
        self.report_view: Callable[..., Any] = _missing
        """Builds the report of a trace, its sections and a base or None, as notebooks show it."""


def _missing(*_: object) -> Any:
    raise RuntimeError(_NOT_FILLED_IN)


HOOKS = Hooks()
