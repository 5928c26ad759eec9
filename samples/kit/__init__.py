"""Code of the five studies: the rule of significance, verdicts, pages and charts."""
