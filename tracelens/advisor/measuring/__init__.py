"""Measure a model's layers by several methods, and the cost of measuring itself.

Needs PyTorch.
"""

from tracelens.advisor.measuring.measure import CONFIGURATIONS, METHODS, measure
from tracelens.advisor.measuring.variants import Protocol

__all__ = ["CONFIGURATIONS", "METHODS", "Protocol", "measure"]
