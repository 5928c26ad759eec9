"""Compute on columns: distinct values, look-ups by row, intervals, points in time."""
