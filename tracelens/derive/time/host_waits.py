"""Recognise call paths on which the host only waits. A profiler does not lengthen such waits."""

import re

_WORD = r"[0-9A-Za-z_]"
WAITS = (
    r"(?:^|> )(?:queue|threading|selectors|socket|ssl|select|subprocess|asyncio)"
    rf"(?:/{_WORD}+)?\.py(?:\((?:defined at )?[0-9]+\))?: "
    rf"(?:get|wait|wait_for|join|select|poll|accept|recv{_WORD}*|read{_WORD}*|acquire|communicate)$"
    r"|(?:^|> )subprocess\.py(?:\((?:defined at )?[0-9]+\))?:"
    r" (?:run|call|check_call|check_output)$"
    rf"|(?:^|> )(?:sleep|select\.{_WORD}+|lock\.acquire|_thread\.lock\.acquire"
    rf"|<method '(?:acquire' of '_thread\.(?:lock|RLock)|poll' of 'select\.{_WORD}+)' objects>)$"
)
"""Pattern of call paths on which the host only waits: for a message, a lock or a deadline."""


def is_wait(place: str) -> bool:
    """Return whether the host only waits on a call path."""
    return re.search(WAITS, place) is not None
