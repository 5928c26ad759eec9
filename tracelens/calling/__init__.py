"""Advised calls in torch: a plan's file, the functions themselves, a model rewritten by them, and each timed alone."""

from tracelens.calling.applying import apply_calls
from tracelens.calling.plan_file import CallPlan
from tracelens.calling.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
