"""Write the op families' signatures: python -m tools.op_signatures.

They are derived from torch's registry. The written file is part of the project, so that analyses do
not need torch.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tracelens.derive.kernels.op_families import FAMILIES

WRITTEN = Path(__file__).resolve().parents[1] / "tracelens/derive/kernels/op_signatures.json"
_BY_NAME = {
    "dim": "d",
    "dims": "d",
    "axis": "d",
    "kernel_size": "k",
    "stride": "s",
    "padding": "p",
    "dilation": "a",
    "ceil_mode": "c",
    "output_size": "O",
    "input_size": "I",
    "input_sizes": "I",
    "normalized_shape": "z",
    "dtype": "y",
    "output_mask": "x",
    "reduction": "r",
    "scale_factors": "f",
    "k": "q",
    "num_weights": "N",
    "group": "g",
    "bidirectional": "B",
    "last_dim_size": "u",
}
_PATTERNS = {
    "fill": (
        "fill_? zero_ uniform_ normal_ bernoulli_ random_ exponential_ geometric_ cauchy_"
        " log_normal_ arange range linspace eye randperm _foreach_zero_"
    ),
    "copy": "copy_? clone _to_copy _foreach_copy_? _copy_from _lazy_clone",
    "rearranged": (
        "flip roll rot90 tril_? triu_? (arg)?sort pixel_(un)?shuffle channel_shuffle renorm_?"
    ),
    "scan": "cum(sum|prod)_? _?cum(max|min)(_helper)? _?logcumsumexp",
    "softmax": "_?(log_|safe_|masked_)?softmax(_backward(_data)?)?",
    "normalisation": (
        r"native_(layer|batch|group)_norm (cudnn|miopen)_batch_norm _native_batch_norm_legit\w*"
        r" _batch_norm_(with|no)_update\w* _fused_rms_norm batch_norm_elemt"
    ),
    "normalisation_backward": (
        "native_(layer|batch|group)_norm_backward (cudnn_|miopen_)?batch_norm_backward"
        " _fused_rms_norm_backward"
    ),
    "embedding": "embedding",
    "embedding_backward": "embedding_dense_backward _embedding_bag_dense_backward",
    "gather": "gather index_select",
    "indexed": "index _unsafe_index",
    "scatter": (
        "scatter(_add|_reduce)?_? index_(add|copy|fill|put|reduce)_? _?index_put_impl_?"
        " _unsafe_index_put put_?"
    ),
    "joined": "_?cat _?stack _chunk_cat",
    "pooling": (
        r"(avg|max)_pool[123]d(_with_indices)? _?adaptive_(avg|max)_pool[123]d"
        r" _?upsample_\w+(?<!backward)"
    ),
    "pooling_backward": (
        r"(avg|max)_pool[123]d(_with_indices)?_backward _?adaptive_(avg|max)_pool[123]d_backward"
        r" _?upsample_\w+_backward (select|slice|diagonal|unfold)_backward"
        r" (reflection|replication)_pad[123]d_backward"
    ),
    "dropout": "native_dropout _fused_dropout",
    "elementwise": (
        "(mse|l1|huber|smooth_l1|soft_margin)_loss(_backward)? _masked_scale _add_relu_? complex"
        " binary_cross_entropy(_with_logits|_backward)? _prelu_kernel(_backward)? polar bucketize"
        " log_sigmoid_(forward|backward) searchsorted isin floor_divide_? hardswish_?"
        " (elu|leaky_relu|soft(plus|shrink)|hard(tanh|sigmoid|swish|shrink))_backward"
    ),
    "picked": "nll_loss(2d)?_forward",
    "picked_backward": "nll_loss(2d)?_backward",
    "best": "topk",
    "padded": "(reflection|replication)_pad[123]d",
    "sampled": "grid_sampler_[23]d cudnn_grid_sampler",
    "bags": "_embedding_bag(_forward_only)?",
    "halved": "glu",
    "halved_backward": "glu_backward",
    "product_of_groups": "_grouped_mm",
    "reduction": (
        "(nan)?median mode kthvalue trace _is_all_true _is_any_true _foreach_norm _foreach_max"
    ),
    "read_only": (
        "nonzero masked_select histc bincount _unique2? unique_dim unique_consecutive multinomial"
        " _amp_foreach_non_finite_check_and_unscale_ take repeat_interleave"
    ),
    "optimizer": "_fused_(adam|adamw|sgd|adagrad)_",
    "rnn": "_cudnn_rnn miopen_rnn",
    "rnn_backward": "(_cudnn|miopen)_rnn_backward",
    "lstm_cell": "_thnn_fused_lstm_cell",
    "gru_cell": "_thnn_fused_gru_cell",
    "lstm_cell_backward": "_thnn_fused_lstm_cell_backward_impl",
    "gru_cell_backward": "_thnn_fused_gru_cell_backward",
    "fourier": "_fft_(r2c|c2r|c2c)",
}
"""Patterns of the names of ops by family. The first matching pattern counts.

