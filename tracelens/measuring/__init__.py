"""Measuring a model's layers by several methods, and the cost of measuring itself; needs PyTorch."""

from tracelens.measuring.measure import measure
from tracelens.measuring.protocol import CONFIGURATIONS, METHODS, Protocol

__all__ = ["CONFIGURATIONS", "METHODS", "Protocol", "measure"]
