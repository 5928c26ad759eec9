"""Properties of kernels and copies: library, primitive, grid, element type."""
