"""What the threads of a process without a device do: compute, copy, communicate."""
