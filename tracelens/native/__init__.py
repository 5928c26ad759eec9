"""Run the hot loops in C.

Each C function has a twin in Python that defines its result. Without the compiled library, or with
TRACELENS_NATIVE=off, the Python twins run instead.
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
    """Return a random key for the library's hash tables."""
    # The key prevents hostile traces with strings that all have the same hash.
    return secrets.randbits(63), secrets.randbits(63)
