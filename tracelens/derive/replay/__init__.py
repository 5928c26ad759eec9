"""Replay a rank's steps as a graph of waits, as recorded or with a change."""
