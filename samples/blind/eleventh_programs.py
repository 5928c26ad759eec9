"""Define the programs of the eleventh judgement, by the rules in README.md; see programs.py.

Those whose host should be the limit are in eleventh_hosts.py. Each program is a plain loop that
yields after each step.
"""

# ruff: noqa: ARG001 - programs without a change; the forward of a layer

from __future__ import annotations

from itertools import cycle, pairwise

import torch
from PIL import Image, ImageDraw, ImageEnhance
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, program
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms.v2.functional import pil_to_tensor
from transformers import (
    FNetConfig,
    FNetForMaskedLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
)

PROGRAMS.clear()


# Where the device should be the limit


@program("lenses_train", size=(160, 299))
def lenses_train(option: str, size: tuple[int, int]) -> Steps:
    """Train an Inception, with a second answer from its middle, to tell lenses of galaxies."""
    batch, side = max(size[0] // SMALL**2, 2), size[1]
    with DEVICE:
        net = models.inception_v3(weights=None, num_classes=12, init_weights=False)
        pictures = torch.randn(3, batch, 3, side, side)
        kinds = torch.randint(0, 12, (3, batch))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.045, alpha=0.9, eps=1.0)
    for x, wanted in cycle(zip(pictures, kinds, strict=True)):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            told, early = net(x)
            loss = functional.cross_entropy(told, wanted, label_smoothing=0.1)
            loss = loss + 0.4 * functional.cross_entropy(early, wanted)
        loss.backward()
        optimizer.step()
        yield


