"""Rewrite, compile and time models: everything that needs PyTorch and a model in memory.

- `plan`: compiles the layers that a compile plan names
- `applying`: replaces a model's calls by the calls of a call plan (`plan_file`)
- `lowering`: implements the library calls that a call plan can contain
- `timing`: times single library calls
- `measuring`: times a model's layers
"""

from tracelens.advisor.applying import apply_calls
from tracelens.advisor.plan_file import CallPlan
from tracelens.advisor.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
