"""Compare two runs, or two sets of runs.

The values of both are taken step by step, and differences are judged by their spread.
"""
