"""Declaring tables, and writing and reading them as Parquet."""
