"""Derive everything that follows from recorded events.

Examples are nesting, links, steps, kernel classes, layers and idle time.
"""
