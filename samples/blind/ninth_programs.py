"""Define the programs of the ninth judgement, by the rules in README.md; see programs.py.

Those whose host should be the limit are in ninth_hosts.py.
"""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

import math
from itertools import pairwise

import torch
import transformers
from later_programs import sent
from PIL import Image, ImageDraw
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, program, repeat
from seventh_programs import Endless, fed, learn
from torch import nn
from torch.nn import functional
from torchvision import models
from torchvision.transforms.v2.functional import pil_to_tensor

PROGRAMS.clear()


# Where the device should be the limit


@program("birds_train", size=(64, 224))
def birds_train(option: str, size: tuple[int, int]) -> Steps:  # noqa: ARG001 - no changes
    """Train MaxViT on pictures of birds, in mixed precision with clipped gradients."""
    batch, side = max(size[0] // SMALL // SMALL, 2), size[1]
    net = models.maxvit_t(weights=None, num_classes=200).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.05)
    x = torch.randn(batch, 3, side, side, device=DEVICE)
    kinds = torch.randint(0, 200, (batch,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.cross_entropy(net(x), kinds, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return repeat(step)


@program("forms_infer", size=(48, 512, 768, 6))
def forms_infer(option: str, size: tuple[int, ...]) -> Steps:  # noqa: ARG001 - no changes
    """Tell what each word of scanned forms is, by the word and its place on the page."""
    batch, length, width, depth = size
    batch, length = batch // SMALL, length // min(SMALL, 4)
    config = transformers.LayoutLMConfig(
        vocab_size=12_000,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=12,
        intermediate_size=4 * width,
        num_labels=9,
    )
    net = transformers.LayoutLMForTokenClassification(config).to(DEVICE, HALF).eval()
    words = torch.randint(3, 12_000, (batch, length), device=DEVICE)
    corners = torch.randint(0, 900, (batch, length, 2), device=DEVICE)
    boxes = torch.cat([corners, corners + 80], -1)

    def step() -> None:
        with torch.no_grad():
            net(input_ids=words, bbox=boxes).logits.float().softmax(-1).max(-1)

    return repeat(step)


@program("vocoder_infer", size=(8, 200, 512))
def vocoder_infer(option: str, size: tuple[int, ...]) -> Steps:  # noqa: ARG001 - no changes
    """Make sounds of eight spectra by HiFi-GAN."""
    batch, length, width = size
    config = transformers.SpeechT5HifiGanConfig(upsample_initial_channel=width // min(SMALL, 8))
    net = transformers.SpeechT5HifiGan(config).to(DEVICE).eval()
    spectra = torch.randn(batch // min(SMALL, 8), length // min(SMALL, 8), 80, device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            (net(spectra).clamp(-1, 1) * 32767).short()

    return repeat(step)


class Friends(nn.Module):
    """Describe persons and things by those that they are linked to, over three links at most."""

    def __init__(self, persons: int, things: int, links: int, width: int) -> None:
        super().__init__()
        n = persons + things
        left = torch.randint(0, persons, (links,))
        right = persons + (torch.rand(links).square() * things).long()
        ends = torch.stack([torch.cat([left, right]), torch.cat([right, left])])
        degrees = torch.bincount(ends[0], minlength=n).clamp_min(1).float().rsqrt()
        weights = degrees[ends[0]] * degrees[ends[1]]
        linked = torch.sparse_coo_tensor(ends, weights, (n, n), check_invariants=False)
        self.register_buffer("linked", linked.coalesce())
        self.known = nn.Parameter(torch.randn(n, width) / 10)

    def forward(self) -> torch.Tensor:
        seen = [self.known]
        for _ in range(3):
            seen.append(torch.sparse.mm(self.linked, seen[-1]))
        return torch.stack(seen).mean(0)


@program("friends_train", size=(40_000, 25_000, 1_000_000, 64), batch=4096)
def friends_train(option: str, size: tuple[int, ...], batch: int) -> Steps:  # noqa: ARG001
    """Train LightGCN to rank what a person took above what it did not take."""
    persons, things, links, width = (n // (SMALL if n > 1000 else 1) for n in size)
    net = Friends(persons, things, links, width).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step() -> None:
        who = torch.randint(0, persons, (batch,), device=DEVICE)
        took, left = torch.randint(persons, persons + things, (2, batch), device=DEVICE)
        seen = net()
        apart = (seen[who] * (seen[took] - seen[left])).sum(1)
        loss = functional.softplus(-apart).mean() + 1e-4 * net.known[who].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeat(step)


class Wind(nn.Module):
    """Move a gas for a moment by the lattice Boltzmann method in nine directions."""

    def __init__(self, side: int) -> None:
        super().__init__()
        steps = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
        self.ways = steps
        self.register_buffer("along", torch.tensor(steps).float())
        shares = torch.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
        self.register_buffer("shares", shares[:, None, None])
        places = torch.arange(side) - side / 2
        self.register_buffer("wall", places[:, None] ** 2 + places**2 < (side / 10) ** 2)
        self.back = [0, 3, 4, 1, 2, 7, 8, 5, 6]

    def forward(self, gas: torch.Tensor) -> torch.Tensor:
        gas = torch.stack(
            [part.roll(way, (0, 1)) for part, way in zip(gas, self.ways, strict=True)]
        )
        mass = gas.sum(0)
        speed = torch.einsum("kd,kxy->dxy", self.along, gas) / mass
        along = torch.einsum("kd,dxy->kxy", self.along, speed)
        energy = speed.square().sum(0)
        calm = self.shares * mass * (1 + 3 * along + 4.5 * along.square() - 1.5 * energy)
        return torch.where(self.wall, gas[self.back], gas + 0.6 * (calm - gas))


@program("wind_infer", side=1536)
def wind_infer(option: str, side: int) -> Steps:  # noqa: ARG001 - no changes
    """Simulate wind around a tower; each step is one moment."""
    side //= SMALL
    net = Wind(side).to(DEVICE).eval()
    gas = net.shares * (1 + 0.01 * torch.rand(9, side, side, device=DEVICE))

    def moments() -> Steps:
        flowing = gas
        while True:
            with torch.no_grad():
                flowing = net(flowing)
            yield

    return moments()


# Training that a loader feeds


class Playing(nn.Module):
    """Tell the best move and who wins from the planes of a chess board."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(13, width, 3, padding=1)
        self.body = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
            )
            for _ in range(depth)
        )
        self.moves = nn.Conv2d(width, 64, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).relu()
        for layer in self.body:
            x = (x + layer(x)).relu()
        return self.moves(x).flatten(1)


@program("chess_load", workers=(2, 2), batch=256)
def chess_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train to play chess on positions, whose letters two workers read into planes."""
    rows = ["rnbqkbnr", "pppppppp", "8", "3Pp3", "2B1N3", "5n2", "PPPP1PPP", "R1BQK2R"]
    places = {letter: place for place, letter in enumerate("PNBRQKpnbrqk")}

    def read(index: int) -> tuple[torch.Tensor, int]:
        planes = torch.zeros(13, 8, 8)
        turned = [rows[(row + index) % 8] for row in range(8)]
        for rank, row in enumerate(turned):
            file = 0
            for letter in row:
                if letter.isdigit():
                    file += int(letter)
                else:
                    planes[places[letter], rank, file] = 1
                    file += 1
        planes[12] = index % 2
        return (planes.flip(2) if index % 3 == 0 else planes), index * 31 % 4096

    batches = fed(option, Endless(read), workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(Playing(128, 6), batches, torch.optim.AdamW)


@program("hearts_load", workers=(0, 0), batch=32)
def hearts_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on beats of hearts, from which the process that trains filters its own noise."""
    beats = torch.randn(60, 12, 6000).cumsum(2) / 10
    kept = torch.fft.rfftfreq(2048) < 0.2

    def filtered(index: int) -> tuple[torch.Tensor, int]:
        begin = index * 677 % 3900
        piece = beats[index % 60, :, begin : begin + 2048]
        slow = torch.linspace(0, 9, 2048).add(float(torch.rand(()))).sin()
        clean = torch.fft.irfft(torch.fft.rfft(piece + 0.3 * slow) * kept, 2048)
        return (clean - clean.mean(1, keepdim=True)) / clean.std(1, keepdim=True), index % 5

    layers: list[nn.Module] = []
    for inside, outside in pairwise((12, 64, 96, 128, 192)):
        layers += [nn.Conv1d(inside, outside, 7, 4, 3), nn.BatchNorm1d(outside), nn.SiLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(192, 5))
    return learn(net, fed(option, Endless(filtered), workers, batch_size=batch), torch.optim.Adam)


@program("sketches_load", workers=(3, 3), batch=48, side=128)
def sketches_load(option: str, workers: tuple[int, int], batch: int, side: int) -> Steps:
    """Train on sketches, whose strokes three workers draw line by line."""

    def drawn(index: int) -> tuple[torch.Tensor, int]:
        picture = Image.new("L", (2 * side, 2 * side))
        pen = ImageDraw.Draw(picture)
        turn = float(torch.rand(())) * math.pi
        for stroke in range(6 + index % 5):
            angles = [turn + stroke + 0.2 * point * (1 + index % 3) for point in range(40)]
            line = [
                (side + (4 + 2.5 * i) * math.cos(angle), side + (4 + 2.5 * i) * math.sin(angle))
                for i, angle in enumerate(angles)
            ]
            pen.line(line, fill=255, width=4)
        small = picture.resize((side, side), Image.Resampling.LANCZOS)
        return pil_to_tensor(small).float() / 255, index % 40

    layers: list[nn.Module] = []
    for inside, outside in pairwise((1, 32, 64, 128, 256)):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside)]
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 40))
    batches = fed(option, Endless(drawn), workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(net, batches, torch.optim.AdamW)


# Inference on what the host sends


class Burned(nn.Module):
    """Tell where forests burned by two pictures from space of ten bands each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.see = nn.Conv2d(10, width, 5, 4, 2)
        self.tell = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, both: torch.Tensor) -> torch.Tensor:
        before, after = (self.see(part / 10_000) for part in both.unbind(1))
        return self.last(self.tell(after - before)).sigmoid()


@program("forests_infer", size=(3, 2, 10, 512, 512))
def forests_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Send three pairs of pictures from space, 30 MiB of short integers, to find burned forests."""
    batch, *shape, height, width = size
    side = (height // min(SMALL, 4), width // min(SMALL, 4))
    pictures = torch.randint(0, 9000, (batch, *shape, *side), dtype=torch.int16)
    return sent(option, [pictures], Burned(32).to(DEVICE).eval())


@program("backs_infer", size=(8, 3, 640, 640))
def backs_infer(option: str, size: tuple[int, ...]) -> Steps:  # noqa: ARG001 - no changes
    """Take the background out of eight pictures: 9 MiB of bytes go there, 12 MiB come back."""
    batch, bands, height, width = size
    shape = (max(batch // SMALL, 1), bands, height // min(SMALL, 4), width // min(SMALL, 4))
    net = (
        nn.Sequential(
            nn.Conv2d(bands, 24, 5, 4, 2),
            nn.ReLU(),
            nn.Conv2d(24, 24, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 16, 3, padding=1),
            nn.PixelShuffle(4),
            nn.Sigmoid(),
        )
        .to(DEVICE)
        .eval()
    )
    pictures = torch.randint(0, 256, shape, dtype=torch.uint8)

    def step() -> None:
        with torch.no_grad():
            net(pictures.to(DEVICE).float() / 255).cpu()

    return repeat(step)


import ninth_hosts  # noqa: E402, F401 - registers its programs after those above

NSYS = LIVE = (
    "birds_train",
    "atoms_train",
    "forms_infer",
    "dreams_train",
    "vocoder_infer",
    "guesses_infer",
    "forests_infer",
    "friends_train",
    "clicks_infer",
    "wind_infer",
    "spikes_train",
    "backs_infer",
    "shells_infer",
    "chess_load",
    "sketches_load",
    "hearts_load",
)
"""All programs, in the order in which they take turns; if time is short, the last are dropped."""
IN_ORDER = {name: PROGRAMS[name] for name in NSYS}
PROGRAMS.clear()
PROGRAMS.update(IN_ORDER)
LOADED = ("chess", "sketches", "hearts")
IS_TRACED = False
"""Nothing is recorded by torch.profiler but by the live captures."""
