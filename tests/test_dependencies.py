"""The page of dependencies: every package that the project needs, directly or not."""

import tomllib

from tools.dependencies import PAGE, ROOT, licence, needed


def test_the_page_has_every_package_that_is_always_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    listed = {cells[0].removeprefix("| "): cells for cells in rows[2:]}
    for requirement in project["dependencies"]:
        name = requirement.split(">=")[0]
        assert listed[name][3].removesuffix(" |") == "always", name
        assert listed[name][2] != "not said", name
    assert listed["markupsafe"][3].removesuffix(" |") == "jinja2"


def test_metadata_of_packages_is_read() -> None:
    found = needed()
    assert found["polars"] == "always"
    assert found["obstore"] == "extra cloud"
    assert "tracelens-toolkit" not in found
    assert licence("msgspec").startswith("BSD")
