"""Where time goes: steps, idle time and its causes, ops, ranges, threads."""
