"""Every analysis: a pure function from one Trace, or from base and other, to a DataFrame.

To add an analysis, write a module that ends with `ANALYSIS`. Then add a test, and one line in
`__init__.pyi`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.resources import files
from types import ModuleType

from tracelens.analyses.analysis import Analysis as Analysis
from tracelens.analyses.paths import taking_paths as _taking_paths
from tracelens.errors import near as _near


class _Analyses(Mapping[str, Analysis]):
    """The analyses by name, each imported when it is looked up."""

    def __init__(self) -> None:
        """Read the analyses' names, in the order of the report."""
        listed = files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8")
        self.names = re.findall(
            r"^from tracelens\.analyses\.(\w+) import \1 ", listed, re.MULTILINE
        )

    def __getitem__(self, name: str) -> Analysis:
        if name not in self.names:
            raise KeyError(name)
        # A verdict needs only a few analyses, so modules are imported late.
        analysis: Analysis = import_module(f"{__name__}.{name}").ANALYSIS
        return analysis

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


ANALYSES: Mapping[str, Analysis] = _Analyses()
"""Analyses by name, in the order of the report."""
__all__ = ["ANALYSES", "Analysis"]
__all__ += list(ANALYSES)


class _Package(ModuleType):
    """The package's class: `tracelens.analyses.NAME` is the analysis, not its module."""

    def __setattr__(self, name: str, value: object) -> None:
        """Store a value; in place of an analysis's module, store the analysis's function."""
        # Importing a submodule sets it as an attribute of its package.
        if isinstance(value, ModuleType) and name in ANALYSES:
            value = _taking_paths(value.ANALYSIS.run)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Return an analysis by name. Raises AttributeError, with similar names, for an unknown one."""
    if name not in ANALYSES:
        raise AttributeError(f"no analysis is called {name!r}; {_near(name, ANALYSES)}")
    import_module(f"{__name__}.{name}")
    return globals()[name]


def __dir__() -> list[str]:
    """Return the names in the package."""
    return __all__
