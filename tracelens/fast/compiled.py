"""The few machine operations that the kernels are made of, compiled by numba: loads and stores at raw addresses.

Raw addresses instead of arrays: no array structures, hence no reference counting in the hot loops, and half the time to
compile. What may be read is bounded by the kernels, see `kernels`; `checked` does the same with every access checked.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_WIDTH = 32
_VECTOR = ir.VectorType(_I8, _WIDTH)


def _pointer(builder, address, kind):
    return builder.inttoptr(address, ir.PointerType(kind))


def _splat(value):
    return ir.Constant(_VECTOR, [value] * _WIDTH)


@intrinsic
def load8(typing_context, address):
    """The byte at the address."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.load(_pointer(builder, arguments[0], _I8), align=1, typ=_I8), _I64)

    return types.int64(types.int64), generate


@intrinsic
def load32(typing_context, address):
    """Four bytes at the address, little-endian, from 0 on."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.load(_pointer(builder, arguments[0], _I32), align=1, typ=_I32), _I64)

    return types.int64(types.int64), generate


@intrinsic
def load64(typing_context, address):
    """Eight bytes at the address, little-endian, signed."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(builder, arguments[0], _I64), align=1, typ=_I64)

    return types.int64(types.int64), generate


@intrinsic
def store64(typing_context, address, value):
    """Write eight bytes."""

    def generate(context, builder, signature, arguments):
        builder.store(arguments[1], _pointer(builder, arguments[0], _I64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def store32(typing_context, address, value):
    """Write four bytes, of which the value needs no more."""

    def generate(context, builder, signature, arguments):
        builder.store(builder.trunc(arguments[1], _I32), _pointer(builder, arguments[0], _I32), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def special32(typing_context, address):
    """Bit k: byte k of 32 is a quote, a backslash or a control character. LLVM picks SSE2, AVX2, AVX-512 or NEON."""

    def generate(context, builder, signature, arguments):
        bytes_ = builder.load(_pointer(builder, arguments[0], _VECTOR), align=1, typ=_VECTOR)
        found = builder.or_(
            builder.or_(
                builder.icmp_unsigned("==", bytes_, _splat(0x22)), builder.icmp_unsigned("==", bytes_, _splat(0x5C))
            ),
            builder.icmp_unsigned("<", bytes_, _splat(0x20)),
        )
        return builder.zext(builder.bitcast(found, ir.IntType(_WIDTH)), _I64)

    return types.int64(types.int64), generate


@intrinsic
def high32(typing_context, address):
    """Bit k: byte k of 32 is not ASCII."""

    def generate(context, builder, signature, arguments):
        bytes_ = builder.load(_pointer(builder, arguments[0], _VECTOR), align=1, typ=_VECTOR)
        found = builder.icmp_signed("<", bytes_, _splat(0))
        return builder.zext(builder.bitcast(found, ir.IntType(_WIDTH)), _I64)

    return types.int64(types.int64), generate


@intrinsic
def trailing_zeros(typing_context, word):
    """Number of zero bits below the lowest one; 64 for zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def float_bits(typing_context, value):
    """The bits of a float64 as an integer."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _I64)

    return types.int64(types.float64), generate


@intrinsic
def wrap(typing_context, value):
    """The integer itself: here a shift to the left drops what 64 bits cannot hold."""

    def generate(context, builder, signature, arguments):
        return arguments[0]

    return types.int64(types.int64), generate


@intrinsic
def plus(typing_context, one, other):
    """The sum as 64 bits hold it: what numba makes of `+` must not overflow."""

    def generate(context, builder, signature, arguments):
        return builder.add(*arguments)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def times(typing_context, one, other):
    """The product as 64 bits hold it: what numba makes of `*` must not overflow."""

    def generate(context, builder, signature, arguments):
        return builder.mul(*arguments)

    return types.int64(types.int64, types.int64), generate


inline = njit(nogil=True, error_model="numpy", forceinline=True)
call = njit(nogil=True, error_model="numpy")


def entry(function):
    """What Python calls: kept in numba's cache on disk, where one can be written."""
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no folder that it may write
        return njit(nogil=True, error_model="numpy")(function)


def make_ready(function) -> bool:
    """Have an entry point compiled or read from the cache; whether it was compiled now."""
    function.compile((types.int64,))
    return not sum(function.stats.cache_hits.values())
