"""The cheapest legal sequence of library calls for a model's graph.

What functions there are, and the search.
"""
