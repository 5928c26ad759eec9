"""Many ranks of one job: their collectives matched, their clocks, and who waits for whom."""
