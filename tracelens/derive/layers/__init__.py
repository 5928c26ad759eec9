"""What a layer costs, by its kernels, its calls and what was recorded at compile time."""
