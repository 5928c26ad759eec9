"""The table of planted programs: each module adds its own when it is imported.

A program is a loop that yields at the end of each step. Everything in it is small except the one
cause that is planted.
"""

import calls
import device
import host
import ranks
from parts import PROGRAMS

__all__ = ["PROGRAMS", "calls", "device", "host", "ranks"]
