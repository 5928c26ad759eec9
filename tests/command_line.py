"""Run the command line in this process, for tests of its output and its files."""

from dataclasses import dataclass

import pytest

from tracelens.cli.app import main


@dataclass
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


def command_line(capsys: pytest.CaptureFixture[str], *arguments: object) -> Result:
    """Run a command line in the current folder."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return Result(ended.value.code, *capsys.readouterr())
