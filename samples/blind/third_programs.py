"""Define the programs of the third judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from later_programs import optimizer_of, replayed, sent
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, laid_out, program, repeat, same
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

PROGRAMS.clear()


# Training


class Modulated(nn.Module):
    """A block of a diffusion transformer: norms are scaled and shifted by the noise's level."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.norm2 = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.mixed = nn.MultiheadAttention(width, heads, batch_first=True)
        self.wide, self.narrow = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.modulate = nn.Linear(width, 6 * width)

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        a, b, c, d, e, f = self.modulate(functional.silu(level))[:, None].chunk(6, -1)
        hidden = self.norm(x) * (1 + a) + b
        x = x + c * self.mixed(hidden, hidden, hidden, need_weights=False)[0]
        hidden = self.norm2(x) * (1 + d) + e
        return x + f * self.narrow(functional.gelu(self.wide(hidden), approximate="tanh"))


@program("diffuse_train", "fused_optimizer", "no_sync", size=(8, 16, 64, 256, 4), mixes=False)
@program(
    "diffuse_train_wide", "fused_optimizer", "compile", size=(6, 32, 256, 1024, 16), mixes=True
)
def diffuse_train(option: str, size: tuple[int, ...], *, mixes: bool) -> Steps:
    """Train a diffusion transformer; the small one goes parameter by parameter and prints."""
    depth, batch, length, width, heads = size
    blocks = nn.ModuleList(Modulated(width, heads) for _ in range(depth)).to(DEVICE)
    net = torch.compile(_InTurn(blocks)) if option == "compile" else _InTurn(blocks)
    x = torch.randn(max(batch // SMALL, 1), length, width, device=DEVICE)
    optimizer = optimizer_of(option, blocks, torch.optim.AdamW, lr=1e-4, foreach=mixes)

    def step() -> None:
        level, noise = torch.rand(len(x), 1, device=DEVICE), torch.randn_like(x)
        noisy = x * (1 - level[..., None]) + noise * level[..., None]
        with torch.autocast(DEVICE.type, HALF, enabled=mixes):
            loss = (net(noisy, level.expand(-1, width)) - noise).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not mixes and option != "no_sync":
            loss.item()

    return repeat(step)


class _InTurn(nn.Module):
    """Blocks that all get the same second argument."""

    def __init__(self, blocks: nn.ModuleList) -> None:
        super().__init__()
        self.blocks = blocks

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, level)
        return x


class Coupling(nn.Module):
    """A coupling of RealNVP: half of the numbers scales and shifts the other half."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(width // 2, inner), nn.ReLU(), nn.Linear(inner, inner), nn.ReLU()
        )
        self.scale, self.shift = nn.Linear(inner, width // 2), nn.Linear(inner, width // 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        left, right = x.chunk(2, -1)
        hidden = self.net(left)
        scale = self.scale(hidden).tanh()
        return torch.cat([right * scale.exp() + self.shift(hidden), left], -1), scale.sum(-1)


@program("flow_train", "fused_optimizer", "no_sync", size=(10, 512, 64, 256))
def flow_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a normalizing flow with Adam, parameter by parameter; a NaN ends it."""
    depth, batch, width, inner = size
    layers = nn.ModuleList(Coupling(width, inner) for _ in range(depth)).to(DEVICE)
    x = torch.randn(batch, width, device=DEVICE)
    optimizer = optimizer_of(option, layers, torch.optim.Adam, lr=1e-4, foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        y, volume = x, x.new_zeros(len(x))
        for layer in layers:
            y, more = layer(y)
            volume = volume + more
        loss = (0.5 * y.square().sum(-1) - volume).mean()
        if option != "no_sync" and torch.isnan(loss):
            raise ValueError("diverged")
        loss.backward()
        optimizer.step()

    return repeat(step)


class Routed(nn.Module):
    """Capsules whose votes are routed by agreement."""

    def __init__(self, inside: int, outside: int, size: int) -> None:
        super().__init__()
        self.votes = nn.Parameter(0.05 * torch.randn(inside, outside, 8, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        votes = torch.einsum("bic,iocs->bios", x, self.votes)
        logits = votes.new_zeros(votes.shape[:3])
        for _ in range(3):
            mixed = (logits.softmax(2)[..., None] * votes).sum(1)
            length = mixed.norm(dim=-1, keepdim=True)
            out = mixed * length / (1 + length.square())
            logits = logits + (votes * out[:, None]).sum(-1)
        return out


@program("capsule_train", "fused_optimizer", batch=32)
def capsule_train(option: str, batch: int) -> Steps:
    """Train capsules behind a convolution with SGD, parameter by parameter."""
    front = nn.Sequential(nn.Conv2d(1, 64, 9), nn.ReLU(), nn.Conv2d(64, 64, 9, stride=2))
    routed = Routed(8 * 36, 10, 16)
    net = nn.ModuleList([front, routed]).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 1), 1, 28, 28, device=DEVICE)
    wanted = torch.randint(0, 10, (len(x),), device=DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=1e-3, momentum=0.9, foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        lengths = net[1](net[0](x).reshape(len(x), -1, 8)).norm(dim=-1)
        functional.multi_margin_loss(lengths, wanted).backward()
        optimizer.step()

    return repeat(step)


class Halved(nn.Module):
    """A residual block that halves the picture."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm, self.norm2 = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)
        self.skip = nn.Conv2d(inside, outside, 1, stride=2, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = functional.relu6(self.norm(self.first(x)))
        return functional.relu6(self.skip(x) + self.norm2(self.second(hidden)))


@program(
    "triplet_train", "channels_last", "no_sync", "fused_optimizer", size=(12, 32, 96), mixes=False
)
@program("triplet_train_wide", "channels_last", "compile", size=(96, 96, 128), mixes=True)
def triplet_train(option: str, size: tuple[int, ...], *, mixes: bool) -> Steps:
    """Train an embedding of pictures on triplets, with torch's default SGD."""
    batch, width, side = size
    widths = [width, 2 * width, 4 * width, 4 * width]
    blocks = [Halved(a, b) for a, b in zip([3, *widths], widths, strict=False)]
    net = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(DEVICE)
    x = torch.randn(3 * max(batch // SMALL, 1), 3, side, side, device=DEVICE)
    net, x = laid_out(option, net, x)
    run = torch.compile(net) if option == "compile" else net
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=1e-3, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE.type, HALF, enabled=mixes):
            anchor, near, far = run(x).float().chunk(3)
        loss = functional.triplet_margin_loss(anchor, near, far)
        loss.backward()
        if not mixes and option != "no_sync":
            (loss > 0).float().mean().item()
        optimizer.step()

    return repeat(step)


class Written(nn.Module):
    """Attention that is written out, with a bias by distance."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        hidden = self.norm(x)
        query, key, value = (
            layer(hidden).view(batch, length, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:
            scores = query @ key.mT / math.sqrt(width // self.heads)
            mixed = scores.softmax(-1) @ value
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.relu(self.wide(self.norm2(x))).square())


@program("answer_infer", "sdpa", "cuda_graph", "compile", size=(8, 4, 128, 512, 8))
@program("answer_infer_wide", "sdpa", "compile", size=(6, 8, 1024, 1024, 16))
def answer_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Encode a question; attention is written out. The wide one keeps the device busy."""
    depth, batch, length, width, heads = size
    length, width = length // min(SMALL, 4), width // min(SMALL, 4)
    layers = [Written(width, heads, fused=option == "sdpa") for _ in range(depth)]
    net = nn.Sequential(*layers).to(DEVICE, HALF).eval()
    x = torch.randn(batch, length, width, device=DEVICE, dtype=HALF)
    return replayed(option, net, x)


# Inference


class Pyramid(nn.Module):
    """Features of three sizes that are added up, and boxes of each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(Halved(a, b) for a, b in zip([3, *widths], widths, strict=False))
        self.side = nn.ModuleList(nn.Conv2d(w, width, 1) for w in widths)
        self.head = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU6(), nn.Conv2d(width, 9, 3, padding=1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = []
        for down in self.down:
            x = down(x)
            levels.append(x)
        above = self.side[-1](levels[-1])
        found = [self.head(above).flatten(2)]
        for side, level in zip(reversed(self.side[:-1]), reversed(levels[:-1]), strict=False):
            above = side(level) + functional.interpolate(above, scale_factor=2)
            found.append(self.head(above).flatten(2))
        return torch.cat(found, -1).sigmoid().topk(100, -1).values


@program("pyramid_infer", "channels_last", "cuda_graph", size=(2, 32, 128), dtype=torch.float32)
@program("pyramid_infer_wide", "channels_last", size=(48, 96, 256), dtype=torch.float16)
def pyramid_infer(option: str, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Find objects in pictures."""
    batch, width, side = size
    net = Pyramid(width).to(DEVICE, dtype).eval()
    x = torch.randn(max(batch // SMALL, 1), 3, side, side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, net, x)
    return replayed(option, net, x)


class Flowing(nn.Module):
    """A neural ODE: the same network in each of four stages of many steps."""

    def __init__(self, width: int, n: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
        self.n = n

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.n):
            a = self.net(x)
            b = self.net(x + 0.05 * a)
            c = self.net(x + 0.05 * b)
            x = x + (a + 2 * b + 2 * c + self.net(x + 0.1 * c)) / 60
        return x


@program("flowing_infer", "cuda_graph", "compile", size=(256, 128, 10))
def flowing_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Integrate a neural ODE by the method of Runge and Kutta."""
    batch, width, n = size
    return replayed(
        option, Flowing(width, n).to(DEVICE).eval(), torch.randn(batch, width, device=DEVICE)
    )


@program("nearest_infer", "no_sync", size=(200_000, 128, 32))
def nearest_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Look up the nearest of many vectors; each question's answer is read at once."""
    n, width, questions = size
    known = torch.randn(n // SMALL, width, device=DEVICE, dtype=HALF if ON_GPU else torch.float32)
    net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, width)).to(
        DEVICE, known.dtype
    )
    x = torch.randn(questions, 8, 64, device=DEVICE, dtype=known.dtype)

    def step() -> None:
        with torch.no_grad():
            for question in x[::4]:
                best = (net(question) @ known.mT).topk(5).indices
                if option != "no_sync":
                    best[0, 0].item()

    return repeat(step)


# Copies


@program("volumes_send", "pinned", "dtype=bf16", size=(4, 1, 48, 96, 96))
def volumes_send(option: str, size: tuple[int, ...]) -> Steps:
    """Send volumes of 7 MiB in all to convolutions in three dimensions."""
    net = nn.Sequential(nn.Conv3d(1, 16, 3, stride=2), nn.SELU(), nn.Conv3d(16, 16, 3, stride=2))
    return sent(option, [torch.rand(size)], net.to(DEVICE).eval())


@program("series_send", "pinned", "dtype=float64:bf16", size=(512, 24, 128))
def series_send(option: str, size: tuple[int, ...]) -> Steps:
    """Send series of float64, 12 MiB, to a convolution over time."""
    net = nn.Sequential(nn.Conv1d(24, 64, 7), nn.Softsign(), nn.AdaptiveMaxPool1d(1), nn.Flatten())
    return sent(option, [torch.rand(size, dtype=torch.float64)], net.to(DEVICE).eval())


@program("pages_send", "pinned", "dtype=bf16", n=3, size=(4096, 1536))
def pages_send(option: str, n: int, size: tuple[int, int]) -> Steps:
    """Send three batches of 24 MiB, each to layers of its own length."""
    net = nn.Sequential(nn.Linear(size[1], 2048), nn.Mish(), nn.Linear(2048, 256)).to(DEVICE).eval()
    return sent(option, [torch.rand(size[0] // SMALL, size[1]) for _ in range(n)], net)


@program("marks_send", "pinned", "dtype=bf16", size=(48, 4096))
def marks_send(option: str, size: tuple[int, int]) -> Steps:
    """Send little: 768 KiB to a small network."""
    net = nn.Sequential(nn.Linear(size[1], 64), nn.Hardswish(), nn.Linear(64, 4)).to(DEVICE).eval()
    return sent(option, [torch.rand(size)], net)


# Loaders


class Drawn(IterableDataset[torch.Tensor]):
    """Pictures of circles that Python draws, turned and blurred when they are read."""

    def __init__(self, side: int, rounds: int) -> None:
        self.side, self.rounds = side, rounds
        self.grid = torch.stack(
            torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        )

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = get_worker_info()
        drawn = torch.Generator().manual_seed(worker.id if worker else 0)
        while True:
            yield self.one(drawn)

    def one(self, drawn: torch.Generator) -> torch.Tensor:
        picture = torch.zeros(self.side, self.side)
        for _ in range(self.rounds):
            middle = torch.rand(2, generator=drawn) * self.side
            apart = (self.grid - middle[:, None, None]).square().sum(0)
            picture = picture + (apart < 64).float()
        return functional.avg_pool2d(picture.rot90()[None], 3, 1, 1)


@program("fetch_main", "input_ready", workers=0, rounds=4, batch=8, pins=False)
@program("fetch_one", "input_ready", workers=1, rounds=8, batch=12, pins=False)
@program("fetch_two", "input_ready", "workers=2:4", workers=2, rounds=16, batch=16, pins=True)
@program("fetch_four", "input_ready", "workers=4:8", workers=4, rounds=24, batch=32, pins=True)
def fetch(option: str, workers: int, rounds: int, batch: int, *, pins: bool) -> Steps:
    """Train on pictures of a DataLoader, or on a batch that is on the host already."""
    data = Drawn(96, rounds)
    blocks = [Halved(a, b) for a, b in ((1, 32), (32, 64), (64, 64))]
    net = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(64 * 144, 10)).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    is_pinned = pins and ON_GPU
    if option == "input_ready":
        drawn = torch.Generator().manual_seed(0)
        first = torch.stack([data.one(drawn) for _ in range(batch)])
        batches = same(first.pin_memory() if is_pinned else first)
    else:
        n = 2 * workers if option == "workers" else workers
        batches = iter(DataLoader(data, batch, num_workers=n, pin_memory=is_pinned))

    def step() -> None:
        x = next(batches).to(DEVICE, non_blocking=is_pinned)
        optimizer.zero_grad()
        net(x).logsumexp(-1).mean().backward()
        optimizer.step()

    return repeat(step)


NSYS: tuple[str, ...] = ()
LOADED = ("fetch",)
"""Prefixes of the names of programs that a loader feeds."""
LIVE = (
    "diffuse_train",
    "flow_train",
    "capsule_train",
    "triplet_train",
    "triplet_train_wide",
    "answer_infer",
    "answer_infer_wide",
    "pyramid_infer",
    "flowing_infer",
    "nearest_infer",
    "pages_send",
    "fetch_main",
    "fetch_two",
)
"""Programs that are captured live, in turns with a process that never profiles."""
CHANGED = tuple(name for name, entry in PROGRAMS.items() if entry.changes)
CAPTURES: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "usual": ({}, {}),
    "teardown": ({}, {"TEARDOWN_CUPTI": "1"}),
}
N_LIVE = (20, 40, 30)
"""Numbers of steps: warm-up, timed before and after, and run by a captured process at first."""
N_ALTERNATING = (8, 15)
"""The captured process and an unrecorded one then take this many turns of this many steps.

Programs with a loader take one long turn instead.
"""
N_AGAIN = 1
"""Times that traces before changes are recorded again, after all programs of the process."""
