"""Write files atomically, so that a reader finds the old content or the new, never a part."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracelens.errors import SourceError
from tracelens.storage.addresses import shown, url_of


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside the target, and rename the written file to the target.

    If the body fails, the file is removed. A symbolic link is followed. Raises SourceError if the
    target cannot be written.
    """
    if url_of(target) is not None:
        raise SourceError(
            f"{shown(target)}: results are written to local files; give a path, and copy the file"
            " there"
        )
    try:
        if target.exists() and not target.is_file():
            # A pipe or a device is written directly.
            yield target
            return
        # Unlike resolve(), realpath accepts links that lead in a circle.
        file = Path(os.path.realpath(target))
        part = file.with_name(f".{secrets.token_hex(8)}.part")
        try:
            yield part
            if file.exists():
                shutil.copymode(file, part)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        advice = f"make the folder {target.parent}" if is_missing else "free space"
        raise SourceError(
            f"{target}: cannot be written: {error.strerror or error}; {advice}, or name another"
            " place"
        ) from error


def write_text(text: str, target: Path) -> None:
    """Write UTF-8 text atomically; raise SourceError if the target cannot be written."""
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")
