"""Tables as they are declared, and as they lie on disk."""
