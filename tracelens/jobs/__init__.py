"""Collect many ranks as tasks, which may run on several machines.

All tasks write into one object store or shared folder.
"""
