"""Programs for a machine with a GPU."""
