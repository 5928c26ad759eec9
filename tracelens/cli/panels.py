"""Load commands by name, and group their options for `--help` and docs/cli.md."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

WRITING = "Writing"
RANKS = "Ranks and machines"
RUNNING = "Running a COMMAND"
SHOWING = "Showing"
COMPARING = "Comparing"
GATING = "Gates"
READING = "Reading"


class LoadedCommands(Mapping[str, Any]):
    """Commands by name, in the order of `--help`.

    Each command is loaded when it is looked up.
    """

    def __init__(self, names: Sequence[str], load: Callable[[str], Any]) -> None:
        """Take the names of all commands, and the function that loads a command."""
        self._names = names
        self._load = load

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class LoadedGroup(TyperGroup):
    """A group of commands that are loaded by name. Subclasses define `names` and `load`."""

    names: Sequence[str]
    load: Callable[[str], Any]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Pass all settings on to Typer."""
        super().__init__(*arguments, **named)
        self.commands: Any = LoadedCommands(self.names, self.load)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as the base class has it
        """Return names of the commands, in the order of `--help`."""
        return [*self.names]


class PanelledCommand(TyperCommand):
    """A command with one section of help per panel (`rich_help_panel`), even if rich is missing."""

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
    """Return the title of the section of help that lists a parameter."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"
