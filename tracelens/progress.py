"""Log the progress of a long task; the command line draws it."""

import logging
from typing import NamedTuple


class Share(NamedTuple):
    """The work that is done, and all work, in bytes or in pieces of any kind.

    With `is_part`, both numbers are about one piece of a larger task. The larger task's share was
    logged before, and the work done on the piece is added to it.
    """

    done: int
    total: int
    is_bytes: bool = False
    is_part: bool = False


def log_share(log: logging.Logger, share: Share, text: str) -> None:
    """Log the task under way, with the share of work done before it."""
    log.debug("%s", text, extra={"share": share})


def share_of(record: logging.LogRecord) -> Share | None:
    """Return the share of work done that a log record holds; None if it holds none."""
    share = getattr(record, "share", None)
    return share if isinstance(share, Share) else None
