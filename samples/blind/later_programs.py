"""Define the programs of the second judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from itertools import pairwise

import torch
from programs import (
    DEVICE,
    HALF,
    ON_GPU,
    PROGRAMS,
    SMALL,
    Around,
    Steps,
    infer,
    laid_out,
    program,
    repeat,
    same,
)
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

PROGRAMS.clear()


def optimizer_of(
    option: str, net: nn.Module, kind: type[torch.optim.Optimizer], **settings: object
) -> torch.optim.Optimizer:
    """Return the optimizer of a network, fused if that is the option."""
    if option == "fused_optimizer" and ON_GPU:
        settings = {**settings, "foreach": None, "fused": True}
    return kind(net.parameters(), **settings)  # type: ignore[call-arg]


def replayed(option: str, net: nn.Module, *inputs: torch.Tensor) -> Steps:
    """Run the network without gradients, replayed as a CUDA graph if that is the option."""
    if option != "cuda_graph" or not ON_GPU:
        return infer(option, net, *inputs)
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.no_grad():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                net(*inputs)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            net(*inputs)
    return repeat(graph.replay)


# Training


def double(inside: int, outside: int) -> nn.Sequential:
    """Stack two convolutions with batch norm."""
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.LeakyReLU(0.1),
        nn.Conv2d(outside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.LeakyReLU(0.1),
    )


class Segmenting(nn.Module):
    """A U-Net of three levels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3, *widths], widths, strict=False))
        self.rise = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairwise(widths)
        )
        self.up = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.out = nn.Conv2d(width, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for i, down in enumerate(self.down):
            x = down(functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i in (1, 0):
            x = self.up[i](torch.cat([kept[i], self.rise[i](x)], 1))
        return self.out(x)


@program("unet_train", "channels_last", "fused_optimizer", size=(4, 16, 96), mixes=False)
@program("unet_train_wide", "channels_last", size=(16, 64, 128), mixes=True)
@program("unet_train_float", "channels_last", size=(8, 32, 128), mixes=False)
def unet_train(option: str, size: tuple[int, ...], *, mixes: bool) -> Steps:
    """Train a U-Net with Adam, parameter by parameter.

    The wide U-Net uses the multi-tensor optimizer and mixed precision.
    """
    batch, width, side = size
    net = Segmenting(width).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 2), 3, side // min(SMALL, 4), side, device=DEVICE)
    net, x = laid_out(option, net, x)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-4, foreach=mixes)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF, enabled=mixes):
            loss = net(x).float().logsumexp(1).mean()
        loss.backward()
        optimizer.step()

    return repeat(step)


class Mixing(nn.Module):
    """A block of MLP-Mixer."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(
            nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens)
        )
        self.within = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.across(self.norm(x).mT).mT
        return x + self.within(self.norm2(x))


@program("mixer_train", "fused_optimizer", "no_sync", size=(8, 32, 49, 192))
def mixer_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train MLP-Mixer with torch's default AdamW; the loss is read in every step."""
    depth, batch, tokens, width = size
    net = nn.Sequential(*(Mixing(tokens, width) for _ in range(depth))).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 1), tokens, width, device=DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-4)

    def step() -> None:
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if option != "no_sync":
            loss.item()

    return repeat(step)


