"""Places at which the host does nothing but wait: no profiler makes that time longer."""

import re

WAITS = (
    r"(?:^|> )(?:queue|threading|selectors|socket|ssl|select|subprocess|asyncio)(?:/\w+)?\.py"
    r"(?:\((?:defined at )?\d+\))?: "
    r"(?:get|wait|wait_for|join|select|poll|accept|recv\w*|read\w*|acquire|communicate)$"
    r"|(?:^|> )subprocess\.py(?:\((?:defined at )?\d+\))?: (?:run|call|check_call|check_output)$"
    r"|(?:^|> )(?:sleep|select\.\w+|lock\.acquire|_thread\.lock\.acquire"
    r"|<method 'acquire' of '_thread\.(?:lock|RLock)' objects>)$"
)
"""Places at which the host only waits: for a message, a lock or a point in time."""


def is_wait(place: str) -> bool:
    """Return whether the host only waits at a place: for a message, a lock or a point in time."""
    return re.search(WAITS, place) is not None
