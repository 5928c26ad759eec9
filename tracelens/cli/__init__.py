"""Parse the command line and run commands."""
