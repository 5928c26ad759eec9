"""How a report is drawn and written: values and columns in words, charts, the HTML page, and every format."""
