"""Classify kernels by their kind of work in a model, such as attention, experts or normalisation.

The first rule that applies wins. The layer's name comes before the kernel's primitive: a softmax
inside attention is attention.
"""

from typing import TypeAlias

import polars as pl

from tracelens.trace import Trace

EXPERTS = ("routing", "dispatch", "experts", "combine")
KINDS = (
    "attention",
    "recurrence",
    "dense products",
    "convolutions",
    *(f"MoE {part}" for part in EXPERTS),
    "normalisation",
    "elementwise",
    "indexing",
    "reductions",
    "optimizer",
    "communication",
    "other",
)
"""Kinds of work.

`indexing` includes embeddings, gathers, scatters, sorting, and sampling of tokens. `reductions`
include losses, pooling, and softmax outside of attention. `elementwise` includes copies, fills and
random numbers.
"""
_TEXTS = ("name", "op", "layer", "phase")
_NAMED = pl.concat_str("op", "name", separator=" ")
_LAST = pl.col("layer").str.extract(r"([^.,]+)(?:,|$)")
_IS_EXPERT = r"(?i)(^|[._])\w*(moe|expert|mixture)"
_OF_EXPERTS = (
    r"(?i)moe|expert|matmul_ogs|(^|[^a-z])ep_(scatter|gather)|group(ed)?_?(mm|gemm|linear|topk)"
    r"|gemm_?grouped|GroupProblemShape|GemmType\)[123]|router_gemm|top_?k_?gating|sort_chunks"
    r"|expand_?input_?rows|cutlass_kernels::(do(Gated)?Activation|computeStrides)|src2dst"
    r"|(pre|post)_reorder|chunk_?sort_map|(^| )_(un)?permute_kernel|(^|_)fused_(up|down)_proj_"
    r"|token_gather_weighted|row_id_map|combined_routing|problem_sizes|shuffle_?(input_?)?rows"
    r"|top_?k_?softplus|(^| )bmm_\w+_dynB"
)
"""Pattern for ops and kernels of experts, including grouped products.

In DeepGEMM's GemmType, 0 is a single product, 1 to 3 are grouped products, and 4 is a batch.
"""
_ROUTER_PRODUCT = r"(?i)router_gemm"
_IS_ROUTER = _LAST.str.contains(r"(?i)router|(^|_)gate(_\d+)?$")
_ATTENTION_LAYER = r"(?i)attn|attention"
_ATTENTION_OP = r"bmm|softmax|scaled_dot_product|masked_fill|attention"
_CACHE = (
    r"(?i)attention|reshape_and_cache|store_(kv_?)?cache|store_kvcache|kv_buffer|concat_and_cache"
    r"|append_?paged|update_?kv_?cache|rope_?and_?assign_?qkv|set_mla_kv_buffer"
)
_ROUTING = (
    r"(?i)top_?k|softmax|sort|bitmatrix|routing|router|gating|align|bincount|histogram|nonzero"
    r"|cumsum|fused_gate|src2dst|row_id|sort_map|prefix_sum|count_expert|problem_sizes"
)
_COMBINE = (
    r"(?i)combine([^d]|$)|finalize|unpermute|moe_sum|index_(add|copy)|scatter_add|ep_gather|post_reorder"
    r"|weighted_sum"
)
_DISPATCH = (
    r"(?i)dispatch|permute|expand_?input|shuffle_?(input_?)?rows|gather|::_?index|indexing|scatter"
    r"|pre_reorder|sort_chunks"
)
_RECURRENT_LAYER = r"(?i)linear_?attn|linear_?attention|mamba|delta_?net|rwkv"
_RECURRENT_OP = r"gdn_|(kda|linear)_attention|mamba"
_EXPERTS_OF = r"^(.*?)\.(?:\w*_)?experts?(?:[._,]|$)"
"""Pattern for the path of an expert. Its group is the path of the layer that contains the experts.

Such a layer routes and dispatches tokens, and combines results.
"""
_OF_LANGUAGE = ("attention", "recurrence", "MoE")


def kinds_of(kernels: pl.DataFrame) -> pl.Series:
    """Return the kind of work of each kernel.

    `kernels` has name, op, layer, phase (None if unknown), primitive and is_communication.
    """
    launches = kernels.select(*_TEXTS, "primitive", "is_communication")
    distinct = launches.unique(maintain_order=True)
    kinds = distinct.with_columns(_kinds(distinct))
    key = launches.columns
    return launches.join(kinds, on=key, how="left", nulls_equal=True, maintain_order="left")["kind"]


def _kinds(kernels: pl.DataFrame) -> pl.Series:
    texts = [pl.col(name).cast(pl.String).fill_null("") for name in _TEXTS]
    frame = kernels.select(
        *texts,
        pl.col("primitive").cast(pl.String),
        "is_communication",
    )
    mixtures = frame["layer"].unique().str.extract(_EXPERTS_OF).drop_nulls().unique()
    rules = (*_FIRST_RULES, *_expert_rules(mixtures), *_LAST_RULES)
    kinds = [pl.when(condition).then(pl.lit(kind)) for condition, kind in rules]
    return frame.select(kind=pl.coalesce(*kinds, pl.lit("other")))["kind"]


