"""Recognise call paths on which the host only waits. A profiler does not lengthen such waits."""

import re

WAITS = (
    r"(?:^|> )(?:queue|threading|selectors|socket|ssl|select|subprocess|asyncio)(?:/\w+)?\.py"
    r"(?:\((?:defined at )?\d+\))?: "
    r"(?:get|wait|wait_for|join|select|poll|accept|recv\w*|read\w*|acquire|communicate)$"
    r"|(?:^|> )subprocess\.py(?:\((?:defined at )?\d+\))?: (?:run|call|check_call|check_output)$"
    r"|(?:^|> )(?:sleep|select\.\w+|lock\.acquire|_thread\.lock\.acquire"
    r"|<method '(?:acquire' of '_thread\.(?:lock|RLock)|poll' of 'select\.\w+)' objects>)$"
)
"""Pattern of call paths on which the host only waits: for a message, a lock or a deadline."""


def is_wait(place: str) -> bool:
    """Return whether the host only waits on a call path."""
    return re.search(WAITS, place) is not None
