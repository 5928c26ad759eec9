"""Advised calls in torch: a plan's file, the functions themselves, a model rewritten by them, and each timed alone."""

from tracelens.calling.applying import CallPlan, apply_calls
from tracelens.calling.timing import time_calls

__all__ = ["CallPlan", "apply_calls", "time_calls"]