_PRIMITIVE = pl.col("primitive")
_IN_ATTENTION = pl.col("layer").str.contains(_ATTENTION_LAYER)
_Rule: TypeAlias = tuple[pl.Expr, str]
_FIRST_RULES: tuple[_Rule, ...] = (
    (pl.col("is_communication"), "communication"),
    ((pl.col("phase") == "optimizer") | (_PRIMITIVE == "optimizer"), "optimizer"),
)


def _expert_rules(mixtures: pl.Series) -> tuple[_Rule, ...]:
    """Return the rules for mixtures of experts; `mixtures` are the layers that contain experts."""
    in_mixture = pl.col("layer").is_in(mixtures.implode())
    layer_above = pl.col("layer").str.extract(r"^(.*)\.")
    is_router_beside = layer_above.is_in(mixtures.implode()) & _IS_ROUTER
    has_name = pl.col("layer").str.contains(_IS_EXPERT) | _NAMED.str.contains(_OF_EXPERTS)
    is_expert = has_name | is_router_beside
    # Kernels of experts, of routers and of the mixture itself may dispatch or combine tokens.
    may_move = is_expert | in_mixture
    return (
        (is_expert & _IS_ROUTER, "MoE routing"),
        (_NAMED.str.contains(_ROUTER_PRODUCT), "MoE routing"),
        (is_expert & (_PRIMITIVE == "gemm"), "MoE experts"),
        (in_mixture & pl.col("op").str.contains("bmm|grouped_mm"), "MoE experts"),
        (may_move & _NAMED.str.contains(_COMBINE), "MoE combine"),
        (may_move & _NAMED.str.contains("sort_chunks"), "MoE dispatch"),
        (may_move & _NAMED.str.contains(_ROUTING), "MoE routing"),
        (may_move & _NAMED.str.contains(_DISPATCH), "MoE dispatch"),
        (is_expert, "MoE experts"),
    )


_LAST_RULES: tuple[_Rule, ...] = (
    (_PRIMITIVE == "recurrence", "recurrence"),
    (
        _LAST.str.contains(_RECURRENT_LAYER) & ~_PRIMITIVE.is_in(["conv", "normalization"]),
        "recurrence",
    ),
    (_PRIMITIVE == "attention", "attention"),
    (_IN_ATTENTION & pl.col("op").str.contains(_ATTENTION_OP), "attention"),
    (_IN_ATTENTION & (_PRIMITIVE == "softmax"), "attention"),
    (
        _NAMED.str.contains(_CACHE) & ~pl.col("op").str.contains(_RECURRENT_OP),
        "attention",
    ),
    (_PRIMITIVE == "gemm", "dense products"),
    (_PRIMITIVE == "conv", "convolutions"),
    (_PRIMITIVE == "normalization", "normalisation"),
    (_LAST.str.contains(r"(?i)norm"), "normalisation"),
    (_PRIMITIVE.is_in(["elementwise", "fused", "layout", "memory", "rng"]), "elementwise"),
    (_PRIMITIVE == "indexing", "indexing"),
    (_PRIMITIVE.is_in(["reduction", "softmax", "loss", "pooling"]), "reductions"),
)


def language_kinds(trace: Trace, rank: int, least: float) -> list[tuple[str, float]]:
    """Return the kinds of a rank's work with their shares of kernel time (0 to 1), largest first.

    The parts of a mixture of experts are one kind, `MoE`. The list is empty if attention,
    recurrence and MoE together are below the share `least` of the computing time.
    """
    duration_ns = pl.col("duration_ns")
    key = ["site_id", "name", "primitive", "is_communication"]
    is_of_rank = pl.col("rank") == rank
    kernels = trace.select("kernels", "rank", *key, "duration_ns").filter(is_of_rank)
    if kernels.is_empty():
        return []
    work = kernels.lazy().group_by(key).agg(duration_ns.sum()).collect()
    sites = trace.select("sites", "rank", "site_id", "op", "phase", "module_path")
    layers = sites.filter(is_of_rank).drop("rank").rename({"module_path": "layer"})
    placed = work.join(layers, on="site_id", how="left", maintain_order="left")
    kind = kinds_of(placed)
    merged_kind = kind.str.extract(r"^(MoE)").fill_null(kind)
    sums = placed.select(duration_ns, kind=merged_kind).group_by("kind").sum()
    shares = dict(sums.select("kind", duration_ns / duration_ns.sum()).iter_rows())
    computed = sum(share for kind, share in shares.items() if kind != "communication")
    of_language = sum(share for kind, share in shares.items() if kind in _OF_LANGUAGE)
    if of_language < least * max(computed, least):
        return []
    return sorted(
        shares.items(),
        key=lambda pair: (-pair[1], pair[0]),
    )
