"""Compare two runs, or two sets of runs, and judge differences by the variation between steps."""
