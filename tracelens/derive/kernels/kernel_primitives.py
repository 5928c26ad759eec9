"""List rules for the primitive that a kernel computes, by its name and by the launching op.

The first matching rule wins. A rule searches one of three parts of the name:

- `head`: the qualified name, without return type, template arguments and parameters
- `text`: the start of the whole name
- `functor`: the template arguments of ATen's generic kernels

Primitives of kernels that could also be counted otherwise:

- layout: copies, casts, im2col, concatenation, padding
- memory: fills
- elementwise: `where`, masked scaling, `_foreach_` arithmetic
- indexing: sampling of a token, interpolation
- gemm: the reduction of a split-K product
- recurrence: chunked kernels of state space models and linear attention, such as their matrix
  products
- optimizer: a fused optimizer step
"""

from tracelens.derive.kernels.inductor_names import INDUCTOR_RULES

GENERIC_HEAD = (
    r"(^|::)((vectorized_|unrolled_|legacy_)?elementwise_kernel(_manual_unroll|_with_index)?"
    r"|reduce_kernel|multi_tensor_apply_kernel|vectorized_templated_elementwise_kernel|kernelPointwiseApply[0-9])$"
)
"""Pattern for the names of ATen's and Apex's kernels that run any functor.

It matches the head, the name without template arguments and parameters.
"""

FUNCTOR_RULES: tuple[tuple[str, str, str], ...] = (
    ("functor", r"Fused(Adam|AdamW|Sgd|SGD|Adagrad)[A-Za-z]*Functor", "optimizer"),
    ("functor", r"(^|[ <:])(Adam|SGD|Adagrad|LAMB)[A-Za-z0-9]*Functor", "optimizer"),
    ("head", r"reduce_kernel$", "reduction"),
    ("functor", r"(^|[ <:])(LpNorm|L2Norm|LpMax|MaxNorm)[A-Za-z]*Functor", "reduction"),
    (
        "functor",
        r"copy_kernel|(^|[ <:])Copy<|CopyFunctor|copy_device_to_device|copy_impl",
        "layout",
    ),
    ("functor", r"FillFunctor|fill_kernel|(^|[ <:])ZeroFunctor", "memory"),
    ("functor", r"(mse|smooth_l1|huber|kl_div|poisson_nll)(_backward)?(_cuda)?_kernel", "loss"),
    ("functor", r"l1_loss|binary_cross_entropy", "loss"),
    (
        "functor",
        r"batch_norm_|(GroupNorm|LayerNorm|group_norm|layer_norm)[A-Za-z_]*",
        "normalization",
    ),
    ("functor", r"uniform_and_transform|normal_and_transform|bernoulli_", "rng"),
    (
        "functor",
        r"(^|[ <:])(gpu_)?(index|take|put|gather|scatter|flip|roll)[a-z_]*_kernel",
        "indexing",
    ),
    ("head", r"", "elementwise"),
)
"""Rules for names whose head matches GENERIC_HEAD.

In other names, a pattern such as `lamb` could match a part of a lambda's type.
"""

