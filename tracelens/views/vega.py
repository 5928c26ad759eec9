"""Provide the script that draws a page's charts: Vega, Vega-Lite and Vega-Embed in 0.9 MB."""

import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tracelens.errors import SourceError
from tracelens.storage.atomic_write import replacing

_PACKAGE = "vl-convert-python"
_EMBED = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """Return the JavaScript that draws the charts of a page.

    It is stored in the user's cache folder (XDG_CACHE_HOME, else ~/.cache).
    """
    # Bundling takes 1.7 s. The result depends only on the version of vl-convert-python.
    kept = _kept_script()
    script = None if kept is None else _read_own(kept)
    if script is None:
        script = _bundle()
        with suppress(OSError, SourceError):  # failing to store the script only costs time
            if kept is not None:
                kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # A new file, because whoever may write the old one would keep that right
                kept.unlink(missing_ok=True)
                with replacing(kept) as part:
                    part.write_text(script, encoding="utf-8")
                    part.chmod(0o600)
    return script


def _kept_script() -> Path | None:
    """Return the path of the stored script, None for a user without a home folder."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return caches / "tracelens" / f"vega-{version(_PACKAGE)}.js"


def _read_own(kept: Path) -> str | None:
    """Return the stored script, None if it is absent or another user could have written it."""
    try:
        with kept.open(encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.getuid() or status.st_mode & 0o022:
                return None
            script = file.read()
    except (OSError, ValueError):
        return None
    return script if "window.vegaEmbed" in script else None


def _bundle() -> str:
    """Return the bundled script, made in another process if possible."""
    # Bundling holds Python's global lock, so it would stop the threads that build the page.
    code = (
        "import sys, vl_convert;"
        f" sys.stdout.buffer.write(vl_convert.javascript_bundle({_EMBED!r}).encode())"
    )
    with suppress(OSError, TypeError, subprocess.SubprocessError):
        done = subprocess.run(  # noqa: S603 - Python, with the words above
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()
    import vl_convert  # noqa: PLC0415 - 84 MB that a kept script does without

    return vl_convert.javascript_bundle(_EMBED)
