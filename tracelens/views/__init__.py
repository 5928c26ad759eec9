"""Draw and write reports: values and columns in words, charts, the HTML page, every format."""
