"""Settings for every test."""

from hypothesis import settings

# A shared machine may stall for a second. Time is the benchmark's business.
settings.register_profile("tracelens", deadline=None)
settings.load_profile("tracelens")
