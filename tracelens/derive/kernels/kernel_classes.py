"""Classify kernels by library and primitive."""

import re
from collections.abc import Iterable

import polars as pl

from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.kernels.inductor_names import OP_RULES
from tracelens.derive.kernels.kernel_primitives import (
    ALLOCATING,
    CONTEXT_DECIDES,
    CONTEXT_RULES,
    FUNCTOR_RULES,
    GENERIC_HEAD,
    NAME_RULES,
)

LIBRARY_RULES: tuple[tuple[str, str, str], ...] = (
    # RCCL kept NCCL's names; only its unrolled generic kernels have other names.
    ("head", r"^rccl|^ncclDevKernel(Debug)?_Generic_[0-9]", "rccl"),
    ("head", r"^nccl", "nccl"),
    # Triton: Inductor's prefix, or the signature that Triton 2 appended to names
    # (matmul_kernel_0d1d2d3de).
    ("head", r"^triton_|_0(de?|c)1[0-9cde]*$", "triton"),
    # PyTorch comes before cuDNN, because at::cuda::philox::unpack_cudnn belongs to PyTorch.
    (
        "head",
        r"^(at|c10|c10d|torch)::|^cunn_|^softmax_warp_|^elementwise_kernel_with_index$|^THC",
        "aten",
    ),
    # cuDNN renames the namespaces it embeds (cutlass__5x_cudnn, cask_plugin__5x_cudnn,
    # xmma__5x_cudnn).
    ("head", r"cudnn", "cudnn"),
    ("head", r"xmma_(fprop|dgrad|wgrad)|^(sm[0-9]+|volta|turing|ampere)_[a-z0-9_]*gcgemm", "cudnn"),
    ("text", r"^cutlass::Kernel2?<cutlass_[a-z0-9_]*(fprop|dgrad|wgrad)", "cudnn"),
    ("head", r"^conv2d_(c[0-9]+_k[0-9]+_n(hwc|chw)|grouped_direct)", "cudnn"),
    ("head", r"^(LSTM|GRU)_elementWise_|^elemWiseRNNcell|^RNN_blockPersist|^persistRNN", "cudnn"),
    (
        "head",
        r"^((im|ex)plicit_|precomputed_)?convolve_|^(d|w)grad[0-9_]|^calc_bias_diff|^kern_precompute_indices",
        "cudnn",
    ),
    (
        "head",
        r"^fft[12]d_|^flip_filter|^pointwise_mult_and_sum_complex|^(fw|bw)_|^bn_(fw|bw)_",
        "cudnn",
    ),
    (
        "head",
        r"nchwToNhwc|nhwcToNchw|nchwToFolded|nhwcToFolded|foldedNhwc|^nhwcAddPadding",
        "cudnn",
    ),
    ("head", r"^op_(generic_)?tensor_kernel", "cudnn"),
    # cuBLAS: names from its own generators, and CUTLASS instances named cutlass_<cc>_..., which
    # only it ships.
    (
        "head",
        r"cublas|(^|_)trsm_|^nvjet_|^gemv[2N]|^gemv[a-zA-Z]*SP|^internal::gemvx|^gemmk1_|^gemmSN_|^gemm_kernel",
        "cublas",
    ),
    (
        "head",
        r"^(sm[0-9]+|maxwell|pascal|volta|turing|ampere|hopper|blackwell)_[a-z0-9_]*gemm",
        "cublas",
    ),
    (
        "head",
        r"^(dot|reduce_1Block|splitKreduce|scal|axpy|asum|nrm2|trsm|syrk)(_[a-z_]*)?kernel",
        "cublas",
    ),
    ("head", r"^[sdch]gemm_[a-z0-9_]*lds", "cublas"),
    ("text", r"^cutlass::Kernel2?<cutlass_[0-9]+_", "cublas"),
    # AMD: Tensile writes Cijk_ for both rocBLAS and hipBLASLt; CK inside MIOpen keeps its own
    # namespace.
    ("head", r"^(Custom_)?Cijk_", "hipblaslt"),
    ("head", r"^ck(_tile)?::", "composable_kernel"),
    ("head", r"miopen|MIOpen|^mloPool|^igemm_(fwd|bwd|wrw)_|^gridwise_convolution", "miopen"),
    (
        "head",
        r"^(Im[23]d2Col|Col2Im[23]d|SubTensorOp|Op[0-9A-Z]?[0-9a-z]*Tensor|naive_conv_)",
        "miopen",
    ),
    ("head", r"^(batched_transpose_|transpose_(NCHW|CNHW)|gcnAsm|[sS]p3Asm)", "miopen"),
    # FlashAttention, also inside PyTorch (pytorch_flash), and as FA3's functor in CUTLASS's entry
    # point.
    ("head", r"^(pytorch_)?flash(_attn)?::|^flash_(fwd|bwd)|^FlashAttn", "flash_attention"),
    ("text", r"^cutlass::device_kernel<\(?(flash::|[a-z0-9_:]*<?flash::)", "flash_attention"),
    # Thrust is built on CUB and ships with it; PyTorch wraps CUB in at_cuda_detail.
    ("head", r"^(at_cuda_detail::)?(cub|thrust)(::|[0-9_])", "cub"),
    # xFormers' memory-efficient attention is compiled into PyTorch under this parameter type.
    ("text", r"^fmha_cutlass[FB][a-z0-9_]*\(PyTorchMemEffAttention", "aten"),
    ("text", r"^cutlass::device_kernel<\(?at::", "aten"),
    ("head", r"^cutlass|^cute::", "cutlass"),
    # A flat name with a leading underscore is a Python function; names in CUDA C++ have parameters.
    ("text", r"^_[a-z][A-Za-z0-9_]*$", "triton"),
    # Names of flash-linear-attention without parameters.
    (
        "text",
        r"^(chunk|fused_recurrent|recompute_w_u|prepare_wy_repr|merge_16x16|solve_tril)_\w*$",
        "triton",
    ),
)
"""Tuples of (column to search, pattern, library).

A name that matches no pattern is `other`.
"""

