"""The cheapest legal sequence of library calls for a model's graph: what functions there are, and the search."""
