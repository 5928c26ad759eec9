"""Programs for developers of tracelens: fuzzers, mutation tests and checks of the code."""
