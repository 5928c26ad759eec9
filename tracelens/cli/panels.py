"""Options of a command in groups: what `--help` and docs/cli.md list together."""

from typing import Any

from typer.core import TyperCommand

WRITING = "Writing"
RANKS = "Ranks and machines"
RUNNING = "Running a COMMAND"
SHOWING = "Showing"
COMPARING = "Comparing"
GATING = "Gates"
READING = "Reading"


class PanelledCommand(TyperCommand):
    """A command whose help has one section per panel of its options, without rich.

    A panel is an option's `rich_help_panel`.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each panel in the order of its first option."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(panel_of(parameter), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def panel_of(parameter: Any) -> str:
    """Name the section of help in which a parameter stands."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"
