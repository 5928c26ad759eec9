"""Classify the work of a process's threads, without a device: compute, copy, communicate."""
