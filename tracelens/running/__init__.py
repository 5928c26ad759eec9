"""Running the program that a capture looks at, and sampling its GPUs meanwhile."""
