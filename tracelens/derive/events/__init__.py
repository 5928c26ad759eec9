"""Relations between spans, calls and device work: nesting, links, modules, phases, steps."""
