"""Small models with random weights, two steps each: python models.py NAME FOLDER.

README.md says what each step takes. Traces are torch's own, without layers.
"""

# ruff: noqa: PLR0913, PLR0917, SLF001
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.attention.varlen import varlen_attn
from torch.profiler import ProfilerActivity, profile, schedule

ON, BF16 = "cuda", torch.bfloat16
Step = Callable[[], object]


def deepseek_v3() -> Step:
    """Return the prefill of a layer with a dense MLP, and of one with experts."""
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM  # noqa: PLC0415

    config = DeepseekV3Config(
        hidden_size=1024,
        intermediate_size=2048,
        moe_intermediate_size=256,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_shared_experts=1,
        first_k_dense_replace=1,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=8,
        q_lora_rank=256,
        kv_lora_rank=128,
        qk_nope_head_dim=64,
        qk_rope_head_dim=32,
        v_head_dim=64,
        n_group=2,
        topk_group=1,
        vocab_size=8192,
    )
    model = DeepseekV3ForCausalLM(config).to(ON, BF16).eval()
    tokens = torch.randint(0, 8192, (2, 1024), device=ON)

    @torch.no_grad()
    def step() -> None:
        model(input_ids=tokens, use_cache=False)

    return step


@triton.jit
def _rms_norm_forward_kernel(y, x, weight, n, eps, block: tl.constexpr):  # noqa: ANN001, ANN202
    row, cols = tl.program_id(0), tl.arange(0, block)
    values = tl.load(
        x + row * n + cols,
        mask=cols < n,
        other=0.0,
    ).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 0) / n + eps)
    weights = tl.load(
        weight + cols,
        mask=cols < n,
        other=0.0,
    )
    tl.store(
        y + row * n + cols,
        values * scale * weights,
        mask=cols < n,
    )


