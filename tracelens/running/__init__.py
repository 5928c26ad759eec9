"""Running a program under a capture, sampling its GPUs, and finding tools."""
