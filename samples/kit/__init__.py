"""Code that the five studies share: the rule of significance, verdicts, pages and charts."""
