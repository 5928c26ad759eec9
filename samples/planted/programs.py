"""The table of planted programs: each module enters its own when it is imported.

A program is a loop that yields at the end of each step. All of it is small but the one cause that
is planted.
"""

import calls
import device
import host
import ranks
from parts import PROGRAMS

__all__ = ["PROGRAMS", "calls", "device", "host", "ranks"]
