"""Have Kineto detach CUPTI from the program after the last recording.

Otherwise CUPTI stays in the process and slows each CUDA call. Steps after a recording then take
longer than in a process that never profiled. Kineto reads the environment variable TEARDOWN_CUPTI
each time a recording ends.
"""

from __future__ import annotations

import os

import torch

_TEARDOWN = "TEARDOWN_CUPTI"
_OF_USER = os.environ.get(_TEARDOWN)
_DETACHABLE = (12, 6)
"""The first version of CUDA in which CUPTI can be detached.

Programs with CUDA graphs crashed afterwards in earlier versions (pytorch#144455).
"""


def is_always_detached() -> bool:
    """Return whether the user makes Kineto detach CUPTI after each recording."""
    return _OF_USER == "1"


def detach_after_recording() -> bool:
    """Have Kineto detach CUPTI when the current recording ends, and return True.

    Return False if CUDA is too old, or if the user has set the variable to another value.
    """
    version = tuple(int(part) for part in (torch.version.cuda or "0").split(".")[:2])
    if version < _DETACHABLE:
        return False
    return os.environ.setdefault(_TEARDOWN, "1") == "1"


def leave_attached() -> None:
    """Let CUPTI stay in the process after later recordings, and in child processes.

    Call this function after the first CUDA call that follows the recording, as that call detaches
    CUPTI. A program that makes several recordings in quick succession hangs if each one detaches
    CUPTI (kineto#1554).
    """
    if _OF_USER is None:
        os.environ.pop(_TEARDOWN, None)
