"""Programs for those who work on tracelens: fuzzers, mutants and what reads the code itself."""
