"""Rewrite, compile and time models: everything that needs PyTorch and a model in memory.

`plan` compiles the layers that a compile plan names. `applying` rewrites a model by the calls of a
call plan (`plan_file`), with the functions of `lowering`. `timing` times each of these functions
alone. `measuring` times a model's layers. Only the command line and the package's public names
import this package.
"""

from tracelens.advisor.applying import apply_calls
from tracelens.advisor.plan_file import CallPlan
from tracelens.advisor.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
