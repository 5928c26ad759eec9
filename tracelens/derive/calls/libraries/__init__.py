"""Describe the functions of libraries as data: FUNCTIONS in one file per library."""

from tracelens.derive.calls.libraries import aten, attention, cublas, cudnn

TORCH = (*aten.FUNCTIONS, *cudnn.FUNCTIONS, *cublas.FUNCTIONS, *attention.FUNCTIONS)
"""Functions that torch can call on CUDA, so that the advice can be applied."""
