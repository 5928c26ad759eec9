"""The benchmark: tracelens and its peers, timed in one run on enlarged traces. Not a test."""
