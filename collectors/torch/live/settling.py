"""Decide which steps are typical after a pause of the program.

All ranks of a job have to record the same steps. So they decide by the number of the loader's
workers, which is equal on all ranks.
"""

from __future__ import annotations

import sys
import threading
import time
from multiprocessing import active_children

from .at_exit import OWN_THREADS

LONG_PAUSE_NS = 10_000_000
"""A shorter pause has no effect, because no queue fills."""

_JOB_TURNS = 3
"""After a pause, a rank of a job waits until each loader worker has delivered this many batches.

By default, each worker has two batches ready after a pause. One more batch allows for those that
workers fetch while the program uses the two.
"""


class Settling:
    """Decides how long steps are not typical after a pause in which the main thread wrote a trace.

    In such a pause, a data loader's workers and other threads fill their queues. So the next steps
    wait less for batches than other steps.
    """

    def __init__(self) -> None:
        # Steps are typical after a time as long as the pause. If the program consumes at least
        # twice as fast as its workers produce, the queues are then empty.
        self._until_ns = 0
        self._n_left = 0

    def begin(self, pause_ns: int, n_workers: int) -> None:
        """Count the next steps as not typical, after a pause of `pause_ns` that ends now.

        `n_workers` is the number of the loader's workers.
        """
        if _is_in_job():
            # A second pause changes nothing, because the other ranks may have no such pause.
            self._n_left = self._n_left or _JOB_TURNS * n_workers
        elif _has_producers():
            self._until_ns = max(time.perf_counter_ns() + pause_ns, self._until_ns)

    def end_step(self) -> None:
        """Count a step that ends."""
        self._n_left = max(self._n_left - 1, 0)

    def is_over(self) -> bool:
        """Return whether steps are typical again."""
        return not self._n_left and time.perf_counter_ns() >= self._until_ns


def steps_in_a_turn(n_workers: int) -> int:
    """Return the number of steps in which each worker process of a data loader delivers one batch.

    This is the number of workers, or 1 without workers. In a job of several ranks, there are
    `n_workers` workers. In any other program, each child process counts as a worker.
    """
    # Workers begin together, so their batches may come in one burst. The program then waits once in
    # this many steps.
    return max(n_workers if _is_in_job() else len(active_children()), 1)


def whole_turns(n_steps: int, turn: int) -> int:
    """Return `n_steps`, rounded up to a multiple of `turn` (see `steps_in_a_turn`)."""
    return -(-n_steps // turn) * turn


def _has_producers() -> bool:
    """Return whether the program has other threads or processes."""
    # They go on while the main thread pauses.
    names = (thread.name for thread in threading.enumerate())
    threads = [name for name in names if not name.startswith((OWN_THREADS, "MainThread"))]
    return bool(threads) or has_workers()


def has_workers() -> bool:
    """Return whether the program has child processes, such as a data loader's workers."""
    return bool(active_children())


def _is_in_job() -> bool:
    """Return whether this process is one of several ranks."""
    distributed = sys.modules.get("torch.distributed")
    return bool(
        distributed is not None
        and distributed.is_available()
        and distributed.is_initialized()
        and distributed.get_world_size() > 1
    )
