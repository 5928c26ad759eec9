"""Define programs on which nothing was fitted, as functions of their change.

A program is registered with its changes; `steps(option)` returns an iterator that runs one step per
item.
"""

# ruff: noqa: ARG001, D102 - the forward of a layer; programs without a change

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
SMALL = 1 if ON_GPU else 16
"""Divisor of sizes on a machine without a GPU, to try the script."""
HALF = torch.bfloat16
Steps = Iterator[None]


@dataclass(frozen=True)
class Program:
    """A program, its settings, and its changes: option to expression of `tracelens whatif`."""

    make: Callable[..., Steps]
    changes: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)

    def steps(self, option: str = "-") -> Steps:
        """Begin the program."""
        torch.manual_seed(0)
        return self.make(option, **self.settings)


PROGRAMS: dict[str, Program] = {}


def program(
    name: str, *changes: str, **settings: Any
) -> Callable[[Callable[..., Steps]], Callable[..., Steps]]:
    """Register a program; the word of a change before `=` is the option."""

    def enter(make: Callable[..., Steps]) -> Callable[..., Steps]:
        options = {change.partition("=")[0]: change for change in changes}
        PROGRAMS[name] = Program(make, options, settings)
        return make

    return enter


def repeat(step: Callable[[], object]) -> Steps:
    """Repeat the step."""
    while True:
        step()
        yield


def infer(option: str, net: nn.Module, *inputs: torch.Tensor) -> Steps:
    """Run the network without gradients, on the same inputs."""
    run = torch.compile(net) if option == "compile" else net

    def step() -> None:
        with torch.no_grad():
            run(*inputs)

    return repeat(step)


def train(
    option: str,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    inputs: Iterable[torch.Tensor],
    words: str = "",
) -> Steps:
    """Train the network on each input.

    `mixed` is for mixed precision, `clip` for clipped gradients, `read` for a loss that is read.
    """
    run = torch.compile(net) if option == "compile" else net
    for x in inputs:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF, enabled="mixed" in words):
            loss = run(x.to(DEVICE, non_blocking=True)).float().square().mean()
        loss.backward()
        if "clip" in words:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if "read" in words:
            loss.item()
        yield


def same(x: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield the same input again and again."""
    while True:
        yield x


def laid_out(option: str, net: nn.Module, x: torch.Tensor) -> tuple[nn.Module, torch.Tensor]:
    """Return network and input in channels-last layout if that is the option."""
    if option != "channels_last":
        return net, x
    return net.to(memory_format=torch.channels_last), x.contiguous(
        memory_format=torch.channels_last
    )


class Around(nn.Module):
    """Layers whose input is added to their output."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


def bottleneck(channels: int, groups: int) -> nn.Module:
    """Build a block of ResNeXt."""
    inner = channels // 2
    return Around(
        nn.Conv2d(channels, inner, 1, bias=False),
        nn.BatchNorm2d(inner),
        nn.ReLU(),
        nn.Conv2d(inner, inner, 3, padding=1, groups=groups, bias=False),
        nn.BatchNorm2d(inner),
        nn.ReLU(),
        nn.Conv2d(inner, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
    )


@program("next_train", "compile", "channels_last", size=(10, 16, 128, 28, 8))
@program("next_train_large", "compile", "channels_last", size=(6, 128, 256, 28, 1))
def next_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train bottlenecks of grouped convolutions with multi-tensor Adam in mixed precision."""
    depth, batch, channels, side, groups = size
    net = nn.Sequential(*(bottleneck(channels, groups) for _ in range(depth))).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 2), channels, side // min(SMALL, 4), side, device=DEVICE)
    net, x = laid_out(option, net, x)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, foreach=True)
    return train(option, net, optimizer, same(x), "mixed")


class Windows(nn.Module):
    """Attention within windows of tokens, by the library's kernel."""

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 3 * width), nn.SiLU(), nn.Linear(3 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, width = x.shape
        parts = self.mixed(self.norm(x)).view(
            n * length // self.window, self.window, 3, self.heads, width // self.heads
        )
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.norm2(x))


@program("window_train", "compile", size=(6, 8, 256, 192, 6), kind="fused")
@program("window_train_large", "compile", size=(6, 64, 1024, 512, 8), kind="foreach")
def window_train(option: str, size: tuple[int, ...], kind: str) -> Steps:
    """Train a transformer of windows in mixed precision with clipped gradients."""
    depth, batch, length, width, heads = size
    net = nn.Sequential(*(Windows(width, heads, 32) for _ in range(depth))).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 1), length // SMALL, width, device=DEVICE)
    fused = {kind: True} if ON_GPU else {}
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, **fused)
    return train(option, net, optimizer, same(x), "mixed clip")


