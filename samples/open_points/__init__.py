"""Measure, in one short turn, what the study pages left open for lack of a GPU."""
