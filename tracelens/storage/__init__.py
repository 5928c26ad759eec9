"""Declare tables, and write and read them as Parquet."""
