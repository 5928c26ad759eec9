"""Collector of Nsight Systems captures: exports in SQLite, Parquet or Arrow, and reports where nsys is installed."""

from tracelens.collectors.nsys.collector import KIND, read, sniff

__all__ = ["KIND", "read", "sniff"]
