"""Settings for every test."""

import os

from hypothesis import settings

# A shared machine may stall for a second: time is the benchmark's business. Most examples read or analyse a trace:
# TRACELENS_EXAMPLES=1000 looks longer than every run can.
IN_CI = "CI" in os.environ
settings.register_profile(
    "tracelens",
    deadline=None,
    max_examples=int(os.environ.get("TRACELENS_EXAMPLES", "20" if IN_CI else "40")),
    derandomize=IN_CI,  # a change is judged by what it changes; everybody else looks for something new
)
settings.load_profile("tracelens")

# Programs that the tests start run beside each other: torch's threads would wait for each other, spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")