_LOOKED_AT = 2000
"""Number of characters of a name that are read, because names may be 100 KB long."""

_NAMESPACE = r"^.*(::|: )"

# An unnamed namespace, as the demanglers of LLVM, nsys and GCC write it.
_UNNAMED = r"(\(anonymous namespace\)|<unnamed>|\{anonymous\})::"
_RETURN_TYPE = r"^(__global__ )?(void |std::enable_if<.*?>::type )"
_MANGLED_PART = re.compile(r"[0-9]{1,3}")


def classify(names: pl.Series, contexts: pl.Series | None = None) -> pl.DataFrame:
    """Return library, primitive, primitive_source and is_communication, one row per kernel name.

    - `contexts`: the innermost op around each launch (None if unknown), or `triton`. It may
      overrule the name: one GEMM kernel is a convolution below `aten::cudnn_convolution`, a product
      below `aten::addmm`.
    - primitive_source: `context` if the op determines the primitive, otherwise `name`
    """
    if contexts is None:
        contexts = pl.repeat(None, len(names), dtype=pl.Categorical, eager=True)
    return each_pair_once(
        names.alias("name"),
        contexts.alias("context"),
        _classify_unique,
    )


def op_primitives(names: pl.Series) -> pl.Series:
    """Return the primitive of each op by its name, `unknown` if the name does not show it.

    The result is Categorical.
    """
    rules = (*CONTEXT_RULES, *ALLOCATING, *OP_RULES)
    return each_once(
        names,
        lambda name: _first(rules, _op(name)).fill_null("unknown"),
    )


def _classify_unique(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `classify` for pairs of name and context, one row per pair."""
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
    """Return the qualified name: the text before the first template argument or parameter.

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
    """Return the qualified name at the start of an Itanium-mangled name; other names unchanged.

    `_ZN17cutlass__5x_cudnn6KernelI…` becomes `cutlass__5x_cudnn::Kernel`.
    """
    # Profilers do not demangle names that are too long.
    if not name.startswith("_Z"):
        return name
    parts: list[str] = []
    position = 3 if name.startswith("_ZN") else 2
    while (digits := _MANGLED_PART.match(name, position)) is not None:
        start = digits.end()
        position = start + int(digits.group())
        if name[start:position] != "_GLOBAL__N_1":
            parts.append(name[start:position])
    return "::".join(parts) or name


def _op(name: pl.Expr) -> pl.Expr:
    """Return the op's name without namespace."""
    return name.str.head(_LOOKED_AT).str.replace(_NAMESPACE, "")


def _first(
    rules: Iterable[tuple[str, str, str]],
    text: pl.Expr | None = None,
) -> pl.Expr:
    """Return the result of the first rule with a matching pattern, None if no pattern matches.

    A rule is (column to search, pattern, result). If `text` is given, it is searched instead.
    """
    where = pl.col if text is None else lambda _: text
    return pl.coalesce(
        pl.when(where(column).str.contains(p)).then(pl.lit(word)) for column, p, word in rules
    )


def _may_decide() -> pl.Expr:
    """Return whether the op's primitive replaces the one that the kernel's name shows."""
    return pl.any_horizontal(
        (pl.col("by_context") == primitive) & pl.col("by_name").is_in(overruled)
        for primitive, overruled in CONTEXT_DECIDES.items()
    )
