"""Write reports in every format, with values as people read them, charts and the HTML page."""
