"""Two runs, or two sets of runs, side by side.

Their values step by step, and what exceeds their spread.
"""
