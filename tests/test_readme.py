"""The commands and the Python of README and guide print what these say they print."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import command_line

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    name: (ROOT / name).read_text() for name in ("README.md", "docs/guide.md", "docs/capture.md")
}
COMMANDS = [
    command
    for text in PAGES.values()
    for command in re.findall(r"```console\n\$ tracelens (.*?)\n(.*?)```", text, re.DOTALL)
]


def words(text: str) -> list[str]:
    """Return the printed words without the rules below headings.

    Their length depends on rich's version.
    """
    return [word for word in text.split() if set(word) != {"─"}]


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=lambda text: text[-40:])
def test_commands_print_what_the_pages_show(
    command: str,
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    result = command_line(capsys, *shlex.split(command))
    assert result.code == 0
    assert words(result.out) == words(printed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/guide.md"])
def test_python_prints_what_the_page_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGES[name], re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert tried > 5
    assert not failed


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGES[name]) if "://" not in link]
    place = (ROOT / name).parent
    assert [link for link in links if not (place / link.split("#")[0]).exists()] == []


def test_the_readme_is_one_screen_and_a_few_more() -> None:
    assert PAGES["README.md"].count("\n") <= 120
