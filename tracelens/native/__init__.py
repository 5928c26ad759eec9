"""Run the hot loops in C.

Each has a twin in Python that defines its result, and that is used if C was not compiled. The
library is compiled while the package is installed, if there is a compiler. With
TRACELENS_NATIVE=off, as in tests, the Python twins run instead.
"""

import os
import secrets

try:
    from tracelens.native import _library
except ImportError:  # there was no compiler
    LIBRARY = None
else:
    LIBRARY = None if os.environ.get("TRACELENS_NATIVE") == "off" else _library
"""The compiled functions; None if the Python twins are used."""

__all__ = ["LIBRARY", "random_key"]


def random_key() -> tuple[int, int]:
    """Return a secret key for the library's hash tables.

    Without the key, nobody can prepare a trace whose strings all fall into one slot of a table.
    """
    return secrets.randbits(63), secrets.randbits(63)
