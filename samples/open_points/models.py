"""Build two small transformers with random weights, shaped like BERT and Llama.

Their attention is written out as products and a softmax, or calls the fused function.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Size:
    """The sizes of a model and of its input."""

    width: int
    n_heads: int
    n_key_heads: int
    hidden: int
    n_layers: int
    batch: int
    length: int
    vocabulary: int = 8192


SIZES = {
    "bert": Size(768, 12, 12, 3072, 4, 8, 256),
    "llama": Size(1024, 16, 4, 2816, 4, 1, 512),
}
QUICK = {"bert": Size(32, 4, 4, 64, 2, 2, 8, 64), "llama": Size(32, 4, 2, 48, 2, 1, 8, 64)}


class Attention(nn.Module):
    """Attention of several heads; if there are fewer key heads, queries share them."""

    def __init__(self, size: Size, *, is_causal: bool, is_fused: bool, has_bias: bool) -> None:
        super().__init__()
        self.size, self.is_causal, self.is_fused = size, is_causal, is_fused
        self.of_head = size.width // size.n_heads
        keys = size.n_key_heads * self.of_head
        self.query = nn.Linear(size.width, size.width, bias=has_bias)
        self.key = nn.Linear(size.width, keys, bias=has_bias)
        self.value = nn.Linear(size.width, keys, bias=has_bias)
        self.out = nn.Linear(size.width, size.width, bias=has_bias)
        mask = torch.full((size.length, size.length), float("-inf")).triu(1)
        self.register_buffer("mask", mask)
        angles = torch.arange(size.length)[:, None] / 10_000 ** (
            torch.arange(0, self.of_head, 2) / self.of_head
        )
        self.register_buffer("cosine", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sine", torch.cat([angles, angles], -1).sin())

    def heads(self, x: Tensor) -> Tensor:
        """Split the last dimension into heads."""
        return x.view(x.shape[0], x.shape[1], -1, self.of_head).transpose(1, 2)

    def turned(self, x: Tensor) -> Tensor:
        """Rotate by the position in the sequence, as Llama does."""
        one, two = x.chunk(2, -1)
        return x * self.cosine + torch.cat([-two, one], -1) * self.sine

    def forward(self, x: Tensor) -> Tensor:
        """Attend within each sequence."""
        query, key, value = (self.heads(f(x)) for f in (self.query, self.key, self.value))
        if self.is_causal:
            query, key = self.turned(query), self.turned(key)
        if key.shape[1] < query.shape[1]:
            times = query.shape[1] // key.shape[1]
            key, value = (t.repeat_interleave(times, 1) for t in (key, value))
        if self.is_fused:
            found = functional.scaled_dot_product_attention(
                query, key, value, is_causal=self.is_causal
            )
        else:
            scores = torch.matmul(query, key.transpose(-2, -1)) / self.of_head**0.5
            scores = scores + self.mask if self.is_causal else scores
            found = torch.matmul(torch.softmax(scores, -1), value)
        return self.out(found.transpose(1, 2).reshape(x.shape))


class BertLayer(nn.Module):
    """Attention and two linear layers with GELU between, each added to its input and normalised."""

    def __init__(self, size: Size, *, is_fused: bool) -> None:
        super().__init__()
        self.attention = Attention(size, is_causal=False, is_fused=is_fused, has_bias=True)
        self.norm1, self.norm2 = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.rise = nn.Linear(size.width, size.hidden)
        self.fall = nn.Linear(size.hidden, size.width)

    def forward(self, x: Tensor) -> Tensor:
        """Apply one layer."""
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.fall(functional.gelu(self.rise(x), approximate="tanh")))


class LlamaLayer(nn.Module):
    """Causal attention and a gated linear unit.

    Each takes its normalised input, and its result is added to that input.
    """

    def __init__(self, size: Size, *, is_fused: bool) -> None:
        super().__init__()
        self.attention = Attention(size, is_causal=True, is_fused=is_fused, has_bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(size.width), nn.RMSNorm(size.width)
        self.gate = nn.Linear(size.width, size.hidden, bias=False)
        self.rise = nn.Linear(size.width, size.hidden, bias=False)
        self.fall = nn.Linear(size.hidden, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Apply one layer."""
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.fall(functional.silu(self.gate(y)) * self.rise(y))


LAYERS = {"bert": BertLayer, "llama": LlamaLayer}


def transformer(kind: str, *, is_fused: bool, quick: bool = False) -> tuple[nn.Module, Tensor]:
    """Return the model in eval mode and its input, equal for both kinds of attention."""
    size = (QUICK if quick else SIZES)[kind]
    torch.manual_seed(0)
    layers = [LAYERS[kind](size, is_fused=is_fused) for _ in range(size.n_layers)]
    last = nn.LayerNorm(size.width) if kind == "bert" else nn.RMSNorm(size.width)
    model = nn.Sequential(nn.Embedding(size.vocabulary, size.width), *layers, last)
    return model.eval(), torch.randint(size.vocabulary, (size.batch, size.length))
