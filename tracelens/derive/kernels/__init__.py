"""Determine properties of kernels, copies and ops: library, primitive, types, FLOPs, bytes."""