def points(width: int) -> nn.Module:
    """Build a network for point sets: layers on each point, and the maximum over all."""
    return nn.Sequential(
        nn.Conv1d(3, 64, 1),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Conv1d(64, 128, 1),
        nn.BatchNorm1d(128),
        nn.ReLU(),
        nn.Conv1d(128, width, 1),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
        nn.Linear(width, 256),
        nn.GELU(),
        nn.Linear(256, 40),
    )


@program("points_train", "compile", size=(32, 2048))
def points_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a small network for point sets with RMSprop; the loss is read.

    The optimizer steps parameter by parameter.
    """
    batch, n = size
    net = points(512).to(DEVICE)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4, foreach=False)
    x = torch.randn(batch, 3, n // SMALL, device=DEVICE)
    return train(option, net, optimizer, same(x), "read")


def normed(channels: int, *, is_pooled: bool = False) -> nn.Module:
    """Build a convolution block with group norm."""
    pool = [nn.AvgPool2d(2)] if is_pooled else []
    return nn.Sequential(
        nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1), *pool
    )


@program("groups_train", "compile", "channels_last", size=(12, 16, 64, 32))
@program("groups_train_large", "compile", "channels_last", size=(8, 64, 128, 64))
def groups_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train residual convolutions with group norm, as in diffusion, with multi-tensor AdamW."""
    depth, batch, channels, side = size
    net = nn.Sequential(*(Around(normed(channels)) for _ in range(depth))).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 1), channels, side // min(SMALL, 4), side, device=DEVICE)
    net, x = laid_out(option, net, x)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=True)
    return train(option, net, optimizer, same(x), "mixed" if batch > 16 else "")


