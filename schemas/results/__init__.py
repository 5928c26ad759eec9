"""The columns of every analysis's result."""
