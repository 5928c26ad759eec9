"""Two steps on a device that works or idles, for tests of advice."""

from tests.programs import Row, launch, mark, program, work
from tracelens.trace import Trace

STEPS = [mark(0, 0, 5_000), mark(1, 5_000, 10_000)]
FIRST, SECOND = launch(0, 10), launch(5_000, 5_010)


def site(op: str, phase: str = "forward") -> Row:
    return {"op": op, "phase": phase}


def busy(spans: tuple[Row, ...] = (), kernels: tuple[Row, ...] = (), **tables: list[Row]) -> Trace:
    """Two steps with one kernel of 5 ms, or with `kernels` and a last one of 1 ms.

    There is a call for each row of the table `sites`, in order.
    """
    calls = [
        launch(0, 10, site_id=number) for number in range(max(1, len(tables.get("sites", []))))
    ]
    if not kernels:
        return program([*STEPS, *spans], calls, [work(0, 5_000, 0)], **tables)
    last = work(9_000, 10_000, len(calls))
    return program([*STEPS, *spans], [*calls, SECOND], [*kernels, last], **tables)


def idle(*spans: Row, calls: tuple[Row, ...] = ()) -> Trace:
    """Two steps.

    In the second the device is idle from 5,000 to 9,000 µs, when the next launch returns.
    """
    kernels = [work(0, 5_000, 0), work(9_000, 10_000, 1)]
    return program([*STEPS, *spans], [FIRST, launch(8_990, 9_000), *calls], kernels)
