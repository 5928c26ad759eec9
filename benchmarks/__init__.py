"""The benchmark: real traces enlarged, tracelens and its peers timed on them in one run.

Not part of the tests.
"""
