"""How far something that takes long has come, as records of the log that the command line draws."""

import logging
from typing import NamedTuple


class Share(NamedTuple):
    """Work done, and all work: in bytes, or in pieces of any kind."""

    done: int
    total: int
    is_bytes: bool = False


def log_share(log: logging.Logger, share: Share, text: str) -> None:
    """Log the step under way, with the share that is done before it."""
    log.debug("%s", text, extra={"share": share})


def share_of(record: logging.LogRecord) -> Share | None:
    """Return the share of work done that a record of the log holds; None where it holds none."""
    found = getattr(record, "share", None)
    return found if isinstance(found, Share) else None
