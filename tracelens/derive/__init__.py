"""Everything derived from recorded events: nesting, links, steps, kernel classes, layers, idle time."""
