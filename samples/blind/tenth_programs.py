"""Define the programs of the tenth judgement, by the rules in README.md; see programs.py.

Those whose host should be the limit are in tenth_hosts.py. Each program is a plain loop that yields
after each turn.
"""

# ruff: noqa: ARG001, D102 - programs without a change; the forward of a layer

from __future__ import annotations

import math
from itertools import cycle, pairwise

import torch
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, program
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms.v2.functional import pil_to_tensor
from transformers import (
    ModernBertConfig,
    ModernBertForMaskedLM,
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
)

PROGRAMS.clear()


# Where the device should be the limit


class Volumes(nn.Module):
    """Mark each place of a volume by convolutions at three resolutions."""

    def __init__(self, width: int, kinds: int) -> None:
        super().__init__()
        self.begin = self.block(1, width)
        self.middle = self.block(width, 2 * width)
        self.low = self.block(2 * width, 4 * width)
        self.up = nn.ConvTranspose3d(4 * width, 2 * width, 2, 2)
        self.join = self.block(4 * width, 2 * width)
        self.higher = nn.ConvTranspose3d(2 * width, width, 2, 2)
        self.end = self.block(2 * width, width)
        self.tell = nn.Conv3d(width, kinds, 1)

    def block(self, inside: int, outside: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv3d(inside, outside, 3, padding=1),
            nn.InstanceNorm3d(outside, affine=True),
            nn.LeakyReLU(0.01),
            nn.Conv3d(outside, outside, 3, padding=1),
            nn.InstanceNorm3d(outside, affine=True),
            nn.LeakyReLU(0.01),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = self.begin(x)
        middle = self.middle(functional.max_pool3d(fine, 2))
        low = self.low(functional.max_pool3d(middle, 2))
        middle = self.join(torch.cat([self.up(low), middle], 1))
        return self.tell(self.end(torch.cat([self.higher(middle), fine], 1)))


@program("organs_train", size=(1, 96, 24, 4))
def organs_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train to mark organs in volumes, by cross entropy and the overlap of what is marked."""
    batch, side, width, kinds = size
    side //= min(SMALL, 6)
    with DEVICE:
        net = Volumes(width // min(SMALL, 4), kinds)
        volumes = torch.randn(4, batch, 1, side, side, side)
        marks = torch.randint(0, kinds, (4, batch, side, side, side))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.99, nesterov=True)
    for x, wanted in cycle(zip(volumes, marks, strict=True)):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            told = net(x)
        loss = functional.cross_entropy(told.float(), wanted)
        shares = told.float().softmax(1)
        one_hot = functional.one_hot(wanted, kinds).movedim(-1, 1)
        both = (shares * one_hot).sum((2, 3, 4))
        all_of_it = shares.sum((2, 3, 4)) + one_hot.sum((2, 3, 4))
        loss = loss + 1 - (2 * both / (all_of_it + 1)).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 12.0)
        optimizer.step()
        yield


@program("sports_infer", size=(8, 16, 224))
def sports_infer(option: str, size: tuple[int, int, int]) -> Steps:
    """Tell which sport eight films show, by a vision transformer of several resolutions."""
    batch, length, side = size
    with DEVICE:
        net = models.video.mvit_v2_s(weights=None).to(HALF).eval()
        films = torch.randn(2, max(batch // SMALL, 1), 3, length, side, side, dtype=HALF)
    for film in cycle(films):
        with torch.no_grad():
            net(film).float().softmax(1).topk(3)
        yield


@program("papers_train", size=(8, 1024, 768, 8))
def papers_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a ModernBERT to fill in hidden words of papers, with fused AdamW."""
    batch, length, width, depth = size
    batch, length = max(batch // SMALL, 1), length // SMALL
    config = ModernBertConfig(
        vocab_size=16_000,
        hidden_size=width,
        intermediate_size=3 * width // 2,
        num_hidden_layers=max(depth // SMALL, 2),
        num_attention_heads=12,
        attn_implementation="sdpa",
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    )
    with DEVICE:
        net = ModernBertForMaskedLM(config)
        papers = torch.randint(5, 16_000, (4, batch, length))
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-4, fused=True)
    for words in cycle(papers):
        is_hidden = torch.rand(words.shape, device=DEVICE) < 0.3
        with torch.autocast(DEVICE.type, HALF):
            told = net(
                input_ids=words.masked_fill(is_hidden, 4),
                labels=words.masked_fill(~is_hidden, -100),
            )
        optimizer.zero_grad()
        told.loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        yield


@program("dialects_train", size=(16, 64_000, 512, 6))
def dialects_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a Wav2Vec2 to write down speech, by a loss that aligns letters with the sound."""
    batch, length, width, depth = size
    batch, length = batch // min(SMALL, 8), length // min(SMALL, 4)
    config = Wav2Vec2Config(
        hidden_size=width,
        num_hidden_layers=max(depth // SMALL, 1),
        num_attention_heads=8,
        intermediate_size=4 * width,
        layerdrop=0.0,
        ctc_loss_reduction="mean",
        ctc_zero_infinity=True,
    )
    with DEVICE:
        net = Wav2Vec2ForCTC(config)
        sounds = torch.randn(3, batch, length)
        letters = torch.randint(1, 32, (3, batch, 30))
    net.freeze_feature_encoder()
    optimizer = torch.optim.AdamW(
        [p for p in net.parameters() if p.requires_grad],
        lr=1e-4,
    )
    for sound, wanted in cycle(zip(sounds, letters, strict=True)):
        with torch.autocast(DEVICE.type, HALF):
            loss = net(sound, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


class Splats(nn.Module):
    """Draw a picture as the sum of soft, stretched and turned spots."""

    def __init__(self, n: int, side: int) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.rand(n, 2) * 2 - 1)
        self.sizes = nn.Parameter(torch.full((n, 2), -3.0))
        self.turns = nn.Parameter(torch.rand(n) * math.pi)
        self.colours = nn.Parameter(torch.randn(n, 3) / 10)
        line = torch.linspace(-1, 1, side)
        self.register_buffer("pixels", torch.cartesian_prod(line, line))

    def forward(self) -> torch.Tensor:
        apart = self.pixels - self.places[:, None]
        cos, sin = self.turns.cos()[:, None], self.turns.sin()[:, None]
        x = apart[..., 0] * cos + apart[..., 1] * sin
        y = apart[..., 1] * cos - apart[..., 0] * sin
        width, height = self.sizes.exp().unbind(1)
        far = (x / width[:, None]).square() + (y / height[:, None]).square()
        return (-far / 2).exp().T @ self.colours


@program("splats_train", size=(1500, 192))
def splats_train(option: str, size: tuple[int, int]) -> Steps:
    """Fit fifteen hundred spots to a picture."""
    n, side = (number // min(SMALL, 6) for number in size)
    with DEVICE:
        net = Splats(n, side)
        picture = torch.rand(side * side, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    while True:
        optimizer.zero_grad()
        told = net()
        loss = functional.l1_loss(told, picture) + functional.mse_loss(told, picture)
        loss.backward()
        optimizer.step()
        yield


# Training that a loader feeds


class Made(Dataset[tuple[torch.Tensor, int]]):
    """Many rows, each of which `make` makes of its number."""

    def __init__(self, make: object) -> None:
        self.make = make

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.make(index)  # type: ignore[operator, no-any-return]


class Clouds(nn.Module):
    """Tell what a cloud of points is by layers on each point and the largest of all."""

    def __init__(self, kinds: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inside, outside in pairwise((3, 64, 64, 128, 512)):
            layers += [nn.Conv1d(inside, outside, 1), nn.BatchNorm1d(outside), nn.GELU()]
        self.each = nn.Sequential(*layers)
        self.tell = nn.Sequential(nn.Linear(512, 256), nn.GELU(), nn.Linear(256, kinds))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.tell(self.each(points.mT).amax(2))


@program("meshes_load", workers=3, batch=24, n=1024)
def meshes_load(option: str, workers: int, batch: int, n: int) -> Steps:
    """Train on points of surfaces, which three workers draw, turn and shake."""
    corners = torch.randn(40, 900, 3)
    faces = torch.randint(0, 900, (40, 1800, 3))

    def drawn(index: int) -> tuple[torch.Tensor, int]:
        a, b, c = corners[index % 40][faces[index % 40]].unbind(1)
        areas = torch.linalg.cross(b - a, c - a).norm(dim=1)
        chosen = torch.multinomial(areas, n, replacement=True)
        u, v = torch.rand(2, n, 1)
        u, v = torch.where(u + v > 1, 1 - u, u), torch.where(u + v > 1, 1 - v, v)
        points = a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen]
        turn, _ = torch.linalg.qr(torch.randn(3, 3))
        points = (points - points.mean(0)) @ turn
        return points / points.norm(dim=1).max() + 0.01 * torch.randn(n, 3), index % 40

    net = Clouds(40).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loader = DataLoader(Made(drawn), batch, num_workers=workers, pin_memory=ON_GPU)
    for points, kinds in loader:
        told = net(points.to(DEVICE, non_blocking=True))
        loss = functional.cross_entropy(told, kinds.to(DEVICE, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("captchas_load", workers=4, batch=48, side=(64, 160))
def captchas_load(option: str, workers: int, batch: int, side: tuple[int, int]) -> Steps:
    """Train to read five digits in pictures, which four workers write, turn and blur."""
    font = ImageFont.load_default()

    def written(index: int) -> tuple[torch.Tensor, int]:
        height, width = side
        picture = Image.new("L", (width, height), 230)
        for place, digit in enumerate(f"{index * 7919 % 100_000:05}"):
            letter = Image.new("L", (12, 14), 0)
            ImageDraw.Draw(letter).text((2, 1), digit, fill=255, font=font)
            angle = 60 * float(torch.rand(())) - 30
            letter = letter.resize((36, 42)).rotate(angle, Image.Resampling.BICUBIC)
            picture.paste(40, (place * 30 + 2, 8 + index % 9), letter)
        blurred = picture.filter(ImageFilter.GaussianBlur(0.5 + float(torch.rand(()))))
        return pil_to_tensor(blurred).float() / 255, index * 7919 % 100_000

    layers: list[nn.Module] = []
    for inside, outside in pairwise((1, 32, 64, 128)):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside)]
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d((2, 5)), nn.Flatten(), nn.Linear(1280, 50))
    optimizer = torch.optim.Adam(net.to(DEVICE).parameters(), lr=1e-3)
    powers = 10 ** torch.arange(4, -1, -1, device=DEVICE)
    loader = DataLoader(Made(written), batch, num_workers=workers, pin_memory=ON_GPU)
    for pictures, numbers in loader:
        digits = numbers.to(DEVICE, non_blocking=True)[:, None] // powers % 10
        told = net(pictures.to(DEVICE, non_blocking=True)).view(-1, 10, 5)
        loss = functional.cross_entropy(told, digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


# Inference on what the host sends


@program("plates_infer", size=(8, 3, 1536, 1536))
def plates_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Find number plates in eight pictures, 54 MiB of bytes; the likeliest places are read."""
    batch, bands, height, width = size
    shape = (2, max(batch // SMALL, 1), bands, height // SMALL, width // SMALL)
    net = (
        nn.Sequential(
            nn.Conv2d(bands, 16, 7, 4, 3),
            nn.SiLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.SiLU(),
            nn.Conv2d(32, 64, 3, 2, 1),
            nn.SiLU(),
            nn.Conv2d(64, 1, 1),
        )
        .to(DEVICE)
        .eval()
    )
    for pictures in cycle(torch.randint(0, 256, shape, dtype=torch.uint8)):
        with torch.no_grad():
            told = net(pictures.to(DEVICE).float() / 255).flatten(1)
            told.max(1).indices.tolist()
        yield


@program("sensors_infer", size=(65_536, 256))
def sensors_infer(option: str, size: tuple[int, int]) -> Steps:
    """Send 64 MiB of readings from pinned memory; what is unusual of them, 32 MiB, comes back."""
    n, width = size[0] // SMALL, size[1]
    net = (
        nn.Sequential(
            nn.Linear(width, 64),
            nn.Tanh(),
            nn.Linear(64, 8),
            nn.Tanh(),
            nn.Linear(8, 64),
            nn.Tanh(),
            nn.Linear(64, width),
        )
        .to(DEVICE)
        .eval()
    )
    windows = [torch.randn(n, width, pin_memory=ON_GPU) for _ in range(2)]
    for window in cycle(windows):
        with torch.no_grad():
            x = window.to(DEVICE, non_blocking=True)
            (net(x) - x).half().cpu()
        yield


import tenth_hosts  # noqa: E402, F401 - registers its programs after those above

NSYS = LIVE = (
    "organs_train",
    "traffic_train",
    "sports_infer",
    "arms_train",
    "plates_infer",
    "jokes_infer",
    "papers_train",
    "energy_infer",
    "meshes_load",
    "weeds_train",
    "splats_train",
    "citations_train",
    "dialects_train",
    "drone_infer",
    "sensors_infer",
    "captchas_load",
)
"""All programs, in the order in which they take turns and are captured."""
IN_ORDER = {name: PROGRAMS[name] for name in NSYS}
PROGRAMS.clear()
PROGRAMS.update(IN_ORDER)
LOADED = ("meshes", "captchas")
