"""What people look at: terminal text and HTML pages."""
