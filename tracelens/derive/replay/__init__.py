"""Replaying a rank's steps as a graph of what waits for what, and again with something changed."""
