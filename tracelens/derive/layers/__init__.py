"""Compute the costs of layers from kernels, calls and the records of compilation."""
