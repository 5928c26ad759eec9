"""Match the collectives of a job's ranks, fit their clocks, and find who waits for whom."""
