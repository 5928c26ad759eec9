"""The library description: one file per library, each with its FUNCTIONS as data."""

from tracelens.derive.calls.libraries import aten, attention, cublas, cudnn

TORCH = (*aten.FUNCTIONS, *cudnn.FUNCTIONS, *cublas.FUNCTIONS, *attention.FUNCTIONS)
"""Functions of torch.

Each exists on CUDA, so that the advice can be applied.
"""