class Tables(nn.Module):
    """Embeddings of many features, and layers on all of them."""

    def __init__(self, n_tables: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(10_000, width) for _ in range(n_tables))
        self.top = nn.Sequential(
            nn.Linear(n_tables * width, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = [table(x[:, i]) for i, table in enumerate(self.tables)]
        return self.top(torch.cat(found, 1))


@program("tables_train", "compile", n_tables=26, batch=2048)
def tables_train(option: str, n_tables: int, batch: int) -> Steps:
    """Train a recommender with many small lookups and SGD."""
    net = Tables(n_tables, 32).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, foreach=True)
    x = torch.randint(0, 10_000, (batch, n_tables), device=DEVICE)
    return train(option, net, optimizer, same(x))


@program("boxes_infer", n=512, keeps=60, reads=False)
@program("boxes_read", n=256, keeps=20, reads=True)
def boxes(option: str, n: int, keeps: int, *, reads: bool) -> Steps:
    """Run detection: a small network, then many small ops that choose boxes one by one."""
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU()
    )
    net = net.to(DEVICE).eval()
    x = torch.randn(4, 3, 160, 160, device=DEVICE)
    corner = torch.rand(n, 2, device=DEVICE) * 100
    boxed = torch.cat([corner, corner + 5 + 20 * torch.rand(n, 2, device=DEVICE)], 1)

    def step() -> None:
        with torch.no_grad():
            scores = net(x).mean((0, 2, 3)).repeat(n // 64 + 1)[:n] + torch.rand(n, device=DEVICE)
            area = (boxed[:, 2] - boxed[:, 0]) * (boxed[:, 3] - boxed[:, 1])
            for _ in range(max(keeps // SMALL, 1)):
                best = scores.argmax()
                box = boxed[best]
                low = torch.maximum(boxed[:, :2], box[:2])
                high = torch.minimum(boxed[:, 2:], box[2:])
                shared = (high - low).clamp(min=0).prod(1)
                overlap = shared / (area + area[best] - shared)
                scores = scores.masked_fill(overlap > 0.5, -1.0)
            if reads:
                (scores > 0).nonzero()

    return repeat(step)


@program("cells_train", length=40, width=256, batch=64)
def cells_train(option: str, length: int, width: int, batch: int) -> Steps:
    """Train an LSTM written out cell by cell with multi-tensor Adam."""
    cell, out = nn.LSTMCell(width, width).to(DEVICE), nn.Linear(width, 32).to(DEVICE)
    net = nn.ModuleList([cell, out])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, foreach=True)
    x = torch.randn(length // SMALL, batch, width, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        hidden = state = torch.zeros(batch, width, device=DEVICE)
        total: Any = 0
        for part in x:
            hidden, state = cell(part, (hidden, state))
            total = total + out(hidden).square().mean()
        total.backward()
        optimizer.step()

    return repeat(step)


@program("lstm_infer", size=(3, 1024, 64, 100))
def lstm_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run cuDNN's LSTM on a large batch."""
    depth, width, batch, length = size
    net = nn.LSTM(width // SMALL, width // SMALL, depth).to(DEVICE).eval()
    x = torch.randn(max(length // SMALL, 1), batch // SMALL, width // SMALL, device=DEVICE)
    return infer(option, net, x)


@program("scan_infer", length=120)
def scan_infer(option: str, length: int) -> Steps:
    """Run a recurrence of tiny kernels, as of a state space model written out."""
    decay = torch.rand(16, 256, 8, device=DEVICE)
    x = torch.randn(length // SMALL, 16, 256, 8, device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            state = torch.zeros_like(decay)
            parts = []
            for part in x:
                state = state * decay + part
                parts.append(state.sum(-1))
            torch.stack(parts)

    return repeat(step)


class Spectral(nn.Module):
    """Products in a signal's frequency domain, and a layer on each point."""

    def __init__(self, channels: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, dtype=torch.cfloat) / 64)
        self.beside = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = torch.fft.rfft(x)
        mixed = torch.einsum("bim,iom->bom", seen[..., : self.modes], self.weight)
        return functional.gelu(torch.fft.irfft(mixed, n=x.shape[-1]) + self.beside(x))


@program("spectral_infer", size=(6, 16, 64, 1024))
def spectral_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run a Fourier operator."""
    depth, batch, channels, length = size
    net = nn.Sequential(*(Spectral(channels, 16) for _ in range(depth))).to(DEVICE).eval()
    return infer(option, net, torch.randn(batch, channels, length // SMALL, device=DEVICE))


class Experts(nn.Module):
    """Each token goes through two of eight networks."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.choose = nn.Linear(width, 8)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
            for _ in range(8)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share, chosen = self.choose(x).softmax(-1).topk(2)
        mixed = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, place = (chosen == i).nonzero(as_tuple=True)
            mixed.index_add_(0, token, expert(x[token]) * share[token, place, None])
        return x + mixed


@program("experts_infer", size=(4, 512, 512))
def experts_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run a mixture of experts that synchronizes to find its tokens."""
    depth, tokens, width = size
    net = nn.Sequential(*(Experts(width) for _ in range(depth))).to(DEVICE, HALF).eval()
    return infer(option, net, torch.randn(tokens // SMALL, width, device=DEVICE, dtype=HALF))


@program("products_infer", size=(10, 8192, 4096))
def products_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run large products in half precision, so that the device is always behind."""
    depth, rows, width = (max(n // SMALL, 1) for n in size)
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.GELU())]
    net = nn.Sequential(*layers).to(DEVICE, HALF).eval()
    return infer(option, net, torch.randn(rows, width, device=DEVICE, dtype=HALF))


@program("policy_train", updates=6)
def policy_train(option: str, updates: int) -> Steps:
    """Train by reinforcement: consecutive small updates, with clipped gradients.

    The loss is read.
    """
    actor = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    net = nn.ModuleDict({"body": actor, "act": nn.Linear(64, 4), "value": nn.Linear(64, 1)})
    net = net.to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, foreach=True)
    seen = torch.randn(256, 24, device=DEVICE)
    taken, gain = torch.randint(0, 4, (256,), device=DEVICE), torch.randn(256, device=DEVICE)

    def step() -> None:
        for _ in range(updates):
            hidden = net["body"](seen)
            chance = torch.distributions.Categorical(logits=net["act"](hidden))
            ratio = (chance.log_prob(taken) - 1.0).exp()
            clipped = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
            loss = -clipped.mean() - 0.01 * chance.entropy().mean()
            loss = loss + (net["value"](hidden).squeeze(-1) - gain).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
        loss.item()

    return repeat(step)


def plain(channels: int, depth: int, kernel: int = 3) -> nn.Sequential:
    """Stack convolutions and activations."""
    layers = [
        part
        for _ in range(depth)
        for part in (nn.Conv2d(channels, channels, kernel, padding=kernel // 2), nn.ReLU())
    ]
    return nn.Sequential(*layers)


@program("plain_infer", "channels_last", size=(10, 32, 96, 48), dtype=torch.float16, kernel=3)
@program("plain_infer_large", "channels_last", size=(6, 64, 256, 56), dtype=HALF, kernel=3)
@program("plain_infer_float", "channels_last", size=(6, 64, 128, 56), dtype=torch.float32, kernel=5)
def plain_infer(option: str, size: tuple[int, ...], dtype: torch.dtype, kernel: int) -> Steps:
    """Run convolutions without normalization."""
    depth, batch, channels, side = size
    net = plain(channels, depth, kernel).to(DEVICE, dtype).eval()
    shape = (max(batch // SMALL, 1), channels, side // min(SMALL, 4), side)
    net, x = laid_out(option, net, torch.randn(shape, device=DEVICE, dtype=dtype))
    return infer(option, net, x)


class Decoded(Dataset[torch.Tensor]):
    """Rows that are decompressed and scaled when they are read."""

    def __init__(self, rounds: int, shape: tuple[int, ...]) -> None:
        n = torch.Size(shape).numel()
        values = torch.randint(0, 24, (n,), dtype=torch.uint8)
        self.packed = zlib.compress(values.numpy().tobytes())
        self.rounds, self.shape = rounds, shape

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        for _ in range(self.rounds):
            bytes_of = zlib.decompress(self.packed)
        found = torch.frombuffer(bytearray(bytes_of), dtype=torch.uint8).view(self.shape)
        return found.float().sub_(12).div_(24)


def small_net() -> nn.Module:
    """Build convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, stride=2), nn.ReLU(), plain(32, 4), nn.AdaptiveAvgPool2d(1)
    )


def next_net() -> nn.Module:
    """Build bottlenecks on patches."""
    return nn.Sequential(nn.Conv2d(3, 64, 4, stride=4), *(bottleneck(64, 4) for _ in range(4)))


@program("rows_main", "input_ready", workers=0, rounds=1, batch=8, pins=False, makes=small_net)
@program("rows_two", "input_ready", workers=2, rounds=2, batch=16, pins=False, makes=small_net)
@program("rows_pinned", "input_ready", workers=3, rounds=2, batch=32, pins=True, makes=small_net)
@program("rows_next", "input_ready", workers=0, rounds=2, batch=4, pins=False, makes=next_net)
@program("rows_many", "input_ready", workers=4, rounds=1, batch=64, pins=True, makes=next_net)
def rows(  # noqa: PLR0913 - the settings of the program
    option: str,
    workers: int,
    rounds: int,
    batch: int,
    makes: Callable[[], nn.Module],
    *,
    pins: bool,
) -> Steps:
    """Train on rows that a DataLoader decodes, or on a batch that exists already."""
    data = Decoded(rounds, (3, 160, 160))
    net = makes().to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, foreach=True)
    if option == "input_ready":
        first = torch.stack([data[i] for i in range(batch)])
        return train(option, net, optimizer, same(first.pin_memory() if pins and ON_GPU else first))
    loader = DataLoader(data, batch, num_workers=workers, pin_memory=pins and ON_GPU)
    return train(option, net, optimizer, loader)


@program("send_small", "dtype=bf16", size=(512, 1024, 6), dtype=torch.float32, pins=False)
@program("send_large", "dtype=bf16", size=(8192, 2048, 3), dtype=torch.float32, pins=False)
@program("send_pinned", "dtype=bf16", size=(16384, 1024, 2), dtype=torch.float32, pins=True)
@program("send_double", "dtype=float64:bf16", size=(2048, 1024, 4), dtype=torch.float64, pins=False)
@program("send_middle", "dtype=bf16", size=(2048, 1024, 8), dtype=torch.float32, pins=False)
def send(option: str, size: tuple[int, ...], dtype: torch.dtype, *, pins: bool) -> Steps:
    """Copy a batch from host memory in every step, then run layers on it."""
    n, width, depth = size
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.SiLU())]
    net = nn.Sequential(*layers).to(DEVICE).eval()
    batches = [torch.rand(n // SMALL, width, dtype=dtype) for _ in range(3)]
    if option == "dtype":
        batches = [batch.bfloat16() for batch in batches]
    if pins and ON_GPU:
        batches = [batch.pin_memory() for batch in batches]

    def step() -> None:
        batches.append(batches.pop(0))
        with torch.no_grad():
            net(batches[0].to(DEVICE, non_blocking=pins).float())

    return repeat(step)


NSYS = (
    "next_train",
    "window_train",
    "window_train_large",
    "points_train",
    "groups_train",
    "tables_train",
    "boxes_infer",
    "boxes_read",
    "cells_train",
    "lstm_infer",
    "scan_infer",
    "spectral_infer",
    "experts_infer",
    "products_infer",
    "policy_train",
    "plain_infer",
    "plain_infer_large",
    "rows_main",
    "rows_two",
    "send_large",
)
"""Programs that are timed in turns with nsys."""
LIVE = (
    "next_train",
    "window_train",
    "points_train",
    "cells_train",
    "tables_train",
    "policy_train",
    "groups_train_large",
    "plain_infer",
    "spectral_infer",
    "experts_infer",
    "rows_two",
    "rows_main",
)
"""Programs that are captured live, in turns with a process that never profiles."""
CHANGED = tuple(name for name, entry in PROGRAMS.items() if entry.changes)
