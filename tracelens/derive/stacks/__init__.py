"""Call stacks: names and roles of frames, and the tables made from a debugger's stops."""
