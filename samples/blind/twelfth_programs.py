"""Define the programs of the twelfth judgement, by the rules in README.md; see programs.py.

Those whose host should be the limit are in twelfth_hosts.py. Each program is a plain loop that
yields after each step.
"""

# ruff: noqa: ARG001 - programs without a change; the forward of a layer

from __future__ import annotations

from itertools import cycle

import torch
from PIL import Image, ImageDraw, ImageFilter
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, program
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms.v2.functional import pil_to_tensor
from transformers import (
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    PhiConfig,
    PhiForCausalLM,
)

PROGRAMS.clear()


# Where the device should be the limit


@program("ferns_train", size=(64, 224))
def ferns_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a ResNeXt in mixed precision to tell ferns, with Nesterov's momentum."""
    batch, side = max(size[0] // SMALL**2, 2), size[1]
    with DEVICE:
        net = models.resnext50_32x4d(weights=None, num_classes=80)
        pictures = torch.randn(3, batch, 3, side, side)
        kinds = torch.randint(0, 80, (3, batch))
    optimizer = torch.optim.SGD(
        net.parameters(),
        lr=0.05,
        momentum=0.9,
        weight_decay=1e-4,
        nesterov=True,
    )
    for x, wanted in cycle(zip(pictures, kinds, strict=True)):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.cross_entropy(net(x), wanted, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        yield


@program("briefs_train", size=(16, 256, 768, 6))
def briefs_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a DeBERTa to tell which law a lawyer's brief is about."""
    batch, length, width, depth = size
    batch, depth = max(batch // SMALL, 2), max(depth // SMALL, 2)
    config = DebertaV2Config(
        vocab_size=12_000,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=12,
        intermediate_size=4 * width,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=128,
        pos_att_type=["p2c", "c2p"],
        num_labels=20,
    )
    with DEVICE:
        net = DebertaV2ForSequenceClassification(config)
        briefs = torch.randint(5, 12_000, (3, batch, length))
        laws = torch.randint(0, 20, (3, batch))
        is_word = torch.ones(batch, length, dtype=torch.long)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-5)
    for words, wanted in cycle(zip(briefs, laws, strict=True)):
        loss = net(input_ids=words, attention_mask=is_word, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        yield


@program("minutes_infer", size=(12, 2048, 1024, 16))
def minutes_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Let a Phi read the minutes of twelve meetings; the host gets the word after each."""
    batch, length, width, depth = size
    config = PhiConfig(
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
        net = PhiForCausalLM(config).to(HALF).eval()
        shape = (3, max(batch // SMALL, 1), length // SMALL)
        minutes = torch.randint(3, 16_000, shape)
    for words in cycle(minutes):
        with torch.no_grad():
            told = net(words, use_cache=False, logits_to_keep=1).logits
        told[:, -1].argmax(1).tolist()
        yield


@program("dances_infer", size=(6, 32, 224))
def dances_infer(option: str, size: tuple[int, int, int]) -> Steps:
    """Tell dances by S3D, whose convolutions go through space and time one after the other."""
    batch, length, side = max(size[0] // SMALL, 1), size[1] // min(SMALL, 2), size[2]
    with DEVICE:
        net = models.video.s3d(weights=None, num_classes=30).eval()
        films = torch.randn(3, batch, 3, length, side, side)
    for film in cycle(films):
        with torch.no_grad():
            net(film).softmax(1).topk(3).indices.tolist()
        yield


@program("grains_train", size=(96, 96, 64, 15))
def grains_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a DnCNN to take the grain out of old films, in mixed precision."""
    batch, side, width, depth = size
    batch, side = max(batch // SMALL, 2), side // min(SMALL, 4)
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)]
        layers += [nn.ReLU()]
    net = nn.Sequential(*layers, nn.Conv2d(width, 3, 3, padding=1)).to(DEVICE)
    clean = torch.rand(4, batch, 3, side, side, device=DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    plan = torch.optim.lr_scheduler.StepLR(optimizer, 10_000)
    for pictures in cycle(clean):
        grain = 0.1 * torch.randn_like(pictures)
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.mse_loss(net(pictures + grain), grain)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
        yield


# Training that a loader feeds


class Receipts(Dataset[tuple[torch.Tensor, int]]):
    """Pictures of receipts, drawn line by line, then blurred and turned a little."""

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        picture = Image.new("L", (160, 320), 250)
        pen = ImageDraw.Draw(picture)
        for line, price in enumerate(torch.randint(100, 9999, (18,)).tolist()):
            pen.text((8, 16 * line + 8), f"article {price % 97}   {price / 100:.2f}", fill=30)
        turned = picture.rotate(8 * float(torch.rand(())) - 4, Image.Resampling.BICUBIC)
        blurred = turned.filter(ImageFilter.GaussianBlur(float(torch.rand(()))))
        small = blurred.resize((112, 112), Image.Resampling.BILINEAR)
        return pil_to_tensor(small).expand(3, -1, -1).float() / 255, index % 25


@program("receipts_load", workers=2, batch=32)
def receipts_load(option: str, workers: int, batch: int) -> Steps:
    """Train an AlexNet to tell shops by their receipts, which two workers draw."""
    with DEVICE:
        net = models.alexnet(weights=None, num_classes=25)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Receipts(), batch, num_workers=workers, pin_memory=ON_GPU)
    for pictures, shops in loader:
        told = net(pictures.to(DEVICE, non_blocking=True))
        loss = functional.cross_entropy(told, shops.to(DEVICE, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


class Walks(Dataset[tuple[torch.Tensor, int]]):
    """Walks of people, as places of their joints, each turned, stretched and cut anew."""

    def __init__(self, n: int, joints: int, length: int) -> None:
        self.walks = torch.randn(n, length, joints, 3).cumsum(1)
        self.length = length

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        walk = self.walks[index % len(self.walks)]
        angle = 6.28 * torch.rand(())
        turn = torch.eye(3)
        turn[0, 0] = turn[1, 1] = angle.cos()
        turn[0, 1], turn[1, 0] = -angle.sin(), angle.sin()
        walk = (walk - walk.mean(1, keepdim=True)) @ turn * (0.8 + 0.4 * torch.rand(()))
        begin = int(torch.randint(0, self.length // 4, ()))
        walk = walk[begin : begin + 3 * self.length // 4].flatten(1).T
        walk = functional.interpolate(walk[None], self.length, mode="linear")[0]
        return walk + 0.01 * torch.randn_like(walk), index % 40


@program("limbs_load", batch=64, joints=17, length=96)
def limbs_load(option: str, batch: int, joints: int, length: int) -> Steps:
    """Train to know people by their walk; the process that trains makes the batches itself."""
    layers: list[nn.Module] = []
    for inside, outside in ((3 * joints, 128), (128, 128), (128, 256), (256, 256)):
        layers += [nn.Conv1d(inside, outside, 5, padding=2), nn.BatchNorm1d(outside), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(256, 40))
    net.to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for walks, people in DataLoader(Walks(500, joints, length), batch, shuffle=False):
        loss = functional.cross_entropy(net(walks.to(DEVICE)), people.to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


# Inference on what the host sends


@program("oceans_infer", size=(12, 4, 1024, 1024))
def oceans_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Find oil on oceans in twelve pictures, 192 MiB of pinned memory; 12 shares come back."""
    batch, bands, height, width = size
    shape = (2, max(batch // SMALL, 1), bands, height // SMALL, width // SMALL)
    net = nn.Sequential(
        nn.Conv2d(bands, 12, 5, 4, 2), nn.BatchNorm2d(12), nn.ReLU(),
        nn.Conv2d(12, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, 1, 1), nn.Sigmoid(),
    ).to(DEVICE).eval()  # fmt: skip
    pictures = torch.rand(shape)
    if ON_GPU:
        pictures = pictures.pin_memory()
    for sent in cycle(pictures):
        with torch.no_grad():
            told = net(sent.to(DEVICE, non_blocking=True))
        told.mean((1, 2, 3)).tolist()
        yield


import twelfth_hosts  # noqa: E402, F401 - registers its programs after those above

NSYS = LIVE = (
    "ferns_train",
    "claims_train",
    "ships_infer",
    "oceans_infer",
    "facts_train",
    "briefs_train",
    "reads_infer",
    "receipts_load",
    "verses_train",
    "minutes_infer",
    "loans_train",
    "limbs_load",
    "masks_infer",
    "dances_infer",
    "herbs_train",
    "grains_train",
)
"""All programs, in the order in which they are taken."""
IN_ORDER = {name: PROGRAMS[name] for name in NSYS}
PROGRAMS.clear()
PROGRAMS.update(IN_ORDER)
LOADED = ("receipts", "limbs")