class Coding(nn.Module):
    """A variational autoencoder of linear layers."""

    def __init__(self, n: int, inner: int, code: int) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(n, inner), nn.ELU(), nn.Linear(inner, inner), nn.ELU()
        )
        self.mean, self.spread = nn.Linear(inner, code), nn.Linear(inner, code)
        self.decode = nn.Sequential(
            nn.Linear(code, inner), nn.ELU(), nn.Linear(inner, inner), nn.ELU(), nn.Linear(inner, n)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.encode(x)
        mean, spread = self.mean(hidden), self.spread(hidden)
        drawn = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        error = functional.binary_cross_entropy_with_logits(self.decode(drawn), x)
        return error, -0.5 * (1 + spread - mean.square() - spread.exp()).mean()


@program("vae_train", "fused_optimizer", "no_sync", size=(128, 784, 400, 20))
def vae_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a small autoencoder with Adam, parameter by parameter.

    Both losses are read in every step.
    """
    batch, n, inner, code = size
    net = Coding(n, inner, code).to(DEVICE)
    x = torch.rand(batch, n, device=DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3, foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        error, apart = net(x)
        if option != "no_sync":
            error.item()
            apart.item()
        (error + apart).backward()
        optimizer.step()

    return repeat(step)


@program("contrast_train", "fused_optimizer", size=(256, 512, 6))
def contrast_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train two towers with a contrastive loss over all pairs of a batch.

    SGD is the multi-tensor one, and gradients are clipped.
    """
    batch, width, depth = size

    def tower() -> nn.Sequential:
        parts = [
            part
            for _ in range(depth)
            for part in (nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())
        ]
        return nn.Sequential(*parts)

    net = nn.ModuleList([tower(), tower()]).to(DEVICE)
    left, right = (torch.randn(batch, width, device=DEVICE) for _ in range(2))
    wanted = torch.arange(batch, device=DEVICE)
    optimizer = optimizer_of(
        option, net, torch.optim.SGD, lr=1e-2, momentum=0.9, weight_decay=1e-4, foreach=True
    )

    def step() -> None:
        optimizer.zero_grad()
        a, b = (functional.normalize(t(x), dim=-1) for t, x in zip(net, (left, right), strict=True))
        alike = a @ b.mT * 20
        loss = functional.cross_entropy(alike, wanted) + functional.cross_entropy(alike.mT, wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return repeat(step)


class Hearing(nn.Module):
    """Strided convolutions and cuDNN's GRU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv1d(80, width, 5, stride=2), nn.Hardtanh(), nn.Conv1d(width, width, 5, stride=2)
        )
        self.hear = nn.GRU(width, width, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.hear(self.front(x).mT)[0])


@program("speech_train", "no_sync", "fused_optimizer", size=(16, 400, 256))
def speech_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a speech recognizer with AdamW, parameter by parameter; its accuracy is read."""
    batch, length, width = size
    net = Hearing(width // min(SMALL, 4)).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 1), 80, length // min(SMALL, 4), device=DEVICE)
    wanted = net(x).argmax(-1)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-3, foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        said = net(x)
        functional.cross_entropy(said.flatten(0, 1), wanted.flatten()).backward()
        if option != "no_sync":
            (said.argmax(-1) == wanted).float().mean().item()
        optimizer.step()

    return repeat(step)


# Inference


class Gated(nn.Module):
    """A layer of WaveNet."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.wide = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.back = nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.wide(x).chunk(2, 1)
        gated = self.back(left.tanh() * right.sigmoid())
        return gated + x[..., -gated.shape[-1] :]


@program("wave_infer", "cuda_graph", size=(2, 64, 2400))
def wave_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run dilated convolutions over sound."""
    batch, width, length = size
    layers = [Gated(width, 2**i) for _ in range(2) for i in range(9)]
    net = nn.Sequential(*layers).to(DEVICE).eval()
    return replayed(option, net, torch.randn(batch, width, length, device=DEVICE))


class Fire(nn.Module):
    """A block of SqueezeNet with a gate for each channel."""

    def __init__(self, inside: int, squeezed: int, outside: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inside, squeezed, 1)
        self.small = nn.Conv2d(squeezed, outside // 2, 1)
        self.large = nn.Conv2d(squeezed, outside // 2, 3, padding=1)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(outside, outside // 8, 1),
            nn.ReLU(),
            nn.Conv2d(outside // 8, outside, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.squeeze(x).relu()
        x = torch.cat([self.small(x), self.large(x)], 1).relu()
        return x * self.gate(x)


@program("squeeze_infer", "channels_last", "cuda_graph", batch=4, side=96, dtype=torch.float32)
@program("squeeze_infer_wide", "channels_last", batch=64, side=160, dtype=torch.float16)
def squeeze_infer(option: str, batch: int, side: int, dtype: torch.dtype) -> Steps:
    """Run SqueezeNet with gates."""
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2),
        Fire(64, 16, 128),
        Fire(128, 16, 128),
        nn.MaxPool2d(3, 2),
        Fire(128, 32, 256),
        Fire(256, 32, 256),
        nn.MaxPool2d(3, 2),
        Fire(256, 48, 384),
        Fire(384, 64, 512),
    )
    net = net.to(DEVICE, dtype).eval()
    x = torch.randn(max(batch // SMALL, 1), 3, side, side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, net, x)
    return replayed(option, net, x)


@program("enlarge_infer", "channels_last", "cuda_graph", size=(4, 96, 120), dtype=HALF)
def enlarge_infer(option: str, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Enlarge pictures: residual convolutions, then a pixel shuffle to twice the size."""
    depth, width, side = size
    body = [
        Around(
            nn.Conv2d(width, width, 3, padding=1),
            nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )
        for _ in range(depth)
    ]
    net = nn.Sequential(
        nn.Conv2d(3, width, 5, padding=2),
        *body,
        nn.Conv2d(width, 12, 3, padding=1),
        nn.PixelShuffle(2),
    )
    net = net.to(DEVICE, dtype).eval()
    x = torch.randn(4, 3, side // min(SMALL, 4), side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, net, x)
    return replayed(option, net, x)


class Scoring(nn.Module):
    """A recurrent cell and scores of the next word."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.known = nn.Embedding(words, width)
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(width, words)

    def forward(self, word: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(self.known(word), state)
        return self.out(state).log_softmax(-1), state


class Beaming(nn.Module):
    """Beam search over the best words of all beams.

    Each round reads whether all beams have ended.
    """

    def __init__(self, scoring: Scoring, n_beams: int, length: int, *, reads: bool) -> None:
        super().__init__()
        self.scoring, self.n_beams, self.length, self.reads = scoring, n_beams, length, reads

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        word = torch.zeros(self.n_beams, dtype=torch.long, device=state.device)
        total = torch.zeros(self.n_beams, 1, device=state.device)
        for _ in range(self.length):
            scores, state = self.scoring(word, state)
            best, place = (total + scores).flatten().topk(self.n_beams)
            word, state = place % scores.shape[1], state[place // scores.shape[1]]
            total = best[:, None]
            if self.reads and bool((word == -1).all()):
                break
        return total


@program("beam_infer", "no_sync", words=8000, width=256, beams=8, length=16)
def beam_infer(option: str, words: int, width: int, beams: int, length: int) -> Steps:
    """Search for a caption."""
    scoring = Scoring(words, width)
    net = Beaming(scoring, beams, length, reads=option != "no_sync").to(DEVICE).eval()
    return infer(option, net, torch.randn(beams, width, device=DEVICE))


class Turning(nn.Module):
    """A layer of a transformer with rotated queries, groups of heads and a gated MLP."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.mixed = nn.Linear(width, width + 2 * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        angle = torch.arange(length)[:, None] / 10_000 ** torch.linspace(0, 1, self.size // 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def turn(self, x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        turned = (left * self.cos - right * self.sin, left * self.sin + right * self.cos)
        return torch.cat(turned, -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = self.mixed(self.norm(x)).split([width, self.size, self.size], -1)
        query = self.turn(query.view(batch, length, self.heads, self.size).mT.mT.transpose(1, 2))
        key = self.turn(key[:, None]).expand_as(query)
        value = value[:, None].expand_as(query)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        hidden = self.norm2(x)
        return x + self.down(functional.silu(self.gate(hidden)) * self.up(hidden))


@program("turn_infer", "cuda_graph", size=(12, 1, 128, 512, 8))
@program("turn_infer_wide", "cuda_graph", size=(8, 8, 1024, 2048, 16))
def turn_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Run a language model over a prompt; the wide one keeps the device busy."""
    depth, batch, length, width, heads = size
    length, width = length // min(SMALL, 4), width // min(SMALL, 4)
    layers = [Turning(width, heads, length) for _ in range(depth)]
    net = nn.Sequential(*layers).to(DEVICE, HALF).eval()
    return replayed(option, net, torch.randn(batch, length, width, device=DEVICE, dtype=HALF))


class Filtering(nn.Module):
    """A Kalman filter of many small systems, written out."""

    def __init__(self, n: int, length: int) -> None:
        super().__init__()
        self.moves = nn.Parameter(0.1 * torch.randn(n, n))
        self.n, self.length = n, length

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        state = seen.new_zeros(seen.shape[1], self.n, 1)
        spread = torch.eye(self.n, device=seen.device).expand(seen.shape[1], -1, -1)
        for step in range(self.length):
            state = self.moves @ state
            spread = self.moves @ spread @ self.moves.mT + 0.01
            gain = spread[..., :1] / (spread[:, :1, :1] + 0.1)
            state = state + gain * (seen[step, :, None, None] - state[:, :1])
            spread = spread - gain @ spread[:, :1]
        return state


@program("filter_infer", "cuda_graph", n=6, systems=512, length=24)
def filter_infer(option: str, n: int, systems: int, length: int) -> Steps:
    """Filter many systems at once."""
    net = Filtering(n, length).to(DEVICE).eval()
    return replayed(option, net, torch.randn(length, systems, device=DEVICE))


@program("ranks_infer", "no_sync", size=(4096, 64), rounds=6)
def ranks_infer(option: str, size: tuple[int, ...], rounds: int) -> Steps:
    """Thin out candidates round by round; the spread of their scores is read and printed."""
    n, width = size
    net = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 1)).to(DEVICE).eval()
    x = torch.randn(n, width, device=DEVICE)

    def step() -> None:
        kept = x
        with torch.no_grad():
            for _ in range(rounds):
                scores = net(kept).squeeze(1)
                best, place = scores.topk(max(len(kept) // 2, 1))
                kept = kept[place] * best[:, None].sigmoid()
                if option != "no_sync":
                    (best.max() - best.min()).item()

    return repeat(step)


# Copies


def sent(option: str, parts: list[torch.Tensor], net: nn.Module) -> Steps:
    """Copy a batch from host memory in every step, then run the network on it."""
    if option == "dtype":
        parts = [part.to(HALF) for part in parts]
    pins = option == "pinned" and ON_GPU
    if pins:
        parts = [part.pin_memory() for part in parts]

    def step() -> None:
        with torch.no_grad():
            for part in parts:
                x = part.to(DEVICE, non_blocking=pins)
                net(x if x.dtype is torch.long else x.float())

    return repeat(step)


@program("frames_send", "pinned", "dtype=bf16", batch=32)
def frames_send(option: str, batch: int) -> Steps:
    """Send pictures to a few convolutions."""
    net = nn.Sequential(nn.Conv2d(3, 32, 7, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2))
    return sent(option, [torch.rand(batch // SMALL, 3, 224, 224)], net.to(DEVICE).eval())


@program("words_send", "pinned", size=(64, 4096))
def words_send(option: str, size: tuple[int, int]) -> Steps:
    """Send word numbers to their embeddings."""
    net = nn.Sequential(nn.Embedding(1000, 64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8))
    return sent(option, [torch.randint(0, 1000, size)], net.to(DEVICE).eval())


@program("parts_send", "pinned", "dtype=bf16", n=8, size=(512, 768))
def parts_send(option: str, n: int, size: tuple[int, int]) -> Steps:
    """Send eight small batches one after the other."""
    net = nn.Sequential(nn.Linear(size[1], 512), nn.Tanh(), nn.Linear(512, 64)).to(DEVICE).eval()
    return sent(option, [torch.rand(size) for _ in range(n)], net)


@program("table_send", "pinned", "dtype=bf16", size=(16384, 1024))
def table_send(option: str, size: tuple[int, int]) -> Steps:
    """Send a table of 64 MiB to layers that take as long as its copy."""
    parts = [part for _ in range(3) for part in (nn.Linear(size[1], size[1]), nn.Softplus())]
    net = nn.Sequential(*parts).to(DEVICE).eval()
    return sent(option, [torch.rand(size[0] // SMALL, size[1])], net)


@program("sound_send", "pinned", "dtype=bf16", size=(24, 1, 48000))
def sound_send(option: str, size: tuple[int, ...]) -> Steps:
    """Send sound, and compute its spectrum."""
    net = nn.Sequential(nn.Conv1d(1, 64, 400, stride=160), nn.ReLU(), nn.Conv1d(64, 64, 3))
    return sent(option, [torch.rand(size)], net.to(DEVICE).eval())


# Loaders


class Cut(Dataset[torch.Tensor]):
    """Rows that are drawn, sorted and cut when they are read."""

    def __init__(self, rounds: int, length: int) -> None:
        self.rounds, self.length = rounds, length

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        drawn = torch.Generator().manual_seed(index)
        for _ in range(self.rounds):
            row = torch.rand(2 * self.length, generator=drawn).sort().values
        start = index % self.length
        return row[start : start + self.length].diff(prepend=torch.zeros(1))


@program("loop_main", "input_ready", workers=0, rounds=1, batch=16, pins=False)
@program("loop_one", "input_ready", workers=1, rounds=2, batch=16, pins=True)
@program("loop_two", "input_ready", workers=2, rounds=6, batch=24, pins=False)
@program("loop_three", "input_ready", workers=3, rounds=3, batch=32, pins=True)
@program("loop_near", "input_ready", workers=4, rounds=1, batch=16, pins=True)
def loop(option: str, workers: int, rounds: int, batch: int, *, pins: bool) -> Steps:
    """Train on rows of a DataLoader, or on a batch that is on the device already."""
    length = 4096
    data = Cut(rounds, length)
    parts = [part for _ in range(6) for part in (nn.Linear(512, 512), nn.LayerNorm(512), nn.SiLU())]
    net = nn.Sequential(nn.Linear(length, 512), *parts, nn.Linear(512, 1)).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    is_pinned = pins and ON_GPU
    if option == "input_ready":
        first = torch.stack([data[i] for i in range(batch)])
        batches = same(first.pin_memory() if is_pinned else first)
    else:
        batches = iter(DataLoader(data, batch, num_workers=workers, pin_memory=is_pinned))

    def step() -> None:
        x = next(batches).to(DEVICE, non_blocking=is_pinned)
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return repeat(step)


NSYS: tuple[str, ...] = ()
LIVE = (
    "unet_train",
    "mixer_train",
    "vae_train",
    "contrast_train",
    "speech_train",
    "wave_infer",
    "squeeze_infer",
    "beam_infer",
    "turn_infer",
    "turn_infer_wide",
    "loop_main",
    "loop_two",
)
"""Programs that are captured live, in turns with a process that never profiles."""
CHANGED = tuple(name for name, entry in PROGRAMS.items() if entry.changes)
CAPTURES: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "usual": ({}, {}),
    "late": ({"wait": 40}, {}),
    "teardown": ({}, {"TEARDOWN_CUPTI": "1"}),
}
N_LIVE = (20, 60, 180)
"""Numbers of steps: warm-up, timed before and after, and run by a captured process."""
