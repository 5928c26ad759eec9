"""Machine code over texts that end right before a page that nobody may touch: python -m tests.fast_guarded."""

import ctypes
import gzip
import mmap
import random
from pathlib import Path

import numpy as np

from tests.fast_and_slow import BYTES, CHANGES, VALUES
from tracelens.collectors.torch.fast import native
from tracelens.collectors.torch.fast.fields import ARG_KEYS, EVENT_KEYS
from tracelens.collectors.torch.fast.layout import PAD
from tracelens.collectors.torch.fast.worker import Worker

_SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz"
_ROUNDS = 30_000
_ROOM = 1 << 16


def main() -> None:
    """Parse many damaged texts, each placed so that its padding ends where the guarded page begins."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, _ROOM + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for guarded in (start, start + _ROOM + page):
        assert libc.mprotect(ctypes.c_void_p(guarded), page, mmap.PROT_READ & 0) == 0
    room = np.frombuffer(memory, np.uint8)[page : page + _ROOM]
    found = native.parser()
    assert found is not None
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    text = gzip.decompress(_SAMPLE.read_bytes())
    worker = Worker(found.run)
    for turn in range(_ROUNDS):
        if turn % 500 == 0:
            worker = Worker(found.run)
        content = _odd(chance) if turn % 2 else _changed(chance, text)
        size = min(len(content), _ROOM - PAD)
        buffer = room[_ROOM - PAD - size :] if turn % 5 else room[: size + PAD]
        buffer[:size] = np.frombuffer(content, np.uint8)[:size]
        buffer[size : size + PAD] = 0xFF
        worker.parse(buffer, size)
    print(_ROUNDS, "texts,", found.path)  # noqa: T201 - a program


def _changed(chance: random.Random, text: bytes) -> bytes:
    begin = chance.randrange(len(text))
    part = bytearray(text[begin : begin + chance.choice((1, 7, 40, 300, 3000, 20_000))])
    first = part.find(b"{")
    if first > 0:
        del part[:first]
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(part) + 1)
        part[at : at + chance.randrange(4)] = chance.choice(CHANGES)
    return bytes(part)


def _odd(chance: random.Random) -> bytes:
    values = [*(value.encode() for value in VALUES), *BYTES]
    parts = []
    for _ in range(chance.randrange(1, 4)):
        keys = chance.choices([*EVENT_KEYS, "other"], k=6)
        args = b",".join(b'"%s":%s' % (k.encode(), chance.choice(values)) for k in chance.choices([*ARG_KEYS], k=5))
        own = [b'"%s":%s' % (k.encode(), chance.choice(values)) for k in keys]
        parts.append(b"{" + b",".join([*own, b'"args":{%s}' % args]) + b"}")
    whole = b",".join(parts)
    return whole[: chance.randrange(len(whole) + 1)]


if __name__ == "__main__":
    main()