_ATTENTION = (
    r"[fF]lash_?([aA]ttn|[aA]ttention|fwd|bwd)|^(pytorch_)?flash(_attn)?::|fmha|Fmha|FMHA|native_sdpa|_sdpa_"
    r"|(^|_)attn_(fwd|bwd)|paged_attention|unified_attention|sage_fwd|(^|_)mla_|AttentionKernel|_attention_kernel"
    r"|compute_dot_do_o|[mM]ulti_?head_?[aA]ttention|^kernel_mha|^aiter::(mla|pa)_"
    r"|gemm_softmax_gemm|[bB]atchMLA|::mla::|[nN]eighborhood|^_?bwd_(kernel_d[kq]|preprocess)"
    r"|mqa_logits"
    r"|(Batch|Single)(Prefill|Decode)With|PrefillWithKVCache|(^|_)xqa|qk_int_sv_[a-z0-9_]*attn_kernel|[mM]erge_?(attn_)?[sS]tates?"
    r"|^_fwd_(grouped_)?kernel_stage[12]|^reduce_segments$|^_fwd_kernel_splitK$|^_splitK_reduce$"
    r"|^parallel_(nsa|path|deltaformer|stickbreaking|wall_attn)_"
)
_RECURRENCE = (
    r"delta_rule|gated_delta|(^|_)gdn_decode|selective_(scan|state_update)|(^|_)mamba[0-9]?_|_state_passing_|_chunk_state_"
    r"|^_bmm_chunk_|(^|_)chunk(wise)?_([a-zA-Z0-9_]+_)?(fwd|bwd)(_|$)|^merge_16x16_to_|^solve_tril_"
    r"|(^|_)chunk_(local|global)_cumsum|^fused_(recurrent|chunk)_|^recompute_w_u_|rwkv"
    r"|^prepare_(precond_)?wy_repr_|linear_attn|lightning_attention|^_fwd_(none_)?diag_kernel"
    r"|^_fwd_kv_(parallel|reduce)|^parallel_((re)?based|simple_gla|delta_rule|retention)_"
)
"""Pattern for kernels of mamba, flash-linear-attention and lightning attention, as of 2026."""
_CONV = (
    r"winograd|Winograd|s?cudnn_[a-z0-9_]*(fprop|dgrad|wgrad|interior|128x|small|medium|large)|_[sh]cudnn_"
    r"|(^|_)convolve_|kern_precompute_indices|implicit_gemm|ImplicitGemm|(fprop|dgrad|wgrad)(_|[0-9])"
    r"|conv(olution)?_?depthwise|DepthwiseConv|[dD]epthwise_?[cC]onv|grouped_conv|(^|_)conv[123]d|(^|_)conv_(fwd|bwd)"
    r"|^igemm_(fwd|bwd|wrw)_|gridwise_convolution|naive_conv|[sS]p3AsmConv|MIOpenConv|gcnAsmConv|causal_conv1d"
    r"|^fft[12]d_|pointwise_mult_and_sum_complex|_gcgemm|computeOffsetsKernel|calc_bias_diff"
)
_GEMM = (
    r"^(Custom_)?Cijk_|(^|_)trsm_|^nvjet_|gemv|gemm(_|k1|SN|$)|[a-z0-9]gemm|^gemm|Gemm|[sS]plitK_?[rR]educe|ReduceSplitK|^dot_kernel"
    r"|reduce_1Block|wvSplitK|(^|_)mul_mat|(^|_)matmul|(^|_)[bB]mm_|(^|_)mm_kernel|(^|_)fused_moe_(kernel|gemm)|^aiter::fmoe_"
    r"|(^|::)Marlin$|scaled_mm(_|$)|flatmm|^_fused_(up|down)_proj_|^_moe_bwd_d(W|X|own)"
)

# The head of these names is an entry point that runs any kernel. Patterns match the characters
# after it by `[ -~]`, because `.`, which matches all of Unicode, takes eight times as long to
# compile.
_EMBEDDED = r"^(_ZN[0-9]+(cutlass|ck(_tile)?[0-9])|ck(_tile)?::)"

_CK_TILE = (
    r"^(ck_tile::kentry<(ck_tile::kernel_attr<[a-z]+>, )?([0-9]+, )*[a-z_]+::"
    r"|_ZN7ck_tile6kentryI(NS_11kernel_attrILb[01]EEE)?(L[ij][0-9]+E)*(NS_|N5aiter)?[0-9]+)[A-Za-z]*"
)
"""Pattern for CK Tile's entry point and the first letters of the class that it runs."""

