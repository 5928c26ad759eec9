"""Read, list, create and remove objects in a store (S3, Google Cloud, Azure) or local files.

A store cannot rename objects. Instead, `create` never overwrites an object, so only one of several
writers succeeds. Credentials come from the environment. A store's answer may contain them, so
messages never repeat it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tracelens.errors import SourceError
from tracelens.storage.addresses import shown, url_of

MISSING_EXTRA = "URLs need the package obstore: pip install obstore"
_CLIENT = {"allow_http": True, "connect_timeout": "5s", "timeout": "300s"}
_RETRIES = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=2),
        "base": 2,
    },
}
_OF_FILES = re.compile(r"^Generic LocalFileSystem .*\(os error (\d+)\)")
"""Matches the first line of an error about a local folder."""
_CODE = re.compile(r"<Code>(\w+)</Code>|status code: (\d{3})")
_DENIED = (
    "401",
    "403",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "AllAccessDisabled",
)
_ABSENT = ("404", "NoSuchBucket", "NoSuchKey", "ContainerNotFound", "BlobNotFound")
_CHANGED = ("412", "PreconditionFailed", "ConditionNotMet")
_UNREACHED = ("error sending request", "timed out", "dns error", "tcp connect", "connection")
_CREDENTIAL_HOSTS = ("169.254.", "metadata.google", "/latest/api/token")


class Listed(NamedTuple):
    """Describes an object or a local file; its ETag changes whenever the content does."""

    address: str
    name: str
    size_bytes: int
    etag: str


class Objects:
    """Reads and writes the objects below a URL, or the files below a local folder.

    A key is the path below that address, for example `ranks/3.json`.
    """

    def __init__(self, address: str | os.PathLike[str]) -> None:
        """Set up access to the address, without a request to the store.

        Raises SourceError if the extra `cloud` is not installed.
        """
        if find_spec("obstore") is None:
            raise SourceError(f"{shown(address)}: {MISSING_EXTRA}")
        import obstore  # noqa: PLC0415 - an extra
        from obstore.store import LocalStore, from_url  # noqa: PLC0415

        self.address = shown(address)
        self._obstore: Any = obstore
        url = url_of(address)
        with self._plain("opened"):
            self._store: Any = (
                LocalStore(prefix=Path(address).absolute(), mkdir=True)
                if url is None
                else from_url(
                    url,
                    client_options=_CLIENT,
                    retry_config=_RETRIES,
                    **_credentials(url),
                )  # type: ignore[call-overload]
            )

    def read(self, key: str) -> bytes | None:
        """Return an object's content, None if there is no such object."""
        with self._plain("read"):
            try:
                return bytes(self._obstore.get(self._store, key).bytes())
            except FileNotFoundError:
                return None

    def head(self, key: str, n_bytes: int) -> bytes:
        """Return the first bytes of an object; the store refuses this for an empty object."""
        with self._plain("read"):
            return bytes(self._obstore.get_range(self._store, key, start=0, length=n_bytes))

    def about(self, key: str) -> Listed | None:
        """Return size and ETag of an object, None if there is no such object."""
        with self._plain("read"):
            try:
                return self._listed(self._obstore.head(self._store, key))
            except FileNotFoundError:
                return None

    def keys(self) -> dict[str, datetime]:
        """Return the time of the last write of every object below the address, by key."""
        with self._plain("listed"):
            objects = [item for batch in self._obstore.list(self._store) for item in batch]
        return {str(item["path"]): item["last_modified"] for item in objects}

    def members(self, folder: str | None = None) -> Sequence[Listed]:
        """Return the objects directly in a folder, sorted by address.

        Without `folder`, return the objects directly below this address.
        """
        with self._plain("listed"):
            objects = self._obstore.list_with_delimiter(self._store, folder)["objects"]
        return sorted(self._listed(item) for item in objects if item["path"])

    def _listed(self, about: Any) -> Listed:
        key = str(about["path"])
        return Listed(
            f"{self.address}/{key}",
            key.rpartition("/")[2],
            int(about["size"]),
            str(about["e_tag"] or ""),
        )

    def create(self, key: str, content: bytes) -> bool:
        """Write an object unless the key exists; return whether the object was written."""
        with self._plain("written"):
            try:
                self._obstore.put(self._store, key, content, mode="create")
            except self._obstore.exceptions.AlreadyExistsError:
                return False
            return True

    def upload(self, key: str, file: Path) -> None:
        """Write a file's content as an object."""
        with self._plain("written"):
            self._obstore.put(self._store, key, file)

    def download(
        self,
        key: str,
        file: Path,
        etag: str | None = None,
    ) -> None:
        """Write an object's content into a file.

        Raises SourceError if the object no longer has this `etag`, because it was overwritten.
        """
        with self._plain("read", key):
            options = {"if_match": etag} if etag else {}
            with file.open("wb") as stream:
                for chunk in self._obstore.get(self._store, key, options=options).stream():
                    stream.write(chunk)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; keys without an object are ignored."""
        with self._plain("removed"):
            for key in keys:
                try:
                    self._obstore.delete(self._store, key)
                except FileNotFoundError:
                    continue

    @contextmanager
    def _plain(self, done: str, key: str = "") -> Iterator[None]:
        """Turn a store's errors into SourceError; `done` is the verb of the message."""
        try:
            yield
        except (OSError, ValueError, self._obstore.exceptions.BaseError) as error:
            where = f"{self.address}/{key}" if key else self.address
            raise SourceError(f"{where}: cannot be {done}: {reason(error)}") from None


def reason(error: BaseException) -> str:
    """Return in words why a store failed.

    The store's own message is not repeated, because it may contain keys and signed addresses.
    """
    text = str(error)
    code = next((match[1] or match[2] for match in reversed([*_CODE.finditer(text)])), "")
    kind = type(error).__name__
    if any(host in text for host in _CREDENTIAL_HOSTS) or "must be specified" in text:
        return "no account and credentials for it were found in the environment"
    if isinstance(error, FileNotFoundError) or code in _ABSENT:
        return "there is no such bucket or object"
    if (
        isinstance(error, PermissionError)
        or code in _DENIED
        or kind in {"PermissionDeniedError", "UnauthenticatedError"}
    ):
        return "the store denies it; the credentials in the environment need the permission for it"
    if code in _CHANGED or kind == "PreconditionError":
        return "it was changed meanwhile; collect it again when it is complete"
    if any(word in text.lower() for word in _UNREACHED):
        return (
            "the store does not answer; look at its endpoint (AWS_ENDPOINT_URL and the like) and at"
            " the network"
        )
    of_files = _OF_FILES.match(text)
    return os.strerror(int(of_files[1])) if of_files else f"the store failed ({code or kind})"


def is_of_store(error: BaseException) -> bool:
    """Return whether Polars failed on the object store rather than on the data."""
    return (
        isinstance(error, OSError)
        or "object-store" in str(error)
        or _CODE.search(str(error)) is not None
    )


def _credentials(url: str) -> dict[str, Any]:
    """Return options that give a store in S3 the credentials of the AWS CLI's profile.

    The options are empty if the store is not in S3, or if the AWS CLI has no profile.
    """
    # Without boto3, the profile cannot be read. The store itself reads a key in the environment.
    has_profile = "AWS_PROFILE" in os.environ or Path("~/.aws/credentials").expanduser().exists()
    if (
        not url.startswith("s3:")
        or "AWS_ACCESS_KEY_ID" in os.environ
        or not has_profile
        or find_spec("boto3") is None
    ):
        return {}
    from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

    return {"credential_provider": Boto3CredentialProvider()}