They are for ops without a tag of torch that shows the family.
"""
_COMPOSITE = "CompositeImplicitAutograd"
"""The dispatch key of ops that are composed of other ops and run no kernel themselves."""
_TRUTHS = re.compile(r"(_foreach_)?(eq|ne|lt|le|gt|ge|logical_\w+|is\w+|all|any|signbit)(_out)?")
_INDICES = re.compile(r"arg(max|min|sort)|searchsorted|bucketize|count_nonzero|nonzero")


def family_of(
    op: str,
    tags: set[str],
    known: dict[str, str],
) -> str | None:
    """Return the family of an op, None if no rule applies."""
    if (family := _by_name(op)) is not None:
        return family
    if "pointwise" in tags:
        return "elementwise"
    if "reduction" in tags:
        return "reduction"
    base = op.removeprefix("_foreach_").removesuffix("_")
    if base != op and (op.startswith("_foreach_") or op.endswith("_")):
        return known.get(base)
    return None


def _by_name(op: str) -> str | None:
    fitting = (
        family
        for family, patterns in _PATTERNS.items()
        if re.fullmatch(patterns.replace(" ", "|"), op)
    )
    return next(fitting, None)


def signature(schema: Any, op: str, family: str) -> str:
    """Return the signature of an overload, with one letter per argument and result."""
    arguments = "".join(_role(argument) for argument in schema.arguments)
    if family.startswith("rnn"):
        arguments = arguments.replace("l", "W")
    if any(role in arguments for role in "wm"):
        return f"{arguments}>"
    results = [_result(result, op) for result in schema.returns]
    if family == "normalisation":
        results[1:] = ["f"] * len(results[1:])
    elif family == "dropout":
        results[1:] = ["b"] * len(results[1:])
    elif family == "pooling":
        results[1:] = ["i"] * len(results[1:])
    return f"{arguments}>{''.join(results)}"


def _role(argument: Any) -> str:
    kind = str(argument.type)
    is_written = argument.alias_info is not None and argument.alias_info.is_write
    if "Tensor" not in kind:
        return _BY_NAME.get(argument.name, ".")
    if "List" in kind:
        return "l" if not is_written else "n" if argument.is_out else "m"
    return "t" if not is_written else "o" if argument.is_out else "w"


def _result(result: Any, op: str) -> str:
    if "Tensor" not in str(result.type):
        return ""
    if result.name == "indices" or _INDICES.fullmatch(op):
        return "i"
    return "b" if _TRUTHS.fullmatch(op) else "t"


def registry() -> dict[str, list[str]]:
    """Return family and signatures of the ops in torch's registry that have kernels."""
    import torch  # noqa: PLC0415 - only this tool needs it

    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    schemas: dict[str, list[tuple[Any, set[str]]]] = {}
    overload: Any
    for schema in torch._C._jit_get_all_schemas():  # the only list of all
        namespace, _, op = schema.name.partition("::")
        packet = getattr(torch.ops.aten, op, None) if namespace == "aten" else None
        overload = getattr(packet, schema.overload_name or "default", None)
        try:
            name = str(overload.name())
            is_composite = has_kernel(name, _COMPOSITE) and not has_kernel(name, "CPU")
        except (AttributeError, RuntimeError):
            continue  # only in TorchScript
        is_view = any(r.alias_info and not r.alias_info.is_write for r in schema.returns)
        # A composite op that a pattern names has a kernel on GPUs, as _fused_rms_norm.
        if not is_view and (not is_composite or _by_name(op) is not None):
            tags = {str(tag).rpartition(".")[2] for tag in overload.tags}
            schemas.setdefault(op, []).append((schema, tags))
    families: dict[str, str] = {}
    for op in sorted(
        schemas,
        key=lambda name: (name.startswith("_foreach_"), len(name), name),
    ):
        tags = set().union(*(tags for _, tags in schemas[op]))
        if (family := family_of(op, tags, families)) is not None:
            families[op] = family
    return {
        f"aten::{op}": [
            family,
            *sorted({signature(schema, op, family) for schema, _ in schemas[op]}),
        ]
        for op, family in sorted(families.items())
    }


def main() -> int:
    """Write the file of signatures."""
    import torch  # noqa: PLC0415 - only this tool needs it

    ops = registry()
    unknown = {row[0] for row in ops.values()} - set(FAMILIES)
    if unknown:
        print(f"no formula for {', '.join(sorted(unknown))}")
        return 1
    version = json.dumps(torch.__version__.partition("+")[0])
    rows = ",\n".join(f"{json.dumps(op)}: {json.dumps(row)}" for op, row in ops.items())
    WRITTEN.write_text(f'{{"torch": {version}, "ops": {{\n{rows}\n}}}}\n', encoding="utf-8")
    print(f"{len(ops)} ops")
    return 0


if __name__ == "__main__":
    sys.exit(main())
