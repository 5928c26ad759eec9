"""Compute costs of layers from kernels, calls, and what was recorded at compile time."""
