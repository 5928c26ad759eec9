"""The hot loops in C.

Each has a twin in Python that defines its result and that is used where C was not compiled.

The library is compiled while the package is installed, where there is a compiler.
TRACELENS_NATIVE=off makes the Python twins run instead, for tests.
"""

import os

try:
    from tracelens.native import _library
except ImportError:  # there was no compiler
    LIBRARY = None
else:
    LIBRARY = None if os.environ.get("TRACELENS_NATIVE") == "off" else _library
"""The compiled functions; None where the twins are used."""

__all__ = ["LIBRARY"]
