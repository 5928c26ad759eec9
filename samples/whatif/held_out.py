"""Define programs unlike those on which constants were fitted.

Predictions are judged on these alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from programs import (
    DEVICE,
    ON_GPU,
    SMALL,
    Program,
    Steps,
    loop,
    maybe_compiled,
    optimizer_of,
)
from torch import nn
from torch.nn import functional

HELD_OUT: dict[str, Program] = {}
HALF = torch.float16 if ON_GPU else torch.float32


def held_out(
    name: str, changes: str, batches: tuple[int, ...] = (), **settings: Any
) -> Callable[[Callable[..., Steps]], Callable[..., Steps]]:
    """Register a program and its changes.

    A change is an expression; the word before `=` is the option.
    """

    def enter(steps: Callable[..., Steps]) -> Callable[..., Steps]:
        options = {word.partition("=")[0]: word for word in changes.split()}
        HELD_OUT[name] = Program(name, steps, options, batches, settings)
        return steps

    return enter


def without_gradients(option: str | None, run: Callable[..., object], *inputs: object) -> Steps:
    """Run the network on these inputs in each step, without gradients."""

    def step() -> None:
        with torch.no_grad():
            run(*inputs)

    return loop(step, option)


def trained(
    option: str | None,
    net: nn.Module,
    kind: str,
    x: torch.Tensor,
    words: str = "",
) -> Steps:
    """Train the network in each step, in `mixed` precision if `words` says so.

    With `reads loss` the loss is read in each step, unless the option is `no_sync`.
    """
    optimizer = optimizer_of(net, option, kind)
    run = maybe_compiled(net, option)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled="mixed" in words):
            loss = run(x).float().square().mean()
        loss.backward()
        optimizer.step()
        if "reads loss" in words and option != "no_sync":
            loss.item()

    return loop(step, option)


class Down(nn.Module):
    """A U-Net's level: two convolutions, the level below, and two on the way up."""

    def __init__(self, channels: int, below: nn.Module | None) -> None:
        super().__init__()
        self.enter = self.pair(channels, channels)
        self.below = below
        self.down = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.leave = self.pair(2 * channels, channels)

    @staticmethod
    def pair(channels: int, wanted: int) -> nn.Sequential:
        """Build a convolution with group normalization and SiLU, twice."""
        return nn.Sequential(
            nn.Conv2d(channels, wanted, 3, padding=1),
            nn.GroupNorm(4, wanted),
            nn.SiLU(),
            nn.Conv2d(wanted, wanted, 3, padding=1),
            nn.GroupNorm(4, wanted),
            nn.SiLU(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the level; the result has the input's shape."""
        x = self.enter(x)
        low = self.down(x)
        if self.below is not None:
            low = self.below(low)
        return self.leave(torch.cat([x, self.up(low)], 1))


def unet(channels: int, depth: int) -> nn.Module:
    """Nest U-Net levels, each with twice the channels of the level above."""
    net: nn.Module | None = None
    for level in reversed(range(depth)):
        net = Down(channels << level, net)
    assert net is not None
    return net.to(DEVICE)


def as_channels_last(
    option: str | None, net: nn.Module, x: torch.Tensor
) -> tuple[nn.Module, torch.Tensor]:
    """Return network and input in channels-last layout if that is the option."""
    if option != "channels_last":
        return net, x
    layout = torch.channels_last
    return net.to(memory_format=layout), x.contiguous(memory_format=layout)


@held_out("unet_infer", "channels_last compile cuda_graph", (4, 8, 16), size=(64, 3, 8, 64))
def unet_infer(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Run a U-Net in float16."""
    channels, depth, default, side = size
    net = unet(channels // min(SMALL, 4), depth).to(HALF).eval()
    n = max((batch or default) // SMALL, 1)
    x = torch.randn(n, channels // min(SMALL, 4), side, side, device=DEVICE, dtype=HALF)
    net, x = as_channels_last(option, net, x)
    return without_gradients(option, maybe_compiled(net, option), x)


@held_out("unet_train", "channels_last fused_optimizer compile", size=(64, 2, 16, 128))
def unet_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train a U-Net in bfloat16 with AdamW."""
    channels, depth, batch, side = size
    net = unet(channels // min(SMALL, 4), depth)
    shape = (max(batch // SMALL, 1), channels // min(SMALL, 4), side // SMALL, side // SMALL)
    net, x = as_channels_last(option, net, torch.randn(*shape, device=DEVICE))
    return trained(option, net, "adam", x, "mixed")


class Depthwise(nn.Module):
    """A convolution per channel between two convolutions of 1×1."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 4 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(),
            nn.Conv2d(wide, channels, 1, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add the body to the input."""
        out: torch.Tensor = x + self.body(x)
        return out


@held_out("depthwise_infer", "channels_last cuda_graph", (16, 32, 64), size=(10, 64, 64, 28))
@held_out("depthwise_infer_small", "compile cuda_graph", size=(10, 2, 32, 14))
def depthwise_infer(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Run depthwise blocks in float16."""
    depth, default, channels, side = size
    net: nn.Module = nn.Sequential(*(Depthwise(channels) for _ in range(depth)))
    net = net.to(DEVICE, HALF).eval()
    n = max((batch or default) // SMALL, 1)
    x = torch.randn(n, channels, side, side, device=DEVICE, dtype=HALF)
    net, x = as_channels_last(option, net, x)
    return without_gradients(option, maybe_compiled(net, option), x)


@held_out("strided_train", "channels_last fused_optimizer cuda_graph", size=(96, 64, 64))
def strided_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train convolutions that halve the picture, in bfloat16 with SGD."""
    batch, channels, side = size
    layers: list[nn.Module] = []
    for _ in range(4):
        wide = min(2 * channels, 512)
        layers += [nn.Conv2d(channels, wide, 3, stride=2, padding=1), nn.BatchNorm2d(wide)]
        layers += [nn.ReLU(), nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU()]
        channels = wide
    net: nn.Module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 2), size[1], side, side, device=DEVICE)
    net, x = as_channels_last(option, net, x)
    return trained(option, net, "sgd", x, "mixed")


class Mix(nn.Module):
    """Attention of one text to another (or to itself), written out or by the library's kernel."""

    def __init__(self, width: int, heads: int, *, fused: bool, is_causal: bool = False) -> None:
        super().__init__()
        self.heads, self.fused, self.is_causal = heads, fused, is_causal
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def parted(self, x: torch.Tensor) -> torch.Tensor:
        """Reshape to (batch, head, token, channel)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
        """Attend to all tokens, or only to those before."""
        source = self.norm(x)
        told = source if other is None else other
        query, key = self.parted(self.query(source)), self.parted(self.key(told))
        value = self.parted(self.value(told))
        if self.fused:
            mixed = functional.scaled_dot_product_attention(
                query, key, value, is_causal=self.is_causal
            )
        else:
            scores = torch.matmul(query, key.transpose(-2, -1)) * query.shape[-1] ** -0.5
            if self.is_causal:
                mask = torch.ones(scores.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(mask, float("-inf"))
            mixed = torch.matmul(functional.softmax(scores, -1), value)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


def mixes(
    option: str | None, depth: int, width: int, heads: int, **settings: bool
) -> nn.Sequential:
    """Build layers of attention."""
    fused = option == "sdpa"
    return nn.Sequential(*(Mix(width, heads, fused=fused, **settings) for _ in range(depth))).to(
        DEVICE
    )


@held_out("encoder_train", "sdpa fused_optimizer compile", size=(6, 16, 512, 768, 12))
@held_out("encoder_train_small", "sdpa fused_optimizer cuda_graph", size=(4, 2, 96, 192, 3))
def encoder_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train an encoder in bfloat16 with AdamW."""
    depth, batch, length, width, heads = size
    net = mixes(
        option, depth, width // min(SMALL, 2), heads // (2 if width > 512 and SMALL > 1 else 1)
    )
    shape = (max(batch // SMALL, 1), length // SMALL, width // min(SMALL, 2))
    return trained(option, net, "adam", torch.randn(*shape, device=DEVICE), "mixed")


class Crossed(nn.Module):
    """Layers that attend to another text, each after one that attends to its own."""

    def __init__(self, own: nn.Sequential, cross: nn.Sequential) -> None:
        super().__init__()
        self.own, self.cross = own, cross

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Apply self-attention, then cross-attention."""
        for own, cross in zip(self.own, self.cross, strict=True):
            x = cross(own(x), other)
        return x


@held_out("cross_infer", "sdpa compile cuda_graph", size=(5, 4, 64, 256, 512, 8))
@held_out("cross_infer_large", "sdpa compile", size=(5, 32, 256, 1024, 512, 8))
def cross_infer(option: str | None, size: tuple[int, ...]) -> Steps:
    """Run a decoder on an encoder's text, float16."""
    depth, batch, length, told, width, heads = size
    own = mixes(option, depth, width, heads, is_causal=True)
    net = Crossed(own, mixes(option, depth, width, heads)).to(HALF).eval()
    n = max(batch // SMALL, 1)
    x = torch.randn(n, length // SMALL, width, device=DEVICE, dtype=HALF)
    other = torch.randn(n, told // SMALL, width, device=DEVICE, dtype=HALF)
    return without_gradients(option, maybe_compiled(net, option), x, other)


@held_out("long_infer", "sdpa compile", (1, 2, 4), size=(4, 2, 4096, 512, 4))
def long_infer(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Attend within long texts, float16, heads of 128 channels."""
    depth, default, length, width, heads = size
    net = mixes(option, depth, width, heads, is_causal=True).to(HALF).eval()
    shape = (batch or default, length // (SMALL * SMALL), width)
    x = torch.randn(*shape, device=DEVICE, dtype=HALF)
    return without_gradients(option, maybe_compiled(net, option), x)


class Recurrent(nn.Module):
    """Layers of an LSTM."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width, depth, batch_first=True)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last layer's states, projected."""
        out: torch.Tensor = self.out(self.lstm(x)[0])
        return out


@held_out("lstm_train", "no_sync fused_optimizer", (64, 128, 256), size=(512, 3, 64, 64))
def lstm_train(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Train an LSTM whose loss is read in each step."""
    width, depth, default, length = size
    net = Recurrent(width // SMALL, depth).to(DEVICE)
    n = (batch or default) // SMALL
    x = torch.randn(n, length // SMALL, width // SMALL, device=DEVICE)
    return trained(option, net, "adam", x, "reads loss")


class Mixer(nn.Module):
    """Products over tokens, then over channels."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, tokens), nn.GELU(), nn.Linear(tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply both products, each added to its input."""
        x = x + self.tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


@held_out("mixer_train", "compile fused_optimizer", (32, 64, 128), size=(8, 64, 196, 512))
@held_out("mixer_train_small", "compile cuda_graph", size=(6, 4, 64, 128))
def mixer_train(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Train a mixer with AdamW."""
    depth, default, tokens, width = size
    net = nn.Sequential(*(Mixer(tokens, width // min(SMALL, 2)) for _ in range(depth))).to(DEVICE)
    n = max((batch or default) // SMALL, 1)
    x = torch.randn(n, tokens, width // min(SMALL, 2), device=DEVICE)
    return trained(option, net, "adam", x)


class Messages(nn.Module):
    """A layer that sums the messages of each node's neighbours."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.say, self.hear = nn.Linear(width, width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Gather along the edges, and add up at their ends."""
        said = functional.relu(self.say(x))[edges[0]]
        heard = torch.zeros_like(x).index_add_(0, edges[1], said.to(x.dtype))
        return functional.relu(self.hear(torch.cat([x, heard], 1)))


class Neighbours(nn.Module):
    """Message layers along the same edges."""

    def __init__(self, width: int, depth: int, edges: torch.Tensor) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Messages(width) for _ in range(depth))
        self.edges = edges

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply all layers in turn."""
        for layer in self.layers:
            x = layer(x, self.edges)
        return x


@held_out("graph_train", "no_sync fused_optimizer", size=(20_000, 200_000, 128, 3))
def graph_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train a network on a graph with random edges; the loss is read in each step."""
    nodes, n_edges, width, depth = size
    edges = torch.randint(0, nodes // SMALL, (2, n_edges // SMALL), device=DEVICE)
    net = Neighbours(width, depth, edges).to(DEVICE)
    x = torch.randn(nodes // SMALL, width, device=DEVICE)
    return trained(option, net, "adam", x, "reads loss")


@held_out("cached_decode", "sdpa no_sync cuda_graph", size=(8, 4, 512, 768, 12))
def cached_decode(option: str | None, size: tuple[int, ...]) -> Steps:
    """Decode one token per step in float16, with a cache; each token is read."""
    depth, batch, length, width, heads = size
    width //= min(SMALL, 2)
    net = mixes(option, depth, width, heads).to(HALF).eval()
    head = nn.Linear(width, 8192, device=DEVICE, dtype=HALF)
    kept = torch.randn(batch, length // SMALL, width, device=DEVICE, dtype=HALF)
    x = torch.randn(batch, 1, width, device=DEVICE, dtype=HALF)

    def step() -> None:
        y = x
        with torch.no_grad():
            for layer in net:
                y = layer(y, kept)
            token = head(y).argmax(-1)
            if option not in {"no_sync", "cuda_graph"}:
                token.tolist()

    return loop(step, option)
