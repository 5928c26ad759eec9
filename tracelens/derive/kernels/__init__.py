"""Determine properties of kernels and copies: library, primitive, grid, element type."""
