"""Rewrite, compile and time models: everything that needs PyTorch and a model in memory.

- `plan`: compiles the layers that a compile plan names
- `applying`: replaces a model's calls by the calls of a call plan (`plan_file`)
- `lowering`: has a function for each call, and `timing` times each alone
- `measuring`: times a model's layers
"""

from tracelens.advisor.applying import apply_calls
from tracelens.advisor.plan_file import CallPlan
from tracelens.advisor.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
