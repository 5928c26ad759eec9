"""The README's commands and Python print what it says they print."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracelens.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"```console\n\$ tracelens (.*?)\n(.*?)```", README, re.DOTALL)


def words(text: str) -> list[str]:
    """What is printed, without the rules below headings: their length depends on rich's version."""
    return [word for word in text.split() if set(word) != {"─"}]


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 3


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=lambda text: text[-40:])
def test_command_prints_what_the_readme_shows(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0
    assert words(result.stdout) == words(printed)


@pytest.mark.slow
def test_python_prints_what_the_readme_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert tried > 5
    assert not failed


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link.split("#")[0]).exists()] == []
