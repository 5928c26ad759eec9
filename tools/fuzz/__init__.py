"""Fuzzing the parser in C under AddressSanitizer and UndefinedBehaviorSanitizer."""
