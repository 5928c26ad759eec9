"""Name and classify the frames of call stacks, and make tables of a debugger's stops."""
