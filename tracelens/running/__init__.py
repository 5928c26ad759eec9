"""Run a program under a capture, sample its GPUs, and find tools."""
