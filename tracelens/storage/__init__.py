"""Declare tables, read and write them as Parquet, and access files and object stores safely."""
