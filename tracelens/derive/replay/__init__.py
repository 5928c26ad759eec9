"""Replay a rank's steps as a dependency graph, as recorded or with a change."""
