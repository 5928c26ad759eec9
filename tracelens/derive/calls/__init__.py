"""Find the cheapest legal sequence of library calls for a model's graph.

The library functions are described as data, and a search chooses among them.
"""
