"""Drawing and writing reports: values and columns in words, charts, the HTML page, and every format."""
