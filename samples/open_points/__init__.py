"""Measure, in one short session, what the study pages left open for lack of a GPU."""
