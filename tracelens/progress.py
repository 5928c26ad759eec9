"""Log the progress of a long task; the command line draws it."""

import logging
from typing import NamedTuple


class Share(NamedTuple):
    """Holds the work done and the whole work of a task, in bytes or in other units."""

    done: int
    total: int
    is_bytes: bool = False
    # If True, `done` counts only the current subtask. A bar adds the work that was logged before
    # the subtask began.
    is_part: bool = False


def log_share(log: logging.Logger, share: Share, text: str) -> None:
    """Log the name of the current work, with the share of the task that is already done."""
    log.debug("%s", text, extra={"share": share})


def share_of(record: logging.LogRecord) -> Share | None:
    """Return the share of work done that a log record holds; None if it holds none."""
    share = getattr(record, "share", None)
    return share if isinstance(share, Share) else None
