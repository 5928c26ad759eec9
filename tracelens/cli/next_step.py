"""Suggest the next command, on standard error."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tracelens.cli.output import tell
from tracelens.storage.addresses import shown
from tracelens.trace.sources import STANDARD_INPUT

_NAME = "tracelens"


def suggest(command: str, *more: str) -> None:
    """Write the next command to standard error, followed by options for other purposes."""
    begin, typed = f"{_NAME} ", f"{_typed_name()} "
    words = [
        f"{typed}{text.removeprefix(begin)}" if text.startswith(begin) else text
        for text in (command, *more)
    ]
    tell("next: " + "    ".join(words))


def _typed_name() -> str:
    """Return the name under which the shell finds this program, or the path that started it."""
    started = Path(sys.argv[0])
    on_path = shutil.which(_NAME)
    is_found = on_path is not None and started.exists() and started.samefile(on_path)
    return _NAME if is_found or started.name != _NAME else shlex.quote(sys.argv[0])


def open_command(page: Path) -> str:
    """Return the command that opens a page in the browser, or words if no command is known."""
    path = shlex.quote(str(page))
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    return f"{opener} {path}" if shutil.which(opener) else f"open {path} in a browser"


def report_command(
    sources: Sequence[Path],
    against: Sequence[Path] = (),
    *options: str,
) -> str:
    """Return the report command for these sources, quoted for a shell."""
    words = [*map(shown, sources)]
    for base in against:
        words += ["--against", shown(base)]
    quoted = [shlex.quote(str(word)) for word in words]
    return " ".join(["tracelens", "report", *quoted, *options])


def suggest_report(sources: Sequence[Path]) -> None:
    """Suggest the report on the trace that was just written."""
    suggest(report_command(sources))


def suggest_sections(
    sources: Sequence[Path],
    against: Sequence[Path],
    sections: Sequence[str],
) -> None:
    """Suggest the commands after an answer: further sections, all sections, and the page."""
    chosen = more_of(sections)
    sources, against = ([_again(path) for path in paths] for paths in (sources, against))
    names = [Path(path.name).stem.split(".")[0] or "report" for path in (sources[0], *against[:1])]
    page = f"--html {shlex.quote('-against-'.join(names))}.html"
    suggest(
        report_command(sources, against, *chosen),
        *(["or"] if chosen else []),
        "--all",
        page,
    )


def _again(path: Path) -> Path:
    """Return the path, or FILE for standard input: it cannot be read a second time."""
    return Path("FILE") if path == STANDARD_INPUT else path


def more_of(sections: Sequence[str]) -> list[str]:
    """Return the options of `report` that show the first two of these sections."""
    return [f"--section {name}" for name in sections[:2]]