_CK_TILE_RULES = tuple(
    ("text", _CK_TILE + words, primitive)
    for words, primitive in (
        (r"(Fmha|Attention)", "attention"),
        (r"(Rms|Layer)norm", "normalization"),
        (r"(Transpose|Permute|ImageToColumn)", "layout"),
        (r"Sorting", "indexing"),
        (r"Softmax", "softmax"),
        (r"(Flatm|Gem)m", "gemm"),
        (r"([sS]moothquant|Element[wW]ise)", "elementwise"),
        (r"Reduce", "reduction"),
        (r"Pool", "pooling"),
    )
)

NAME_RULES: tuple[tuple[str, str, str], ...] = (
    # A graph replay that the profiler recorded as a whole.
    ("text", r"^CUDA graph( [0-9]+)?$", "fused"),
    ("head", r"^(nccl|rccl|hccl|cncl|oneccl)|nvshmem", "communication"),
    ("head", r"multimem_|(one|two)_shot_all_reduce|cross_device_reduce", "communication"),
    ("head", r"[aA]ll_?[rR]educe", "communication"),
    (
        "head",
        r"[rR]educe_?[sS]catter|[aA]ll_?[gG]ather|[aA]ll_?[tT]o_?[aA]ll|^deep_ep::",
        "communication",
    ),
    (
        "head",
        r"::ep::(inter|intra)node|lamport|(^|_)a2a_|A2A|^barrier_all|symmetric_memory::",
        "communication",
    ),
    *INDUCTOR_RULES,
    # TorchScript's fuser lists the ops that it joined: fused_batch_norm_add.
    ("head", r"^fused(_batch_norm)+(_(add|sub|mul|relu|clamp|hardtanh))+(_[0-9]+)?$", "fused"),
    (
        "head",
        r"^(Memcpy|Memset|memset|dma(_|:|$)|__amd_rocclr_fill|hipMemset)|init_device_workspace",
        "memory",
    ),
    (
        "head",
        r"nchwToNhwc|nhwcToNchw|nchwToFolded|nhwcToFolded|foldedNhwc|[aA]ddPadding|convertTensor",
        "layout",
    ),
    ("head", r"tensorTransform", "layout"),
    (
        "head",
        r"[tT]ranspose|permutationKernel|convert_dq|[iI]m[23]?d?2[cC]ol|[cC]ol2[iI]m|flip_filter",
        "layout",
    ),
    ("head", r"__amd_rocclr_copy|(^|:)cast_(fp8|mxfp8|nvfp4)_", "layout"),
    *_CK_TILE_RULES,
    # Writers and readers of a cache of latent attention, which compute no attention.
    ("head", r"concat_and_cache|set_mla_kv_buffer", "indexing"),
    ("head", r"(^|_)concat_mla_", "layout"),
    ("head", _RECURRENCE, "recurrence"),
    ("head", _ATTENTION, "attention"),
    (
        "text",
        r"^cutlass[a-z0-9_]*::(device_kernel|Kernel2?)<[ -~]{0,200}([fF]lash|[fF]mha|FMHA)",
        "attention",
    ),
    ("text", _EMBEDDED + r"[ -~]{0,300}[fF]mha", "attention"),
    (
        "head",
        r"scalePackedTensor|op_(generic_)?tensor_kernel|SubTensorOp|^Op[0-9A-Z]?[0-9a-z]*Tensor",
        "elementwise",
    ),
    ("head", r"epilogue::impl|^scal_kernel|^elemWiseRNNcell", "elementwise"),
    # A whole recurrent layer: products of the hidden state, with the gates between them.
    ("head", r"^RNN_blockPersist|^persistRNN", "gemm"),
    ("head", r"^cudnn::detail::bn_", "normalization"),
    ("head", r"^cudnn::detail::pooling_", "pooling"),
    ("head", r"^cudnn::detail::softmax_", "softmax"),
    ("head", r"^cudnn::detail::activation_", "elementwise"),
    ("head", r"^cudnn::(cnn|detail)::|conv_depthwise", "conv"),
    ("head", _CONV, "conv"),
    (
        "text",
        r"^cutlass[a-z0-9_]*::(device_kernel|Kernel2?)<[ -~]{0,300}(fprop|dgrad|wgrad|conv::|ConvUniversal)",
        "conv",
    ),
    ("text", _EMBEDDED + r"[ -~]{0,300}(ImplicitGemm|[cC]onv(olution)?[0-9A-Z_])", "conv"),
    (
        "head",
        r"(^|_|:)bn_(fw|bw)_|[bB]atch_?[nN]orm|[lL]ayer_?[nN]orm|[gG]roup_?[nN]orm|(^|:)ln_(fwd|bwd)_",
        "normalization",
    ),
    (
        "head",
        r"[rR][mM][sS]_?[nN]orm|[lL]2_?[nN]orm|(qk_?n|QK_?N)orm|kernel_normalization",
        "normalization",
    ),
    # Part of a mixture of experts: rows sorted by expert, and each token's sum over its experts.
    ("head", r"moe(::[a-z]+)*::finalizeKernel|finalizeMoeRouting", "reduction"),
    ("head", r"moe(::[a-z]+)*::permuteKernel|expandInputRows|ExpertPrefixSum", "indexing"),
    ("head", r"moe(::[a-z]+)*::convertSfKernel", "layout"),
    (
        "head",
        r"RowwiseMoments|ComputeFusedParams|Compute1dBackwardFused|ComputeInternalGradients",
        "normalization",
    ),
    ("head", r"GammaBeta|ComputeBackwardFusedParams", "normalization"),
    ("head", r"([mM]ax|[aA]vg|[aA]verage)_?[pP]ool|pooling_(fw|bw)|mloPool", "pooling"),
    ("head", r"[sS]oft_?[mM]ax|logsumexp", "softmax"),
    (
        "head",
        r"nll_loss|[cC]ross_?[eE]ntropy|ClassNLL|ctc_loss|multi_?[mM]argin|(grpo|ppo)_loss",
        "loss",
    ),
    ("head", r"(^|_)(jsd|kl_?div|tv_distance)_", "loss"),
    (
        "head",
        r"(^|_|:)(fused_)?(adamw?|sgd|lamb|adagrad)(_|$)|rowwise_adagrad|^kOptimizer",
        "optimizer",
    ),
    ("head", r"split_embedding_[a-z_]*backward", "optimizer"),
    ("head", r"[sS]peculative_?[sS]ampling|SamplingFrom(Prob|Logits)", "indexing"),
    ("head", r"^rejection_(greedy|random)_sample|^sample_recovered_tokens", "indexing"),
    (
        "head",
        r"[dD]ropout|philox|curand|rand(perm|om|int)|distribution_(elementwise|nullary)|bernoulli",
        "rng",
    ),
    ("head", r"(^|_)(moe_)?lora_(shrink|expand|[ab]|kernel)(_|$)|[bs]gmv_", "gemm"),
    # Activations with quantised outputs for DeepGEMM, and rearranged weights for Marlin.
    ("head", r"(silu|gelu|swiglu)_.*quant", "elementwise"),
    ("head", r"marlin_repack|permute_cols", "layout"),
    # The name of FBGEMM's namespace contains `gemm`.
    (
        "head",
        r"^fbgemm_gpu::[ -~]*(embedding|permute|jagged|segment|bounds_check|linearize|cache)",
        "indexing",
    ),
    ("head", r"^fbgemm_gpu::[ -~]*quantize", "elementwise"),
    ("head", _GEMM, "gemm"),
    (
        "text",
        r"^cutlass[a-z0-9_]*::(device_kernel|Kernel2?)<[ -~]{0,300}([gG]emm|ReduceSplitK|Machete)",
        "gemm",
    ),
    ("text", _EMBEDDED + r"[ -~]{0,300}[gG]emm", "gemm"),
    ("text", r"^[a-zA-Z_:]*kernel[a-z0-9_]*<[ -~]{0,100}cublas(Dot|Gemv|Gemm)", "gemm"),
    ("head", r"[rR]otary|(^|_)m?rope(_|$)|RopeQuantize|parallel_for|for_each", "elementwise"),
    ("head", r"Device(Segmented)?Reduce|cuda_cub::[a-z_]*reduce::", "reduction"),
    ("head", r"^(at_cuda_detail::)?(cub|thrust)(::|[0-9_])|^rocprim::|^hipcub::", "indexing"),
    (
        "head",
        r"[iI]nd(ex|ices)(_|[A-Z]|$)|req_to_token|[gG]ather|[sS]catter|[sS]ort(_|[A-Z]|$)|[tT]op_?[kK]|[nN]on_?[zZ]ero",
        "indexing",
    ),
    ("head", r"unique|[eE]mbedding|(^|_|:)emb_", "indexing"),
    (
        "head",
        r"[cC]um(sum|prod)|(^|_)[sS]can(_|$|[A-Z])|bucketize|searchsorted|roll_cuda|flip_kernel",
        "indexing",
    ),
    ("head", r"triu|tril|compute_grad_weight", "indexing"),
    ("head", r"_reduction$|Renorm(Prob)?Kernel", "reduction"),
    (
        "head",
        r"compute_num_of_partial|krn_partial|segment|jagged|bounds_check|linearize",
        "indexing",
    ),
    (
        "head",
        r"reshape_and_cache|[kK][vV]_?[cC]ache|moe_align|routing|[hH]istogram|^compute_cuda_kernel",
        "indexing",
    ),
    # Dispatch to experts and combine, draft trees in speculative decoding, slots of a cache.
    (
        "head",
        r"^_(un)?permute_kernel$|_reorder_|src2dst|row_id_map|([vV]erify|build)_?[tT]ree",
        "indexing",
    ),
    ("head", r"^(eagle|assign|alloc)_|get_num_kv_splits|align_evict_mask", "indexing"),
    ("head", r"[uU]psample|grid_sampl|interpolate", "indexing"),
    (
        "head",
        r"CatArray|[cC]opy(_|[A-Z]|$)|(^|_)pad(_|$|ding)|chunk_cat|split_with_sizes|(^|_)pack_",
        "layout",
    ),
    ("head", r"reflection_pad|(^|_)cast(_|$)", "layout"),
    (
        "head",
        r"[rR]educe(_|[A-Z]|$)|[rR]eduction|lpnorm|(^|_)(amax|amin|argmax|argmin|sum|mean)(_|$)",
        "reduction",
    ),
    ("head", r"(^|_)(fill|memset|zero)(_|$)", "memory"),
    ("head", r"element[wW]ise|[pP]ointwise|[aA]ctivation(DeepSeek)?Kernel", "elementwise"),
    ("head", r"penalties|(^|_)gating(_|$)|^aiter::kn_entry_[12]c_", "elementwise"),
    (
        "head",
        r"(^|_)(bias|relu|gelu|silu|swiglu|geglu|sigmoid|tanh|activation|add|mul)(_|$)",
        "elementwise",
    ),
    ("head", r"act_and_mul|gated_act_kernel", "elementwise"),
    (
        "head",
        r"([sS]i|[gG]e|[rR]e)[lL][uU]|(^|[_:])(de)?quant|per_token_quant|scaled_fp8_quant",
        "elementwise",
    ),
    ("head", r"k(Deq|Q)uantize|reconstruct_exllama|(^|_|:)cvt_fp16_to_fp4", "elementwise"),
    (
        "head",
        r"amax_and_scale_update|unary_kernel|_dyt_|_gate_(fwd|bwd)|swish|glu_fwd|^token_shift",
        "elementwise",
    ),
    ("head", r"_split_reshape_cat", "layout"),
)
"""Tuples of (column to search, pattern, primitive).

A name without a match is `unknown`.
"""

