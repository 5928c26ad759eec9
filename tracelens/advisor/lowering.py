"""Implement the functions of the library description in torch.

Each accepts tensors in any layout, and does not convert them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tracelens.advisor.plan import load_torch
from tracelens.derive.calls.op_catalog import ATTENTION

Lowering: TypeAlias = Callable[..., Any]


def lowerings() -> dict[str, Lowering]:
    """Return, by name, the functions that the advisor can call directly.

    A function on a convolution takes input, weight, bias, summand, stride, padding, dilation and
    groups. A CPU has no cuDNN; there the parts of a fused call run one after another.
    """
    torch = load_torch("realising calls")

    def conv(x: Any, w: Any, b: Any, *how: Any) -> Any:
        return torch.conv2d(x, w, b, *how)

    def conv_relu(x: Any, w: Any, b: Any, *how: Any) -> Any:
        return (
            torch.cudnn_convolution_relu(x, w, b, *how)
            if x.is_cuda
            else torch.relu_(conv(x, w, b, *how))
        )

    def conv_add_relu(x: Any, w: Any, b: Any, z: Any, *how: Any) -> Any:
        if x.is_cuda:
            return torch.cudnn_convolution_add_relu(x, w, z, 1.0, b, *how)
        return torch.relu_(conv(x, w, b, *how).add_(z))

    def as_rows(x: Any) -> Any:
        return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])

    def as_image(rows: Any, x: Any) -> Any:
        return rows.view(x.shape[0], x.shape[2], x.shape[3], -1).permute(0, 3, 1, 2)

    def gemm(x: Any, w: Any, b: Any, *_: Any) -> Any:
        weight = w.reshape(w.shape[0], -1)
        if x.shape[0] == 1 and x.is_contiguous():
            # In memory, the pixels of one image already are the columns of a matrix.
            columns = x.view(x.shape[1], -1)
            product = (
                torch.mm(weight, columns) if b is None else torch.addmm(b[:, None], weight, columns)
            )
            return product.view(1, -1, *x.shape[2:])
        rows = as_rows(x)
        product = torch.mm(rows, weight.t()) if b is None else torch.addmm(b, rows, weight.t())
        return as_image(product, x)

    def gemm_relu(x: Any, w: Any, b: Any, *_: Any) -> Any:
        return as_image(torch._addmm_activation(b, as_rows(x), w.reshape(w.shape[0], -1).t()), x)  # noqa: SLF001

    def activated(x: Any, w: Any, b: Any, *, use_gelu: bool) -> Any:
        if not x.is_cuda:  # on a CPU, use_gelu would compute the exact GELU
            product = torch.nn.functional.linear(x, w, b)
            return gelu(product, "tanh") if use_gelu else torch.relu_(product)
        rows = x.reshape(-1, x.shape[-1])
        b = w.new_zeros(w.shape[0]) if b is None else b
        result = torch._addmm_activation(b, rows, w.t(), use_gelu=use_gelu)  # noqa: SLF001 - the only door
        return result.view(*x.shape[:-1], -1)

    def linear_relu(x: Any, w: Any, b: Any, *_: Any) -> Any:
        return activated(x, w, b, use_gelu=False)

    def linear_gelu(x: Any, w: Any, b: Any, *_: Any) -> Any:
        return activated(x, w, b, use_gelu=True)

    def gelu(x: Any, approximate: str = "none") -> Any:
        return torch.nn.functional.gelu(x, approximate=approximate)

    def layer_norm(x: Any, shape: Sequence[int]) -> Any:
        return torch.nn.functional.layer_norm(x, shape, x.new_ones(shape), x.new_zeros(shape))

    def rms_norm(x: Any, shape: Sequence[int]) -> Any:
        return torch.nn.functional.rms_norm(x, shape, x.new_ones(shape))

    def linear_add(x: Any, w: Any, _: Any, z: Any, *__: Any) -> Any:
        return torch.addmm(z.flatten(0, -2), x.flatten(0, -2), w.t()).view(z.shape)

    def batch_norm(x: Any, *norm_and_how: Any) -> Any:
        *norm, momentum, epsilon = norm_and_how
        return torch.batch_norm(x, *norm, False, momentum, epsilon, True)

    return {
        "conv": conv,
        "conv_bias": conv,
        "conv_bn": conv,
        "conv_relu": conv_relu,
        "conv_add_relu": conv_add_relu,
        "conv_as_gemm": gemm,
        "conv_as_gemm_relu": gemm_relu,
        "linear": torch.nn.functional.linear,
        "linear_relu": linear_relu,
        "linear_gelu": linear_gelu,
        "linear_add": linear_add,
        ATTENTION: torch.nn.functional.scaled_dot_product_attention,
        "relu": torch.relu,
        "relu_": torch.relu_,
        "add": torch.add,
        "add_": torch.Tensor.add_,
        "batch_norm": batch_norm,
        "max_pool2d": torch.max_pool2d,
        "relu6": torch.nn.functional.relu6,
        "gelu": gelu,
        "layer_norm": layer_norm,
        "rms_norm": rms_norm,
    }


def laid_out(tensor: Any, layout: str) -> Any:
    """Return the tensor in the layout; the same tensor if it has that layout already."""
    torch = load_torch("a layout")
    if tensor.dim() != 4:
        return tensor.contiguous()
    return tensor.contiguous(
        memory_format=torch.channels_last if layout == "NHWC" else torch.contiguous_format
    )


def folded(weight: Any, bias: Any, norm: Sequence[Any], epsilon: float) -> tuple[Any, Any]:
    """Return weight and bias of a convolution with its batch normalisation folded in.

    They equal those of fuse_conv_bn_weights.
    """
    torch = load_torch("folding")
    scale, shift, mean, variance = norm
    return torch.nn.utils.fuse_conv_bn_weights(weight, bias, mean, variance, epsilon, scale, shift)  # type: ignore[no-any-return]
