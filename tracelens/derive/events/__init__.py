"""What spans, calls and device work say of each other: nesting, links, modules, phases, steps."""
