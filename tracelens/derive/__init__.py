"""Derive everything that follows from recorded events.

This is nesting, links, steps, kernel classes, layers and idle time.
"""
