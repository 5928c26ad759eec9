"""What the five studies share: one rule of significance, five verdicts, pages by Jinja, charts for one font."""
