"""What a kernel is: library, primitive, grid, occupancy; and what copies carry."""
