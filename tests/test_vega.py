"""The script that draws charts: bundled once, kept where nobody else can have written it."""

from pathlib import Path

import pytest

from tracelens.views import vega

BUNDLED = "bundled; window.vegaEmbed=e;"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the kept script, in an empty folder, with a bundler that takes no time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vega, "_bundle", lambda: BUNDLED)
    path = vega._kept_script()
    assert path is not None
    return path


def script() -> str:
    """Return the script as a new process gets it."""
    return vega.vega_script.__wrapped__()


def test_the_script_is_kept_for_the_next_page(kept: Path) -> None:
    assert script() == BUNDLED
    kept.write_text("kept; window.vegaEmbed=e;")
    assert script() == "kept; window.vegaEmbed=e;"


@pytest.mark.parametrize("damage", ["others may write it", "it is something else"])
def test_a_kept_script_that_is_not_ours_is_bundled_anew(kept: Path, damage: str) -> None:
    script()
    if damage == "others may write it":
        kept.write_text("theirs; window.vegaEmbed=e;")
        kept.chmod(0o666)
    else:
        kept.write_text("theirs")
    assert script() == BUNDLED
    assert kept.read_text() == BUNDLED
    assert kept.stat().st_mode & 0o777 == 0o600


def test_without_a_cache_folder_the_script_comes(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert script() == BUNDLED
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    assert script() == BUNDLED
    assert not kept.exists()
