"""The strings that kernels meet, each kept once: a growing table that they fill and Python reads."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from tracelens.collectors.torch.fast.layout import (
    ARENA,
    ARENA_ROOM,
    COUNT,
    HASHES,
    LENGTHS,
    MASK,
    OFFSETS,
    ROOM,
    SEED,
    SLOTS,
    STALE,
    USED,
    WANTED,
)
from tracelens.fast.memory import Words, bytes_at, lend

_FIRST_ROOM = 1 << 12
_FIRST_ARENA = 1 << 18
_SLACK = 8


class StringTable:
    """Distinct byte strings, numbered in the order they came."""

    def __init__(self, words: Words) -> None:
        """An empty table whose words the kernels find at the given place."""
        self._words = words
        self._hashes, self._offsets, self._lengths = (np.empty(0, np.int64) for _ in range(3))
        self._arena = np.empty(0, np.uint8)
        words[:] = 0
        # So that nobody can prepare a trace whose strings all fall into one slot.
        words[SEED] = secrets.randbits(62)
        self.grow()

    def __len__(self) -> int:
        """The number of strings."""
        return int(self._words[COUNT])

    def grow(self) -> None:
        """Make room for at least as much again, and for the string that did not fit."""
        words = self._words
        n, used = int(words[COUNT]), int(words[USED])
        if n >= words[ROOM] // 2:
            room = max(_FIRST_ROOM, 2 * int(words[ROOM]))
            self._hashes, self._offsets, self._lengths = (
                _larger(old, room, n) for old in (self._hashes, self._offsets, self._lengths)
            )
            self._slots = lend(np.empty(4 * room, np.int64))
            words[ROOM], words[MASK], words[STALE] = room, 4 * room - 1, 1
        arena_room = max(_FIRST_ARENA, 2 * used, used + 2 * int(words[WANTED]))
        if arena_room > words[ARENA_ROOM]:
            self._arena = _larger(self._arena, arena_room + _SLACK, used)
            words[ARENA_ROOM] = arena_room
        for word, array in (
            (SLOTS, self._slots), (HASHES, self._hashes), (OFFSETS, self._offsets), (LENGTHS, self._lengths),
            (ARENA, self._arena),
        ):  # fmt: skip
            words[word] = bytes_at(array)

    def text(self, number: int) -> bytes:
        """One string, as the bytes it was written as."""
        at = int(self._offsets[number])
        return self._arena[at : at + int(self._lengths[number])].tobytes()

    def texts(self, begin: int = 0) -> list[bytes]:
        """The strings from a number on, as the bytes they were written as."""
        arena = self._arena.data
        offsets, lengths = self._offsets[begin : len(self)].tolist(), self._lengths[begin : len(self)].tolist()
        return [bytes(arena[at : at + length]) for at, length in zip(offsets, lengths, strict=True)]


def _larger(old: np.ndarray[Any, Any], size: int, used: int) -> np.ndarray[Any, Any]:
    new = lend(np.empty(size, old.dtype))
    new[:used] = old[:used]
    return new
