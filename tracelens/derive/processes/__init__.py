"""Classify the work of the threads of a process without a device: compute, copy, communicate."""
