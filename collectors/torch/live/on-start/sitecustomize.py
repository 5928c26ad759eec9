"""Begin the live capture, then run the user's sitecustomize, because this file hides it.

Python imports this file at its start.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _begin() -> None:
    package = _HERE.parent
    spec = importlib.util.spec_from_file_location(
        "_tracelens_live", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["_tracelens_live"] = module
    spec.loader.exec_module(module)
    importlib.import_module("_tracelens_live.bootstrap").begin()


def _chain() -> None:
    """Run the user's sitecustomize, because this file hides it."""
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _begin()
except Exception as error:  # noqa: BLE001 - the program must run whatever happens here
    print(f"tracelens: the capture could not begin: {error!r}", file=sys.stderr)  # noqa: T201
_chain()
