"""Measure a model's layers by several methods, and what the measuring itself costs; needs PyTorch."""

from tracelens.measuring.measure import measure
from tracelens.measuring.protocol import CONFIGURATIONS, METHODS, Protocol

__all__ = ["CONFIGURATIONS", "METHODS", "Protocol", "measure"]
