"""Collect many ranks as tasks that may run anywhere.

They write into an object store or a folder that their machines share.
"""
