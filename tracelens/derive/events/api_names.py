"""Classify functions of CUDA, HIP, Level Zero and MTIA by name, without the version in the name."""

import polars as pl

_KINDS = (
    # A host function is not a kernel. cudaLaunch and cuLaunchGrid are the spellings of CUDA 6.
    (
        "kernel_launch",
        r"^(cuda|cu|hip)\w*Launch(Cooperative|Multi)?Kernel|^cu(da)?Launch$|^cuLaunchGrid|^hipLaunchByPtr",
    ),
    ("graph_launch", r"^(cuda|cu|hip)Graph(Exec)?Launch"),
    ("memcpy", r"^(cuda|cu|hip)(Drv)?Memcpy"),
    ("memset", r"^(cuda|cu|hip)(Drv)?Memset"),
    # Waits of the host, and of a stream for another (StreamWaitEvent). Both are rows of
    # `synchronizations`.
    (
        "sync",
        r"^(cuda|cu|hip)(Device|Stream|Event|Ctx|Context|Thread)Synchronize|^(cuda|cu|hip)StreamWait",
    ),
    # Allocation, release, registration and mapping of memory, and questions about it.
    (
        "memory",
        r"^(cuda|cu|hip)(Ext)?(Mem|Malloc|Free|Host(Alloc|Malloc|Free|Register|Unregister)|(Mipmapped)?Array(Create|Destroy|3DCreate))",
    ),
    # Intel's Unified Runtime, its predecessor (pi) and Level Zero; then MTIA's runtime.
    (
        "kernel_launch",
        r"^(ur|pi)Enqueue\w*KernelLaunch|^zeCommandList\w*Launch(Cooperative)?Kernel|^runFunction",
    ),
    ("memcpy", r"^(ur|pi)(ext)?Enqueue\w*(Memcpy|Copy)|^zeCommandListAppendMemoryCopy"),
    ("memset", r"^(ur|pi)(ext)?Enqueue\w*(Memset|Fill)|^zeCommandListAppendMemoryFill"),
    ("sync", r"^(ur|pi)(QueueFinish|EventWait|EventsWait)|^ze\w+Synchronize"),
    ("memory", r"^(ur|pi)(ext)?USM\w*(Alloc|Free)|^zeMem(Alloc|Free)"),
)
WAITS_FOR_DEVICE = (
    r"^(cuda|cu|hip)(Device|Stream|Event|Ctx|Context|Thread)Synchronize"
    r"|^(cuda|cu|hip)Memcpy(\dD|[HDA]to[HDA]|With|ToSymbol|FromSymbol|Peer|ToArray|FromArray)*"
    r"(Stream|Array)?(_v\d+)?(_pt(ds|sz))?$"
    r"|^(ur|pi)(QueueFinish|EventWait|EventsWait)|^ze\w+Synchronize"
)
"""Pattern of functions that return only when device work is done.

They are synchronisations, and copies that are not asynchronous.
"""


def strip_version(raw: pl.Expr) -> pl.Expr:
    """Return the function name without the suffix `_v` and four digits, which nsys adds."""
    # cudaLaunchKernel_v7000 loses the suffix. Names with other versions keep it, such as
    # cudaLaunchKernelExC_v11060 and cuMemAlloc_v2.
    return raw.str.replace(r"_v\d{4}$", "")


def api_kind(api: pl.Expr) -> pl.Expr:
    """Return the kind of a runtime or driver function, a value of `api_calls.kind`.

    The kind is `unknown` without a name.
    """
    known = (pl.when(api.str.contains(pattern)).then(pl.lit(kind)) for kind, pattern in _KINDS)
    return (
        pl.when(api.is_null())
        .then(pl.lit("unknown"))
        .otherwise(pl.coalesce(*known, pl.lit("other")))
    )
