"""Distinguish local paths from URLs of object stores, such as s3://bucket/run.tracelens."""

import os
import re
from pathlib import Path

from tracelens.errors import SourceError

SCHEMES = ("s3", "gs", "az")
_KNOWN = ", ".join(f"{scheme}://BUCKET/PATH" for scheme in SCHEMES)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/]*(@|:(?!\d+(/|$)))")
"""Matches a user or a password before a URL's host. The password may contain a slash."""
_SIGNED = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]+:/.*[?&#;](x-amz-|x-goog-|sig|se=|[a-z_-]*(token|key|secret|password|credential))",
    re.IGNORECASE | re.DOTALL,
)


def url_of(path: str | os.PathLike[str]) -> str | None:
    """Return the URL of an object store, or None for a local path.

    Raises SourceError for a URL with credentials, of another scheme, or without a bucket.
    """
    text = os.fspath(path)
    refuse_credentials(text)
    match = _URL.fullmatch(text)
    if match is None:
        return None
    scheme, rest = match[1].lower(), match[2].rstrip("/")
    if scheme not in SCHEMES:
        if os.path.lexists(text):
            return None
        raise SourceError(f"{match[1]}://{match[2]}: expected a local path or {_KNOWN}")
    if not rest:
        raise SourceError(f"{scheme}://: expected {scheme}://BUCKET/PATH, found no bucket")
    # A Path loses one slash of a URL: `Path("s3://b/x")` is `s3:/b/x`.
    return f"{scheme}://{rest}"


def refuse_credentials(text: str) -> None:
    """Raise SourceError for a URL that contains a user, a password, a key or a signature.

    The error does not repeat the URL.
    """
    if _AUTHORITY.match(text) or _SIGNED.match(text):
        raise SourceError(
            "a URL with credentials in it is refused, and not repeated here; put them into the"
            f" environment (AWS_ACCESS_KEY_ID and the like) and give {_KNOWN}"
        )


def shown(path: str | os.PathLike[str]) -> str:
    """Return the address for messages, with both slashes of a URL."""
    return url_of(path) or str(Path(path))
