"""How results leave for other programs: JSON, CSV, Markdown."""
