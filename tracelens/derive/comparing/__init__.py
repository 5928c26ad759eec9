"""Compare two runs, or two sets of runs.

Runs are compared step by step, and a difference is judged against the spread between steps.
"""
