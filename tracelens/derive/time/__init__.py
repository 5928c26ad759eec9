"""Break time down: steps, idle time and its causes, ops, ranges, threads."""
