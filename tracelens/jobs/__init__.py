"""Collect many ranks as tasks that may run on any machine.

They write into an object store or a folder that the machines share.
"""