@triton.jit
def liger_cross_entropy_kernel(x, target, loss, n, scale, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Write the losses, and the gradients in place of the logits."""
    row, cols = tl.program_id(0), tl.arange(0, block)
    values = tl.load(
        x + row * n + cols,
        mask=cols < n,
        other=-float("inf"),
    ).to(tl.float32)
    top = tl.max(values, 0)
    exps = tl.exp(values - top)
    total = tl.sum(exps, 0)
    wanted = tl.load(target + row)
    at_wanted = tl.load(x + row * n + wanted).to(tl.float32)
    tl.store(
        loss + row,
        (tl.log(total) + top - at_wanted) * scale,
    )
    gradients = (exps / total - tl.where(cols == wanted, 1.0, 0.0)) * scale
    tl.store(
        x + row * n + cols,
        gradients,
        mask=cols < n,
    )


@triton.jit
def _swiglu_forward_kernel(a, b, c, n, block: tl.constexpr):  # noqa: ANN001, ANN202
    places = tl.program_id(0) * block + tl.arange(0, block)
    gates = tl.load(
        a + places,
        mask=places < n,
    ).to(tl.float32)
    values = tl.load(
        b + places,
        mask=places < n,
    )
    tl.store(
        c + places,
        gates * tl.sigmoid(gates) * values,
        mask=places < n,
    )


class RMSNormFunction(torch.autograd.Function):
    """Normalise by one kernel; the gradient is passed through."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:  # noqa: ARG004
        """Return the normalised rows."""
        y = torch.empty_like(x)
        n = x.shape[-1]
        _rms_norm_forward_kernel[(x.numel() // n,)](y, x, weight, n, eps, 1024)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ARG004
        """Return the gradient itself."""
        return grad, None, None


class FusedLinearCrossEntropyFunction(torch.autograd.Function):
    """Compute a quarter of the losses at a time, with their gradients, as Liger does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        n_rows = x.shape[0]
        loss = torch.empty(n_rows, device=x.device, dtype=torch.float32)
        grad_x, grad_weight = torch.empty_like(x), torch.zeros_like(weight)
        for part in range(4):
            rows = slice(
                part * n_rows // 4,
                (part + 1) * n_rows // 4,
            )
            logits = x[rows] @ weight.t()
            n_wide = logits.shape[1]
            liger_cross_entropy_kernel[(logits.shape[0],)](
                logits, target[rows], loss[rows], n_wide, 1 / n_rows, 8192
            )
            grad_x[rows] = logits @ weight
            grad_weight += logits.t() @ x[rows]
        ctx.save_for_backward(grad_x, grad_weight)
        return loss.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients that the forward pass computed."""
        grad_x, grad_weight = ctx.saved_tensors
        return grad_x * grad, grad_weight * grad, None


def liger() -> Step:
    """Return a step with Triton kernels of its own: a norm, a gate and a loss."""
    x = torch.randn(
        2048,
        1024,
        device=ON,
        dtype=BF16,
        requires_grad=True,
    )
    norm = torch.ones(1024, device=ON, dtype=BF16)
    sizes = ((2816, 1024), (2816, 1024), (1024, 2816))
    gate, up, down = (torch.randn(*size, device=ON, dtype=BF16) / 32 for size in sizes)
    head = (torch.randn(8192, 1024, device=ON, dtype=BF16) / 32).requires_grad_()
    target = torch.randint(0, 8192, (2048,), device=ON)

    def step() -> None:
        y = RMSNormFunction.apply(x, norm, 1e-6)
        with torch.no_grad():
            a, b = y @ gate.t(), y @ up.t()
            c = torch.empty_like(a)
            _swiglu_forward_kernel[(a.numel() // 1024,)](a, b, c, a.numel(), 1024)
            z = c @ down.t()
        FusedLinearCrossEntropyFunction.apply(y + z, head, target).backward()
        x.grad = head.grad = None

    return step


def weight_only() -> Step:
    """Return products with weights of four and eight bits, and one of 8-bit integers."""
    x = torch.randn(16, 4096, device=ON, dtype=BF16)
    of_8_bits = torch.randint(-127, 127, (6144, 4096), device=ON, dtype=torch.int8)
    scales = torch.rand(6144, device=ON, dtype=BF16)
    of_4_bits = torch.randint(0, 255, (6144, 2048), device=ON, dtype=torch.uint8)
    packed = torch.ops.aten._convert_weight_to_int4pack(of_4_bits, 8)
    scales_and_zeros = torch.rand(4096 // 128, 6144, 2, device=ON, dtype=BF16)

    def step() -> None:
        torch.ops.aten._weight_int4pack_mm(x, packed, 128, scales_and_zeros)
        F.linear(x, of_8_bits.to(BF16)) * scales
        integers = torch.randint(-127, 127, (32, 4096), device=ON, dtype=torch.int8)
        torch._int_mm(integers, of_8_bits.t())
        torch.ops.aten._weight_int8pack_mm(x, of_8_bits, scales)

    return step


def varlen() -> Step:
    """Return attention over eight requests of 512 tokens, with gradients and by a nested tensor."""
    sizes = (4096, 16, 64)
    q, k, v = (
        torch.randn(
            sizes,
            device=ON,
            dtype=BF16,
            requires_grad=True,
        )
        for _ in range(3)
    )
    ends = torch.arange(0, 4097, 512, device=ON, dtype=torch.int32)
    nested = [
        torch.nested.nested_tensor_from_jagged(tensor.detach(), ends.long()) for tensor in (q, k, v)
    ]

    def step() -> None:
        varlen_attn(q, k, v, ends, ends, 512, 512).sum().backward()
        q.grad = k.grad = v.grad = None
        with torch.no_grad():
            F.scaled_dot_product_attention(*(tensor.transpose(1, 2) for tensor in nested))

    return step


def take(step: Step, path: Path) -> None:
    """Record two steps, after four others."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        record_shapes=True,
        schedule=schedule(
            wait=0,
            warmup=1,
            active=2,
            repeat=1,
        ),
        on_trace_ready=lambda run: run.export_chrome_trace(str(path)),
    ) as recorder:
        for _ in range(3):
            step()
            torch.cuda.synchronize()
            recorder.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    makers = {make.__name__: make for make in (deepseek_v3, liger, weight_only, varlen)}
    take(makers[sys.argv[1]](), Path(sys.argv[2]) / f"{sys.argv[1]}.pt.trace.json.gz")