@program("chapters_train", size=(12, 512, 768, 6))
def chapters_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train an FNet, which mixes words by Fourier transforms, to fill in hidden words."""
    batch, length, width, depth = size
    batch, depth = max(batch // SMALL, 2), max(depth // SMALL, 2)
    config = FNetConfig(
        vocab_size=8000,
        hidden_size=width,
        num_hidden_layers=depth,
        intermediate_size=4 * width,
        max_position_embeddings=length,
    )
    with DEVICE:
        net = FNetForMaskedLM(config)
        chapters = torch.randint(5, 8000, (4, batch, length))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for words in cycle(chapters):
        is_hidden = torch.rand(words.shape, device=DEVICE) < 0.15
        loss = net(
            input_ids=words.masked_fill(is_hidden, 4),
            labels=words.masked_fill(~is_hidden, -100),
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("manuals_infer", size=(16, 1024, 1024, 16))
def manuals_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Let a GPT-NeoX read sixteen manuals and tell the word after each."""
    batch, length, width, depth = size
    config = GPTNeoXConfig(
        vocab_size=16_000,
        hidden_size=width,
        num_hidden_layers=max(depth // SMALL, 2),
        num_attention_heads=16,
        intermediate_size=4 * width,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
    )
    with DEVICE:
        net = GPTNeoXForCausalLM(config).to(HALF).eval()
        manuals = torch.randint(3, 16_000, (3, max(batch // SMALL, 1), length // min(SMALL, 4)))
    for words in cycle(manuals):
        with torch.no_grad():
            told = net(words, use_cache=False, logits_to_keep=1).logits
            told[:, -1].argmax(1).tolist()
        yield


@program("gestures_train", size=(16, 16, 112))
def gestures_train(option: str, size: tuple[int, int, int]) -> Steps:
    """Train an R(2+1)D on films of gestures, whose learning rate follows a cycle."""
    batch, length, side = max(size[0] // SMALL, 1), size[1] // min(SMALL, 2), size[2]
    with DEVICE:
        net = models.video.r2plus1d_18(weights=None, num_classes=27)
        films = torch.randn(3, batch, 3, length, side, side)
        kinds = torch.randint(0, 27, (3, batch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=100_000)
    for film, wanted in cycle(zip(films, kinds, strict=True)):
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.cross_entropy(net(film), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
        yield


# Training that a loader feeds


class Numbered(Dataset[tuple[torch.Tensor, int]]):
    """Many rows, each of which `make` makes of its number."""

    def __init__(self, make: object) -> None:
        self.make = make

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.make(index)  # type: ignore[operator, no-any-return]


@program("tickets_load", workers=3, batch=32, length=220)
def tickets_load(option: str, workers: int, batch: int, length: int) -> Steps:
    """Train to sort tickets of a help desk, whose words three workers build of letters."""
    merges: dict[tuple[int, int], int] = {}
    for a, b in torch.randint(0, 26, (220, 2)).tolist():
        merges.setdefault((a, b), 26 + len(merges))

    def pieces(index: int) -> tuple[torch.Tensor, int]:
        known = torch.randint(0, 26, (length,)).tolist()
        while True:
            pairs = {pair for pair in pairwise(known) if pair in merges}
            if not pairs:
                break
            best = min(pairs, key=merges.__getitem__)
            merged, place = [], 0
            while place < len(known):
                is_pair = tuple(known[place : place + 2]) == best
                merged.append(merges[best] if is_pair else known[place])
                place += 1 + is_pair
            known = merged
        return torch.tensor(known + [0] * (length - len(known))), index % 12

    net = nn.Sequential(
        nn.EmbeddingBag(300, 256, mode="mean"),
        nn.Linear(256, 512),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(512, 12),
    ).to(DEVICE)
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.01)
    loader = DataLoader(Numbered(pieces), batch, num_workers=workers, pin_memory=ON_GPU)
    for words, kinds in loader:
        told = net(words.to(DEVICE, non_blocking=True))
        loss = functional.cross_entropy(told, kinds.to(DEVICE, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("stamps_load", workers=4, batch=32, side=96)
def stamps_load(option: str, workers: int, batch: int, side: int) -> Steps:
    """Train a VGG on pictures of stamps, which four workers draw, tilt and recolour."""

    def drawn(index: int) -> tuple[torch.Tensor, int]:
        picture = Image.new("RGB", (256, 320), (240, 230, 210))
        pen = ImageDraw.Draw(picture)
        for x, y, red, green in torch.randint(0, 256, (40, 4)).tolist():
            pen.ellipse((x - 20, y - 20, x + 20, y + 30), fill=(red, green, index % 256))
        corners = torch.randint(0, 30, (8,)).tolist()
        ends = (0, 0, 0, 320, 256, 320, 256, 0)
        shifted = tuple(abs(end - by) for end, by in zip(ends, corners, strict=True))
        picture = picture.transform((192, 192), Image.Transform.QUAD, shifted)
        picture = ImageEnhance.Color(picture).enhance(0.5 + float(torch.rand(())))
        picture = ImageEnhance.Brightness(picture).enhance(0.7 + 0.6 * float(torch.rand(())))
        picture = picture.resize((side, side), Image.Resampling.LANCZOS)
        return pil_to_tensor(picture).float() / 255, index % 50

    with DEVICE:
        net = models.vgg11_bn(weights=None, num_classes=50, init_weights=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Numbered(drawn), batch, num_workers=workers, pin_memory=ON_GPU)
    for pictures, kinds in loader:
        told = net(pictures.to(DEVICE, non_blocking=True))
        loss = functional.cross_entropy(told, kinds.to(DEVICE, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


# Inference on what the host sends


@program("craters_infer", size=(8, 4, 1536, 1536))
def craters_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Mark craters in eight pictures of 16-bit integers, 144 MiB; the marks, 18 MiB, come back."""
    batch, bands, height, width = size
    shape = (2, max(batch // SMALL, 1), bands, height // SMALL, width // SMALL)
    net = (
        nn.Sequential(
            nn.Conv2d(bands, 16, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, 1, 1),
            nn.ReLU(),
            nn.Conv2d(16, 4, 1),
            nn.PixelShuffle(2),
        )
        .to(DEVICE)
        .eval()
    )
    for pictures in cycle(torch.randint(0, 4096, shape, dtype=torch.int16)):
        with torch.no_grad():
            told = net(pictures.to(DEVICE).float() / 4096)
            (told > 0).cpu()
        yield


import eleventh_hosts  # noqa: E402, F401 - registers its programs after those above

NSYS = LIVE = (
    "lenses_train",
    "shops_train",
    "cattle_infer",
    "craters_infer",
    "fashions_train",
    "chapters_train",
    "moods_infer",
    "tickets_load",
    "pendulums_train",
    "manuals_infer",
    "games_train",
    "stamps_load",
    "curves_train",
    "gestures_train",
)
"""All programs, in the order in which they take turns and are captured."""
IN_ORDER = {name: PROGRAMS[name] for name in NSYS}
PROGRAMS.clear()
PROGRAMS.update(IN_ORDER)
LOADED = ("tickets", "stamps")
