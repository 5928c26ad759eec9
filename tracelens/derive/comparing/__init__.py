"""Two runs, or two sets of runs, side by side: their values step by step, and what exceeds their spread."""
