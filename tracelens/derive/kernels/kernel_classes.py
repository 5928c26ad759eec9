"""Naming a kernel's library and primitive."""

import re
from collections.abc import Iterable

import polars as pl

from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.kernels.inductor_names import OP_RULES
from tracelens.derive.kernels.kernel_libraries import LIBRARY_RULES
from tracelens.derive.kernels.kernel_primitives import (
    ALLOCATING,
    CONTEXT_DECIDES,
    CONTEXT_RULES,
    FUNCTOR_RULES,
    GENERIC_HEAD,
    NAME_RULES,
)

_LOOKED_AT = 2000
"""Characters of a name that are read.

The rules look only at its front, and names may be 100 KB long.
"""

_NAMESPACE = r"^.*(::|: )"

# An unnamed namespace as LLVM's, nsys's and GCC's demanglers write it.
_UNNAMED = r"(\(anonymous namespace\)|<unnamed>|\{anonymous\})::"
_RETURN_TYPE = r"^(__global__ )?(void |std::enable_if<.*?>::type )"
_MANGLED_PART = re.compile(r"[0-9]{1,3}")


def classify(names: pl.Series, contexts: pl.Series | None = None) -> pl.DataFrame:
    """Return library, primitive, primitive_source and is_communication of each kernel.

    One row per name, in order. primitive_source is Categorical. `contexts` holds, for each kernel,
    the name of the innermost op that launched it, None where unknown; the word `triton` stands for
    an op that the profiler marks as a Triton launch. The op is better evidence than the kernel's
    name: one GEMM kernel is a convolution below `aten::cudnn_convolution` and a product below
    `aten::addmm`. `primitive_source` is `context` where the op decided and `name` otherwise.
    """
    if contexts is None:
        contexts = pl.repeat(None, len(names), dtype=pl.Categorical, eager=True)
    return each_pair_once(names.alias("name"), contexts.alias("context"), _classify_unique)


def op_primitives(names: pl.Series) -> pl.Series:
    """Return what each op computes, by its name alone: one Categorical value per name.

    It is `unknown` where the name does not tell.
    """
    rules = (*CONTEXT_RULES, *ALLOCATING, *OP_RULES)
    return each_once(names, lambda name: _first(rules, _op(name)).fill_null("unknown"))


def _classify_unique(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the classes of (name, context) pairs, row by row."""
    pairs = pairs.fill_null("")
    text = pl.col("name").str.head(_LOOKED_AT).str.replace_all(_UNNAMED, "")
    prepared = (
        pairs.with_columns(text=text.str.replace(_RETURN_TYPE, "").str.strip_suffix(".kd"))
        .with_columns(head=_head(), op=_op(pl.col("context")))
        .with_columns(functor=pl.col("text").str.slice(pl.col("head").str.len_chars()))
    )
    by_name = (
        pl.when(pl.col("head").str.contains(GENERIC_HEAD))
        .then(_first(FUNCTOR_RULES))
        .otherwise(_first(NAME_RULES))
    )
    by_context = _first(CONTEXT_RULES)
    classified = prepared.with_columns(by_name=by_name.fill_null("unknown"), by_context=by_context)
    decides = pl.col("by_context").is_not_null() & (
        (pl.col("by_name") == "unknown")
        | (pl.col("by_name") == pl.col("by_context"))
        | _may_decide()
    )
    return classified.select(
        library=pl.when(pl.col("name") == "")
        .then(pl.lit("unknown"))
        .when(pl.col("context") == "triton")
        .then(pl.lit("triton"))
        .otherwise(_first(LIBRARY_RULES).fill_null("other")),
        primitive=pl.when(decides).then("by_context").otherwise("by_name"),
        primitive_source=pl.when(decides).then(pl.lit("context")).otherwise(pl.lit("name")),
    ).with_columns(is_communication=pl.col("primitive") == "communication")


def _head() -> pl.Expr:
    """Return the qualified name: the text up to the first template argument or parameter.

    A mangled name is demangled.
    """
    plain = pl.col("text").str.extract(r"^([^<(]*)", 1)
    mangled = pl.col("text").str.starts_with("_Z")
    return (
        pl.when(mangled)
        .then(plain.map_elements(unmangled_head, return_dtype=pl.String))
        .otherwise(plain)
    )


def unmangled_head(name: str) -> str:
    """Return the qualified name at the start of an Itanium-mangled one.

    Profilers leave a name mangled when it is too long. `_ZN17cutlass__5x_cudnn6KernelI…` gives
    `cutlass__5x_cudnn::Kernel`; anything else is returned unchanged.
    """
    if not name.startswith("_Z"):
        return name
    parts: list[str] = []
    place = 3 if name.startswith("_ZN") else 2
    while (digits := _MANGLED_PART.match(name, place)) is not None:
        start = digits.end()
        place = start + int(digits.group())
        if name[start:place] != "_GLOBAL__N_1":
            parts.append(name[start:place])
    return "::".join(parts) or name


def _op(name: pl.Expr) -> pl.Expr:
    """Return the op's name without namespace."""
    return name.str.head(_LOOKED_AT).str.replace(_NAMESPACE, "")


def _first(rules: Iterable[tuple[str, str, str]], text: pl.Expr | None = None) -> pl.Expr:
    """Return the word of the first rule whose pattern is found, in its column or in `text`.

    Return None where none is.
    """
    where = pl.col if text is None else lambda _: text
    return pl.coalesce(
        pl.when(where(column).str.contains(p)).then(pl.lit(word)) for column, p, word in rules
    )


def _may_decide() -> pl.Expr:
    """Return whether the op's primitive overrules the one that the name suggests."""
    return pl.any_horizontal(
        (pl.col("by_context") == primitive) & pl.col("by_name").is_in(overruled)
        for primitive, overruled in CONTEXT_DECIDES.items()
    )
