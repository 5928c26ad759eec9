"""The hot loops in C. Each has a twin in Python, which defines what it gives, and which is used where C is not there.

The library is compiled while the package is installed, where there is a compiler. TRACELENS_NATIVE=off, for tests, has
the twins used where it is there, too.
"""

from __future__ import annotations

import os

try:
    from tracelens.native import _library
except ImportError:  # there was no compiler
    LIBRARY = None
else:
    LIBRARY = None if os.environ.get("TRACELENS_NATIVE") == "off" else _library
"""The functions in C; None where they are not to be had."""

__all__ = ["LIBRARY"]