RECURRENT_OPS = (
    r"^(qwen_)?gdn_|^(kda|linear)_attention|(^|_)mamba|Mamba|[dD]elta_?[rR]ule|ChunkScan"
    r"|[sS]elective_?[sS]can|^(Chunk|FusedRecurrent|FusedChunk)[A-Za-z0-9]*Function"
    r"|^ParallelSimpleGLA"
)
"""Pattern for ops of servers, and for autograd functions, that compute a recurrence."""

CONTEXT_RULES: tuple[tuple[str, str, str], ...] = (
    ("op", RECURRENT_OPS, "recurrence"),
    (
        "op",
        r"attention(_|$)|scaled_dot_product|^FlashAttn|^ScaledDotProduct|^flash_attn",
        "attention",
    ),
    (
        "op",
        r"(^|_)conv(olution)?([123]d)?(_|$)|^(Cudnn|Miopen|Slow|Thnn)?Conv(olution|[123]D|Depthwise)",
        "conv",
    ),
    ("op", r"^_?(fused_)?(adamw?|sgd|adagrad)_?$|^_fused_(adamw?|sgd|adagrad)", "optimizer"),
    (
        "op",
        r"(batch|layer|group|instance|rms)_norm(_|$)|(Batch|Layer|Group|RMS)Norm([^LM]|$)",
        "normalization",  # except LayerNormLinear and LayerNormMLP, which are mostly products
    ),
    ("op", r"pool[123]d(_|$)|(Max|Avg)Pool", "pooling"),
    ("op", r"(^|_)softmax(_|$)|SoftmaxBackward", "softmax"),
    ("op", r"_loss([123]d|_nd)?(_|$)|cross_entropy|NllLoss|(^|_)kl_div(_|$)", "loss"),
    ("op", r"^_?(add|b|addb|badd|int|scaled|scaled_grouped|grouped|sparse)*(mm|mv)_?$", "gemm"),
    ("op", r"^(_addmm_activation|baddbmm_?|matmul|linear|v?dot)$", "gemm"),
    ("op", r"_(int[48]pack|scaled|grouped|int|sparse_semi_structured)_(add)?mm", "gemm"),
    ("op", r"^(Mm|Addmm|Bmm|Baddbmm)Backward", "gemm"),
    (
        "op",
        r"^_?(embedding|index|gather|scatter|sort|argsort|topk|cumsum|nonzero|unique)(_|$)",
        "indexing",
    ),
    (
        "op",
        r"^record_param_comms$|^(all_?reduce|broadcast|reduce_scatter|all_?gather|all_?to_?all)",
        "communication",
    ),
    ("op", r"^(native_dropout|bernoulli|uniform|normal|random|exponential|multinomial)_?$", "rng"),
    ("op", r"^(rand|randn|randint|randperm)$", "rng"),
)
"""Tuples of (`op`, pattern for the op's name without namespace, the op's primitive)."""

ALLOCATING = (
    (
        "op",
        r"^(new_)?(empty|zeros|ones|full)(_like|_strided)?$|^(empty_|zero_|fill_|resize_)",
        "memory",
    ),
)
"""Rules for ops that allocate or fill memory.

They classify the ops themselves, but not the kernels that these ops launch.
"""

CONTEXT_DECIDES: dict[str, tuple[str, ...]] = {
    "recurrence": (),
    "attention": ("gemm", "conv", "softmax"),
    "conv": ("gemm",),
    "gemm": ("conv",),
    "normalization": ("elementwise", "reduction"),
    "softmax": ("elementwise", "reduction"),
    "pooling": ("elementwise", "reduction"),
    "loss": ("elementwise", "reduction"),
    "optimizer": ("elementwise", "reduction"),
}
"""Rules for kernels whose op and name show different primitives.

A key is the op's primitive. If a kernel's name shows one of the values, or nothing (`unknown`), the
kernel gets the op's primitive. Otherwise, it keeps the primitive that its name shows.
"""
