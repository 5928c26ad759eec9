"""Kernels in machine code: what they are made of, and how they come onto a machine without a compiler."""
