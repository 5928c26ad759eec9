"""What several collectors and analyses derive from recorded events: nesting, links, steps, classes, occupancy."""
