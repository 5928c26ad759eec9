"""Draw a progress bar on a terminal: the current task, share, size, and time left if known."""

import logging

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tracelens.errors import printable
from tracelens.progress import Share, share_of


class _IfTotalKnown(ProgressColumn):
    """Shows a column of the progress bar once the total amount of work is known.

    If `of_bytes` is True, the column is shown only for work that is counted in bytes. If `of_bytes`
    is False, the column is shown only for other work.
    """

    def __init__(self, column: ProgressColumn, *, of_bytes: bool | None = None) -> None:
        super().__init__()
        self._column = column
        self._of_bytes = of_bytes

    def render(self, task: Task) -> RenderableType:
        """Return the column's content, or an empty text if the column is not shown."""
        is_asked = self._of_bytes in (None, task.fields["is_bytes"])
        return self._column.render(task) if task.total is not None and is_asked else Text()


_COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}", markup=False),
    _IfTotalKnown(BarColumn(bar_width=20)),
    _IfTotalKnown(TaskProgressColumn()),
    _IfTotalKnown(DownloadColumn(), of_bytes=True),
    _IfTotalKnown(MofNCompleteColumn(), of_bytes=False),
    _IfTotalKnown(TimeRemainingColumn(compact=True)),
)


class ProgressBar:
    """The progress bar of one task, described by `text`."""

    def __init__(self, text: str) -> None:
        """Make the bar; `start` draws it."""
        self._bar = Progress(*_COLUMNS, console=Console(stderr=True), transient=True)
        self._text = text
        self._whole: Share | None = None
        self._task = self._bar.add_task(printable(text), total=None, is_bytes=False)
        self.start, self.stop = self._bar.start, self._bar.stop

    def show(self, record: logging.LogRecord) -> None:
        """Draw the logged task and its share, if it has one.

        The record of a subtask changes only the share.
        """
        share = share_of(record)
        if share is None or not share.is_part:
            description = printable(f"{self._text}: {record.getMessage()}")
            self._bar.update(self._task, description=description)
            self._whole = share or self._whole
        elif self._whole is not None:
            share = self._whole._replace(done=self._whole.done + share.done)
        if share is not None:
            self._bar.update(
                self._task,
                completed=share.done,
                total=max(share.total, 1),
                is_bytes=share.is_bytes,
            )
        self._bar.start()
