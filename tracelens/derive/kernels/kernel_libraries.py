"""The library that a kernel comes from, by its name.

In an ordered table of patterns, the first match wins. The library is the one that wrote the code:
CUTLASS inside cuDNN or cuBLAS counts as theirs. Patterns are Rust regular expressions (no
lookaround, linear in the text), searched in `head`, the qualified name without return type,
template arguments and parameters, or in `text`, the name's start with them.
"""

LIBRARY_RULES: tuple[tuple[str, str, str], ...] = (
    # RCCL kept NCCL's names; only its unrolled generic kernels tell.
    ("head", r"^rccl|^ncclDevKernel(Debug)?_Generic_[0-9]", "rccl"),
    ("head", r"^nccl", "nccl"),
    # Triton: Inductor's prefix, or the signature that Triton 2 appended to names
    # (matmul_kernel_0d1d2d3de).
    ("head", r"^triton_|_0(de?|c)1[0-9cde]*$", "triton"),
    # PyTorch, before cuDNN: at::cuda::philox::unpack_cudnn is its own.
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
    # cuBLAS: its own generators' names, and CUTLASS instances named cutlass_<cc>_..., which only it
    # ships.
    (
        "head",
        r"cublas|^nvjet_|^gemv[2N]|^gemv[a-zA-Z]*SP|^internal::gemvx|^gemmk1_|^gemmSN_|^gemm_kernel",
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
    # AMD. Tensile writes Cijk_ for rocBLAS and hipBLASLt alike; CK inside MIOpen keeps its own
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
    # FlashAttention, also inside PyTorch (pytorch_flash) and as FA3's functor in CUTLASS's entry
    # point.
    ("head", r"^(pytorch_)?flash(_attn)?::|^flash_(fwd|bwd)|^FlashAttn", "flash_attention"),
    ("text", r"^cutlass::device_kernel<\(?(flash::|[a-z0-9_:]*<?flash::)", "flash_attention"),
    # Thrust is built on CUB and ships with it; PyTorch wraps CUB in at_cuda_detail.
    ("head", r"^(at_cuda_detail::)?(cub|thrust)(::|[0-9_])", "cub"),
    # xFormers' memory-efficient attention is compiled into PyTorch under this parameter type.
    ("text", r"^fmha_cutlass[FB][a-z0-9_]*\(PyTorchMemEffAttention", "aten"),
    ("text", r"^cutlass::device_kernel<\(?at::", "aten"),
    ("head", r"^cutlass|^cute::", "cutlass"),
    # A flat name with a leading underscore is a Python function: CUDA C++ names carry parameters.
    ("text", r"^_[a-z][a-z0-9_]*$", "triton"),
)
"""(where to look, pattern, library); a name that nothing matches is `other`."""
