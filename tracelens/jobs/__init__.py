"""Collect many ranks as tasks, on one or several machines.

All tasks write into one object store, or into one folder that all machines can write to.
"""
