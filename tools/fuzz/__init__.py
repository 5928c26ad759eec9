"""Fuzz the parser in C under sanitizers, and everything that reads untrusted files."""
