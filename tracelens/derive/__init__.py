"""Derive everything that follows from recorded events.

That is nesting, links, steps, kernel classes, layers and idle time.
"""
