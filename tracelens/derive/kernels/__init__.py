"""Properties of kernels and copies: library, primitive, grid, occupancy, element type."""
