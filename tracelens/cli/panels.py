"""Commands loaded by name, and their options in groups: what `--help` and docs/cli.md list."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
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
    """Commands by name, in the order of `--help`; each is loaded when it is looked up."""

    def __init__(self, names: Sequence[str], load: Callable[[str], Any]) -> None:
        """Take the names, and the function that loads one."""
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
    """A group of commands that are loaded by name; `names` and `load` are of the subclass."""

    names: Sequence[str]
    load: Callable[[str], Any]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Take Typer's settings."""
        super().__init__(*arguments, **named)
        self.commands: Any = LoadedCommands(self.names, self.load)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as the base class has it
        """Return names of the commands, in the order of `--help`."""
        return [*self.names]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the command without pydantic."""
        take_as_given(self.get_params(ctx))
        return super().parse_args(ctx, args)


class PanelledCommand(TyperCommand):
    """A command whose help has one section per panel of its options, without rich.

    A panel is an option's `rich_help_panel`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse words without pydantic where that can be."""
        take_as_given(self.get_params(ctx))
        return super().parse_args(ctx, args)

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


def take_as_given(parameters: Iterable[Any]) -> None:
    """Convert the words of a command's parameters without pydantic, if they are texts or paths.

    Typer (0.29) converts every value by pydantic, which takes 0.06 s to load.
    """
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", "") is None:
            parameter._runtime_param = _AsGiven(parameter)  # noqa: SLF001 - no public way


class _AsGiven:
    """The conversion of one parameter's words."""

    def __init__(self, parameter: Any) -> None:
        self.kind = parameter.type_descriptor.annotation

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a parameter's value; Typer converts what is no text, and refuses files."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        kind = self.kind.__args__[0] if is_many else self.kind
        if all(_is_plain(word, kind) for word in (value if is_many else [value])):
            return [kind(word) for word in value] if is_many else kind(value)
        from typer._coercion import build_runtime_param  # noqa: PLC0415 - as of Typer 0.29

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


def _is_plain(word: Any, kind: Any) -> bool:
    """Return whether a word is a text, a path that may be read, or of its type already."""
    if kind is Path and isinstance(word, str):
        return os.access(word, os.R_OK) or not os.path.lexists(word)
    return type(word) is kind and kind in (str, bool, int, float)


def panel_of(parameter: Any) -> str:
    """Name the section of help in which a parameter stands."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"
