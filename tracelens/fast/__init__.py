"""Kernels in machine code: what they are made of, and how they come onto a machine without a compiler.

TRACELENS_KERNELS chooses which are used. `off`: none, everything goes the slow way. `checked`: plain Python, every
access checked. `numba`: what numba makes here, even where kernels compiled ahead could be used.
"""

import os

MODE = os.environ.get("TRACELENS_KERNELS", "")
"""What TRACELENS_KERNELS says."""
