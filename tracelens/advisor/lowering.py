"""Implement in torch the library calls that the advisor chooses from.

Each accepts tensors in any layout, and does not convert them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tracelens.advisor.plan import load_torch
from tracelens.derive.calls.op_catalog import ATTENTION

Lowering: TypeAlias = Callable[..., Any]


def lowerings() -> dict[str, Lowering]:
    """Return the functions that the advisor can call directly, by name."""
    torch = load_torch("realising calls")

    def gelu(x: Any, approximate: str = "none") -> Any:
        return torch.nn.functional.gelu(x, approximate=approximate)

    return {
        **_convolutions(torch),
        **_convolutions_as_products(torch),
        **_linears(torch),
        **_normalizations(torch),
        ATTENTION: torch.nn.functional.scaled_dot_product_attention,
        "relu": torch.relu,
        "relu_": torch.relu_,
        "relu6": torch.nn.functional.relu6,
        "gelu": gelu,
        "add": torch.add,
        "add_": torch.Tensor.add_,
        "max_pool2d": torch.max_pool2d,
    }


def _convolutions(torch: Any) -> dict[str, Lowering]:
    """Return functions for convolutions, alone or fused with the next ops, by name.

    Each takes input, weight and bias, then stride, padding, dilation and groups. A convolution that
    is fused with an addition takes the summand after the bias.
    """

    def conv(x: Any, weight: Any, bias: Any, *how: Any) -> Any:
        return torch.conv2d(x, weight, bias, *how)

    # A CPU has no cuDNN, so the parts of a fused call run one after another there.
    def conv_relu(x: Any, weight: Any, bias: Any, *how: Any) -> Any:
        if x.is_cuda:
            return torch.cudnn_convolution_relu(x, weight, bias, *how)
        return torch.relu_(conv(x, weight, bias, *how))

    def conv_add_relu(
        x: Any,
        weight: Any,
        bias: Any,
        summand: Any,
        *how: Any,
    ) -> Any:
        if x.is_cuda:
            factor = 1.0
            return torch.cudnn_convolution_add_relu(x, weight, summand, factor, bias, *how)
        product = conv(x, weight, bias, *how)
        return torch.relu_(product.add_(summand))

    return {
        "conv": conv,
        "conv_bias": conv,
        "conv_bn": conv,
        "conv_relu": conv_relu,
        "conv_add_relu": conv_add_relu,
    }


def _convolutions_as_products(torch: Any) -> dict[str, Lowering]:
    """Return functions that compute a 1×1 convolution as a matrix product, by name."""

    def product(left: Any, right: Any, bias: Any) -> Any:
        return torch.mm(left, right) if bias is None else torch.addmm(bias, left, right)

    def pixels_as_rows(x: Any) -> Any:
        return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])

    def rows_as_image(rows: Any, x: Any) -> Any:
        n_images, _, height, width = x.shape
        return rows.view(n_images, height, width, -1).permute(0, 3, 1, 2)

    def one_image(x: Any, weight: Any, bias: Any) -> Any:
        columns = x.view(x.shape[1], -1)
        bias_of_rows = None if bias is None else bias[:, None]
        return product(weight, columns, bias_of_rows).view(1, -1, *x.shape[2:])

    def conv_as_gemm(x: Any, weight: Any, bias: Any, *_: Any) -> Any:
        weight = weight.reshape(weight.shape[0], -1)
        # In memory, the pixels of one image already are the columns of a matrix.
        if x.shape[0] == 1 and x.is_contiguous():
            return one_image(x, weight, bias)
        rows = product(pixels_as_rows(x), weight.t(), bias)
        return rows_as_image(rows, x)

    def conv_as_gemm_relu(x: Any, weight: Any, bias: Any, *_: Any) -> Any:
        transposed = weight.reshape(weight.shape[0], -1).t()
        rows = torch._addmm_activation(bias, pixels_as_rows(x), transposed)  # noqa: SLF001 - torch has no public name
        return rows_as_image(rows, x)

    return {"conv_as_gemm": conv_as_gemm, "conv_as_gemm_relu": conv_as_gemm_relu}


def _linears(torch: Any) -> dict[str, Lowering]:
    """Return functions for linear layers, alone or fused with the next op, by name.

    Each takes input, weight, bias, and the summand of an addition.
    """
    linear = torch.nn.functional.linear

    def fused_on_gpu(
        x: Any,
        weight: Any,
        bias: Any,
        *,
        use_gelu: bool,
    ) -> Any:
        rows = x.reshape(-1, x.shape[-1])
        if bias is None:
            bias = weight.new_zeros(weight.shape[0])
        product = torch._addmm_activation(bias, rows, weight.t(), use_gelu=use_gelu)  # noqa: SLF001 - torch has no public name
        return product.view(*x.shape[:-1], -1)

    def linear_relu(x: Any, weight: Any, bias: Any, *_: Any) -> Any:
        if x.is_cuda:
            return fused_on_gpu(x, weight, bias, use_gelu=False)
        return torch.relu_(linear(x, weight, bias))

    def linear_gelu(x: Any, weight: Any, bias: Any, *_: Any) -> Any:
        if x.is_cuda:
            return fused_on_gpu(x, weight, bias, use_gelu=True)
        # The fused call computes the approximate GELU on a GPU, but the exact one on a CPU.
        return torch.nn.functional.gelu(linear(x, weight, bias), approximate="tanh")

    def linear_add(
        x: Any,
        weight: Any,
        _: Any,
        summand: Any,
        *__: Any,
    ) -> Any:
        rows = x.flatten(0, -2)
        sums = torch.addmm(
            summand.flatten(0, -2),
            rows,
            weight.t(),
        )
        return sums.view(summand.shape)

    return {
        "linear": linear,
        "linear_relu": linear_relu,
        "linear_gelu": linear_gelu,
        "linear_add": linear_add,
    }


def _normalizations(torch: Any) -> dict[str, Lowering]:
    """Return functions that normalize, by name.

    `layer_norm` and `rms_norm` take no weights: their weights are 1.
    """

    def layer_norm(x: Any, shape: Sequence[int]) -> Any:
        weight, bias = x.new_ones(shape), x.new_zeros(shape)
        return torch.nn.functional.layer_norm(x, shape, weight, bias)

    def rms_norm(x: Any, shape: Sequence[int]) -> Any:
        return torch.nn.functional.rms_norm(x, shape, x.new_ones(shape))

    def batch_norm(x: Any, *norm_and_how: Any) -> Any:
        *norm, momentum, epsilon = norm_and_how
        is_training, use_cudnn = False, True
        return torch.batch_norm(x, *norm, is_training, momentum, epsilon, use_cudnn)

    return {"layer_norm": layer_norm, "rms_norm": rms_norm, "batch_norm": batch_norm}


def laid_out(tensor: Any, layout: str) -> Any:
    """Return the tensor in the given layout, without a copy if it has that layout already."""
    torch = load_torch("a layout")
    if tensor.dim() != 4:
        return tensor.contiguous()
    return tensor.contiguous(
        memory_format=torch.channels_last if layout == "NHWC" else torch.contiguous_format
    )


def folded(
    weight: Any,
    bias: Any,
    norm: Sequence[Any],
    epsilon: float,
) -> tuple[Any, Any]:
    """Return weight and bias of a convolution with its batch normalisation folded in.

    `norm` holds the normalisation's scale, shift, mean and variance.
    """
    torch = load_torch("folding")
    scale, shift, mean, variance = norm
    return torch.nn.utils.fuse_conv_bn_weights(weight, bias, mean, variance, epsilon, scale, shift)  # type: ignore[no-any-return]
