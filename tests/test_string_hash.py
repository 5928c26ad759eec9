"""The hash of the C library's tables: SipHash-1-3. Nobody can prepare strings for one slot."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.native import LIBRARY, random_key

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")
_WORD = (1 << 64) - 1


def siphash(text: bytes, key: tuple[int, int], n_block: int, n_last: int) -> int:
    """SipHash with these numbers of rounds, as Aumasson and Bernstein (2012) write it down."""
    a, b = key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D
    c, d = key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573

    def turned(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & _WORD

    def mixed(n: int) -> None:
        nonlocal a, b, c, d
        for _ in range(n):
            a, c = (a + b) & _WORD, (c + d) & _WORD
            b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
            a = turned(a, 32)
            c, a = (c + b) & _WORD, (a + d) & _WORD
            b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
            c = turned(c, 32)

    whole = len(text) // 8 * 8
    blocks = [int.from_bytes(text[at : at + 8], "little") for at in range(0, whole, 8)]
    for block in [*blocks, int.from_bytes(text[whole:], "little") | (len(text) & 0xFF) << 56]:
        d ^= block
        mixed(n_block)
        a ^= block
    c ^= 0xFF
    mixed(n_last)
    return a ^ b ^ c ^ d


def test_the_paper_s_own_example() -> None:
    key = int.from_bytes(bytes(range(8)), "little"), int.from_bytes(bytes(range(8, 16)), "little")
    assert siphash(bytes(range(15)), key, 2, 4) == 0xA129CA6149BE45E5


@given(st.binary(max_size=40), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_it_is_siphash_of_one_and_three_rounds(text: bytes, key: int, key_too: int) -> None:
    assert LIBRARY is not None
    assert LIBRARY.hashed(text, key, key_too) == siphash(text, (key, key_too), 1, 3)


def test_differences_that_cancelled_for_every_seed_do_not() -> None:
    """Bit 63 of a block against bits 63 and 31 of the next.

    4,096 such texts had one hash, of any seed.
    """
    assert LIBRARY is not None
    plain, first, second = bytes(16), 1 << 63, 1 << 63 | 1 << 31
    changed = first.to_bytes(8, "little") + second.to_bytes(8, "little")
    texts = [b"".join(parts) for parts in product((plain, changed), repeat=12)]
    key = random_key()
    assert len({LIBRARY.hashed(text, *key) for text in texts}) == len(texts) == 4_096
    slots = {LIBRARY.hashed(text, *key) & 0xFFFF for text in texts}
    assert len(slots) > 3_500  # of 65,536 slots, 4,096 texts at random take 3,970
