"""The library description: one file per library, each with its FUNCTIONS as data."""

from tracelens.derive.calls.libraries import aten, attention, cublas, cudnn

TORCH = (*aten.FUNCTIONS, *cudnn.FUNCTIONS, *cublas.FUNCTIONS, *attention.FUNCTIONS)
"""Every one exists in torch on CUDA, so that what is advised can be applied."""
