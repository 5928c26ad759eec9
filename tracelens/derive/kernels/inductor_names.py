"""Classify Inductor's Triton kernels by primitive, from the ops in their names.

A name lists the fused ops, as in `triton_poi_fused_gelu_view_7`. Views and `copy_` are ignored. If
all other ops have one primitive, the kernel has it, too. Otherwise the kernel is `fused`.
"""

_VIEW = (
    "_unsafe_view|view|expand|unsqueeze|squeeze|permute|transpose|t|slice|select|split|split_with_sizes|unbind|alias|"
    "detach|as_strided|reshape|flatten|lift_fresh_copy|_reshape_alias|diagonal|unfold|copy_"
)
_LAYOUT = f"{_VIEW}|clone|_to_copy|copy|cat|stack|constant_pad_nd|convert_element_type|contiguous"
_ELEMENTWISE = (
    "abs|add|addcdiv|addcmul|bitwise_and|bitwise_not|bitwise_or|bitwise_xor|ceil|clamp|clamp_max|clamp_min|cos|div|elu|"
    "eq|erf|exp|floor|fmod|ge|gelu|gelu_backward|gt|hardswish|hardtanh|isinf|isnan|le|leaky_relu|lerp|log|log1p|"
    "logical_and|logical_not|logical_or|lt|masked_fill|maximum|minimum|mul|ne|neg|pow|reciprocal|relu|relu_|remainder|"
    "round|rsqrt|rsub|sigmoid|sigmoid_backward|sign|silu|silu_backward|sin|softplus|sqrt|sub|tanh|tanh_backward|"
    "threshold_backward|where|scalar_tensor"
)
_NORMALIZATION = (
    "_native_batch_norm_legit|_native_batch_norm_legit_functional|_native_batch_norm_legit_no_training|"
    "native_batch_norm|native_batch_norm_backward|native_layer_norm|native_layer_norm_backward|native_group_norm|"
    "native_group_norm_backward|_fused_rms_norm|_fused_rms_norm_backward|rms_norm"
)
_POOLING = (
    "(max|avg)_pool[123]d(_with_indices)?(_backward)?|_low_memory_max_pool[123]?d?_(with_offsets|offsets_to_indices)|"
    "_?adaptive_(avg|max)_pool[123]d(_backward)?"
)
_SOFTMAX = "_?(log_|safe_)?softmax(_backward_data)?|prepare_softmax_online"
_REDUCTION = (
    "sum|mean|amax|amin|max|min|prod|any|all|argmax|argmin|var|var_mean|std|linalg_vector_norm"
)
_LOSS = "nll_loss(2d)?_(forward|backward)|(mse|l1|huber|smooth_l1)_loss|binary_cross_entropy(_with_logits)?"
_RNG = (
    "rand|randn|randint|bernoulli|native_dropout|inductor_random|inductor_randint|inductor_seeds"
    "|inductor_lookup_seed"
)
_INDEXING = (
    "embedding|embedding_dense_backward|gather|index|index_put|index_select|scatter|scatter_add|sort"
    "|topk|cumsum"
)
_SORTS = (
    (_LAYOUT, "layout"),
    (_ELEMENTWISE, "elementwise"),
    (_NORMALIZATION, "normalization"),
    (_POOLING, "pooling"),
    (_SOFTMAX, "softmax"),
    (_REDUCTION, "reduction"),
    (_LOSS, "loss"),
    (_RNG, "rng"),
    (_INDEXING, "indexing"),
)

INDUCTOR_RULES: tuple[tuple[str, str, str], ...] = (
    (
        "head",
        r"^triton_tem_.*flex_(attention|decoding)|^triton_flex_(attention|decoding)",
        "attention",
    ),
    ("head", r"^triton_(tem_.*_)?(mm|addmm|bmm|baddbmm|scaled_mm|grouped_mm)(_|$)", "gemm"),
    ("head", r"^triton_(tem_.*_)?convolution(2d)?(_|$)", "conv"),
    ("head", r"^triton_tem_", "unknown"),
    # A pointwise kernel that names no op is a copy, for example of a weight into another layout.
    ("head", r"^triton_poi_fused(_[0-9]+)?$", "layout"),
    # Every op in the name is one of these or a view.
    *(
        ("head", rf"^triton_[a-z_]+?_fused(_({ops}|{_VIEW}))+(_[0-9]+)?$", primitive)
        for ops, primitive in _SORTS
    ),
    # torch 2.0 named kernels triton__0d1d2d, which says nothing about the operation.
    # A name with a product or convolution is `fused`, too: a library computes the product, and the
    # kernel its bias, layout or padding.
    ("head", r"^triton_[a-z_]+?_fused|^triton__", "fused"),
)
"""Tuples of (column to search, pattern, primitive) for names that begin with `triton_`."""

VIEW_OP = rf"^({_VIEW})$"
"""Pattern for ops that cost nothing within a kernel that has other ops."""
OP_RULES: tuple[tuple[str, str, str], ...] = tuple(
    ("op", rf"^(_foreach_)?({ops})_?$", primitive) for ops, primitive in _SORTS
)
"""Rules for ops whose kernel names do not show the primitive.

A rule is `op`, a pattern for the op's name without namespace, and the primitive.
"""
