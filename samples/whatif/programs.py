"""Define programs, each with real changes: the same work, before and after.

A program is a function of options; it yields at the end of each step. An option is a word that
`tracelens whatif` knows, without its value if the program has only one.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
SMALL = 1 if ON_GPU else 8
"""Divisor of sizes on a machine without a GPU, to try the script."""
Steps = Generator[None, None, None]


@dataclass(frozen=True)
class Program:
    """A program and its changes: option to expression of `tracelens whatif`."""

    name: str
    steps: Callable[..., Steps]
    changes: dict[str, str]
    batches: tuple[int, ...] = ()
    """Batch sizes: the first two are captured, the third is predicted."""
    settings: dict[str, Any] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {}


def program(
    name: str, changes: dict[str, str], batches: tuple[int, ...] = (), **settings: Any
) -> Callable[[Callable[..., Steps]], Callable[..., Steps]]:
    """Register a program with these settings."""

    def enter(steps: Callable[..., Steps]) -> Callable[..., Steps]:
        PROGRAMS[name] = Program(name, steps, changes, batches, settings)
        return steps

    return enter


def loop(step: Callable[[], object], option: str | None) -> Steps:
    """Repeat the step, as one CUDA graph if that is the option."""
    if option == "cuda_graph" and ON_GPU:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        step = graph.replay
    while True:
        step()
        yield


class Attention(nn.Module):
    """Self-attention, written out or by the library's kernel."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend to all previous tokens."""
        n, length, width = x.shape
        parts = self.mixed(x).view(n, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            mixed = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(n, length, width))


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, fused=fused)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply attention and a small network, each added to its input."""
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Residual(nn.Module):
    """Two convolutions with normalization, added to their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the convolutions, add the input, and apply ReLU."""
        return functional.relu(x + self.body(x))


def optimizer_of(net: nn.Module, option: str | None, kind: str) -> torch.optim.Optimizer:
    """Return Adam or SGD, parameter by parameter or fused."""
    fused = {"fused": True} if option == "fused_optimizer" and ON_GPU else {"foreach": False}
    if kind == "sgd":
        return torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, **fused)
    if option == "cuda_graph" and ON_GPU:
        return torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=False, capturable=True)
    return torch.optim.AdamW(net.parameters(), lr=1e-4, **fused)


def maybe_compiled(net: nn.Module, option: str | None) -> Any:
    """Compile the network if that is the option."""
    return torch.compile(net) if option == "compile" else net


_GPT = {"fused_optimizer": "fused_optimizer", "sdpa": "sdpa", "compile": "compile"}


@program("gpt_train_small", {**_GPT, "cuda_graph": "cuda_graph"}, size=(4, 8, 128, 256, 8))
@program("gpt_train", _GPT, size=(6, 8, 512, 512, 8))
def gpt_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train a transformer with attention written out, AdamW parameter by parameter."""
    depth, batch, length, width, heads = size
    width, batch = width // SMALL, batch // min(SMALL, 2)
    net = nn.Sequential(*(Block(width, heads, fused=option == "sdpa") for _ in range(depth)))
    net = net.to(DEVICE)
    optimizer = optimizer_of(net, option, "adam")
    x = torch.randn(batch, length // SMALL, width, device=DEVICE)
    run = maybe_compiled(net, option)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        run(x).square().mean().backward()
        optimizer.step()

    return loop(step, option)


_INFER = {"cuda_graph": "cuda_graph", "sdpa": "sdpa", "compile": "compile"}


@program("gpt_decode", _INFER, size=(12, 1, 16, 512, 8))
@program("vit_infer", _INFER, batches=(8, 16, 32), size=(8, 16, 196, 384, 6))
@program("vit_infer_large", {"sdpa": "sdpa", "compile": "compile"}, size=(8, 64, 512, 768, 12))
def transformer_infer(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Run a transformer without gradients."""
    depth, default, length, width, heads = size
    n = batch or default
    width = width // (2 if SMALL > 1 else 1)
    net = nn.Sequential(*(Block(width, heads, fused=option == "sdpa") for _ in range(depth)))
    net = net.to(DEVICE).eval()
    x = torch.randn(n, length // SMALL, width, device=DEVICE)
    run = maybe_compiled(net, option)

    def step() -> None:
        with torch.no_grad():
            run(x)

    return loop(step, option)


_CONV = {"channels_last": "channels_last", "compile": "compile"}


@program(
    "conv_infer", {**_CONV, "cuda_graph": "cuda_graph"}, batches=(16, 32, 64), size=(8, 32, 64, 28)
)
@program(
    "conv_infer_large",
    {"channels_last": "channels_last"},
    batches=(32, 64, 128),
    size=(8, 128, 128, 28),
)
def conv_infer(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Run residual blocks of convolutions in float16 without gradients."""
    depth, default, channels, side = size
    n = (batch or default) // SMALL
    dtype = torch.float16 if ON_GPU else torch.float32
    net = nn.Sequential(*(Residual(channels) for _ in range(depth))).to(DEVICE, dtype).eval()
    x = torch.randn(n, channels, side, side, device=DEVICE, dtype=dtype)
    if option == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    run = maybe_compiled(net, option)

    def step() -> None:
        with torch.no_grad():
            run(x)

    return loop(step, option)


@program("conv_train", {**_CONV, "fused_optimizer": "fused_optimizer"}, size=(8, 32, 64, 28))
@program("conv_train_large", {"channels_last": "channels_last"}, size=(6, 128, 128, 28))
def conv_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train residual blocks in mixed precision with SGD."""
    depth, batch, channels, side = size
    net = nn.Sequential(*(Residual(channels) for _ in range(depth))).to(DEVICE)
    x = torch.randn(batch // SMALL, channels, side, side, device=DEVICE)
    if option == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = optimizer_of(net, option, "sgd")
    run = maybe_compiled(net, option)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE.type, torch.float16 if ON_GPU else torch.bfloat16):
            loss = run(x).float().square().mean()
        loss.backward()
        optimizer.step()

    return loop(step, option)


def mlp(width: int, depth: int) -> nn.Sequential:
    """Build layers of one width."""
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers).to(DEVICE)


@program(
    "mlp_train",
    {"cuda_graph": "cuda_graph", "fused_optimizer": "fused_optimizer"},
    batches=(512, 1024, 2048),
    size=(512, 20, 64),
)
@program(
    "mlp_train_wide",
    {"fused_optimizer": "fused_optimizer"},
    batches=(1024, 2048, 4096),
    size=(2048, 6, 1024),
)
def mlp_train(option: str | None, size: tuple[int, ...], batch: int | None = None) -> Steps:
    """Train linear layers with AdamW, parameter by parameter."""
    width, depth, default = size
    net = mlp(width // SMALL, depth)
    optimizer = optimizer_of(net, option, "adam")
    x = torch.randn((batch or default) // SMALL, width // SMALL, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        optimizer.step()

    return loop(step, option)


_COPY = {"pinned": "pinned", "dtype": "dtype=bf16"}


@program("copy_small", _COPY, size=(1024, 2048, 8), dtype=torch.float32)
@program("copy_large", _COPY, size=(16384, 1024, 4), dtype=torch.float32)
@program(
    "copy_double",
    {**_COPY, "dtype": "dtype=float64:bf16"},
    size=(4096, 1024, 4),
    dtype=torch.float64,
)
@program("copy_deep", _COPY, size=(4096, 1024, 40), dtype=torch.float32)
def copy(option: str | None, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Copy a batch from host to device in every step, and run layers on it."""
    rows, width, depth = size
    net = mlp(width // SMALL, depth)
    batches = [torch.rand(rows // SMALL, width // SMALL, dtype=dtype) for _ in range(4)]
    if option == "dtype":
        batches = [batch.to(torch.bfloat16) for batch in batches]
    if option == "pinned" and ON_GPU:
        batches = [batch.pin_memory() for batch in batches]

    def step() -> None:
        batches.append(batches.pop(0))
        x = batches[0].to(DEVICE, non_blocking=option == "pinned").float()
        with torch.no_grad():
            net(x)

    return loop(step, option)


def chain(
    option: str | None, wait: Callable[[torch.Tensor], object], depth: int, width: int
) -> Steps:
    """Run layers and synchronize after each, unless told otherwise."""
    net = mlp(width // SMALL, depth)
    x = torch.randn(512 // SMALL, width // SMALL, device=DEVICE)

    def step() -> None:
        y = x
        with torch.no_grad():
            for layer in net:
                y = layer(y)
                if option != "no_sync":
                    wait(y)

    return loop(step, option)


_SYNC = {"no_sync": "no_sync"}


@program("sync_item", _SYNC, size=(20, 1024))
def sync_item(option: str | None, size: tuple[int, int]) -> Steps:
    """Read a number of each layer back."""
    if option != "no_sync":
        return chain(option, lambda y: y[0, 0].item(), *size)
    return chain(option, lambda _: None, *size)


@program("sync_device", _SYNC, size=(20, 2048))
def sync_device(option: str | None, size: tuple[int, int]) -> Steps:
    """Synchronize the device after each layer."""
    wait = torch.cuda.synchronize if ON_GPU else (lambda: None)
    return chain(option, lambda _: wait(), *size)


@program("sync_loss", _SYNC, size=(2048, 6, 1024))
@program("sync_loss_narrow", _SYNC, size=(512, 20, 64))
def sync_loss(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train, and read the loss in each step."""
    width, depth, batch = size
    net = mlp(width // SMALL, depth)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(batch, width // SMALL, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        if option != "no_sync":
            loss.item()

    return loop(step, option)


PICTURE = zlib.compress(torch.randint(0, 32, (1 << 20,), dtype=torch.uint8).numpy().tobytes())


class Pictures(Dataset[torch.Tensor]):
    """Pictures that are decoded when read, several times each."""

    def __init__(self, rounds: int, width: int) -> None:
        self.rounds, self.width = rounds, width

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        for _ in range(self.rounds):
            pixels = zlib.decompress(PICTURE)
        values = torch.frombuffer(bytearray(pixels[: 64 * self.width]), dtype=torch.uint8)
        return values.view(64, self.width).float() / 32


_LOADER = {"input_ready": "input_ready"}


@program("input_main", {**_LOADER, "workers": "workers=4"}, n_workers=0, rounds=1, batch=4, after=4)
@program(
    "input_two", {**_LOADER, "workers": "workers=2:8"}, n_workers=2, rounds=4, batch=8, after=8
)
@program(
    "input_one", {**_LOADER, "workers": "workers=1:2"}, n_workers=1, rounds=2, batch=4, after=2
)
@program(
    "input_three", {**_LOADER, "workers": "workers=3:6"}, n_workers=3, rounds=3, batch=16, after=6
)
def loader(option: str | None, n_workers: int, rounds: int, batch: int, after: int) -> Steps:
    """Train on pictures that a DataLoader decodes."""
    width = 1024 // SMALL
    net = mlp(width, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    workers = after if option == "workers" else n_workers

    def batches() -> Iterator[torch.Tensor]:
        data = Pictures(rounds, width)
        if option == "input_ready":
            first = torch.stack([data[i] for i in range(batch)])
            while True:
                yield first
        yield from DataLoader(data, batch_size=batch, num_workers=workers)

    def steps() -> Steps:
        for x in batches():
            optimizer.zero_grad()
            net(x.to(DEVICE).flatten(0, 1)).square().mean().backward()
            optimizer.step()
            yield

    return steps()


CYCLES = 200_000
_SPIN = {"faster": "faster spin_kernel by 2"}


@program("spin_alone", _SPIN, n=8, beside=0, host_ms=0.0)
@program("spin_beside", _SPIN, n=8, beside=3, host_ms=0.0)
@program("spin_hidden", _SPIN, n=4, beside=0, host_ms=1.0)
@program("spin_mixed", _SPIN, n=12, beside=1, host_ms=0.3)
def spin(option: str | None, n: int, beside: int, host_ms: float) -> Steps:
    """Run kernels of a known duration, with matrix products and host work between them."""
    cycles = CYCLES // 2 if option == "faster" else CYCLES
    x = torch.randn(2048 // SMALL, 2048 // SMALL, device=DEVICE)

    def step() -> None:
        for i in range(n):
            if ON_GPU:
                torch.cuda._sleep(cycles)  # noqa: SLF001 - the kernel whose time can be chosen
            for _ in range(beside if i % 2 else 0):
                x @ x
        until = time.perf_counter() + host_ms / 1e3
        while time.perf_counter() < until:
            pass
        if ON_GPU:
            torch.cuda.synchronize()

    return loop(step, option)


@program("repeat_device", {"faster": "faster aten::cumsum by 2"}, rows=4096, n=8, between=2)
@program("repeat_mixed", {"faster": "faster aten::cumsum by 2"}, rows=512, n=12, between=4)
def repeat(option: str | None, rows: int, n: int, between: int) -> Steps:
    """Sum over rows several times after each layer.

    The change removes half of the sums on both devices.
    """
    x = torch.randn(rows // SMALL, 1024 // SMALL, device=DEVICE)
    net = mlp(1024 // SMALL, between)
    repeats = n // 2 if option == "faster" else n

    def step() -> None:
        with torch.no_grad():
            y = net(x)
            for _ in range(repeats):
                y.cumsum(0)

    return loop(step, option)
