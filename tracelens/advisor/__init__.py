"""Advised calls in torch.

A plan's file, the functions themselves, a model rewritten by them, and each timed alone.
"""

from tracelens.advisor.applying import apply_calls
from tracelens.advisor.plan_file import CallPlan
from tracelens.advisor.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
