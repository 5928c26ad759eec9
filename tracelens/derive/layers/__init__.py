"""Costs of layers: from their kernels, their calls and what was recorded at compile time."""
