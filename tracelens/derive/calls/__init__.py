"""Find the cheapest legal sequence of library calls for a model's graph.

It holds the descriptions of library functions, and the search.
"""
