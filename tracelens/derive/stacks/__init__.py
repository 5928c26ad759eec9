"""What call stacks hold: the frames' names and roles."""
