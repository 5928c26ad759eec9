"""Collectors read one kind of source each and hand over a Capture a rank."""
