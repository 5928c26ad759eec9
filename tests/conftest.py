"""Settings for every test."""

from hypothesis import settings

# A shared machine may stall for a second; time is the benchmark's business, and a test that hangs is stopped from outside.
settings.register_profile("tracelens", deadline=None)
settings.load_profile("tracelens")
