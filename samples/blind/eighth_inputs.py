"""Define the programs of the eighth judgement that a loader feeds, and those that copy.

eighth_programs.py imports them.
"""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

import math
from io import BytesIO
from itertools import pairwise

import torch
from later_programs import sent
from PIL import Image
from programs import DEVICE, ON_GPU, SMALL, Steps, program
from seventh_programs import Endless, fed, learn
from torch import nn
from torch.nn import functional
from torchvision.transforms import v2

# Training that a loader feeds


@program("skeletons_load", "input_ready", "workers=1:4", workers=(1, 4), batch=32)
def skeletons_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on how people move, which one worker turns, stretches in time and shakes."""
    moves = torch.randn(100, 80, 25, 3).cumsum(1)

    def changed(index: int) -> tuple[torch.Tensor, int]:
        move = moves[index % len(moves)]
        angle = torch.rand(()) * 2 * math.pi
        turn = torch.eye(3)
        turn[0, 0] = turn[2, 2] = angle.cos()
        turn[0, 2], turn[2, 0] = angle.sin(), -angle.sin()
        move = (move - move[:, :1]) @ turn
        fast = float(torch.empty(()).uniform_(0.7, 1.4))
        flat = functional.interpolate(move.flatten(1).T[None], scale_factor=fast, mode="linear")
        flat = functional.pad(flat, (0, 128 - flat.shape[2]))[0]
        return flat + 0.01 * torch.randn_like(flat), index % 20

    layers: list[nn.Module] = []
    for inside, outside in pairwise((75, 128, 256, 256)):
        layers += [nn.Conv1d(inside, outside, 5, 2, 2), nn.BatchNorm1d(outside), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(256, 20))
    batches = fed(option, Endless(changed), workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(net, batches, torch.optim.AdamW)


@program("coins_load", "input_ready", "workers=2:5", workers=(2, 5), batch=12, side=192)
def coins_load(option: str, workers: tuple[int, int], batch: int, side: int) -> Steps:
    """Train on pictures of coins, lossless files that two workers read, tilt and colour."""
    rough = torch.rand(12, 3, 32, 32)
    coins = functional.interpolate(rough, (side, side), mode="bicubic").clamp(0, 1)
    files = [BytesIO() for _ in coins]
    for coin, file in zip(coins, files, strict=True):
        v2.functional.to_pil_image(coin).save(file, "PNG")
    change = v2.Compose(
        [
            v2.RandomAffine(180, scale=(0.8, 1.2)),
            v2.ColorJitter(0.3, 0.3, 0.3),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.RandomErasing(0.5),
        ]
    )
    data = Endless(lambda i: (change(Image.open(files[i % len(files)]).convert("RGB")), i % 12))
    layers: list[nn.Module] = []
    for inside, outside in pairwise((3, 48, 96, 192, 192)):
        layers += [nn.Conv2d(inside, outside, 3, 2, 1), nn.BatchNorm2d(outside), nn.ELU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(192, 12))
    return learn(net, fed(option, data, workers, batch_size=batch), torch.optim.Adam)


@program("genes_load", "input_ready", "workers=0:2", workers=(0, 2), batch=64)
def genes_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on pieces of genes, whose letters the process that trains turns into numbers."""
    letters = "ACGT"
    whole = "".join(letters[number] for number in torch.randint(0, 4, (200_000,)).tolist())
    places = {letter: place for place, letter in enumerate(letters)}

    def read(index: int) -> tuple[torch.Tensor, int]:
        begin = index * 7919 % 199_000
        piece = whole[begin : begin + 400]
        numbers = torch.tensor([places[letter] for letter in piece])
        if index % 2:
            numbers = 3 - numbers.flip(0)
        return functional.one_hot(numbers, 4).T.float(), int(piece.count("G") > 100)

    net = nn.Sequential(
        nn.Conv1d(4, 192, 15, padding=7),
        nn.GELU(),
        nn.MaxPool1d(4),
        nn.Conv1d(192, 192, 7, padding=3),
        nn.GELU(),
        nn.MaxPool1d(4),
        nn.Conv1d(192, 192, 5, padding=2),
        nn.GELU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(192, 2),
    )
    batches = fed(option, Endless(read), workers, batch_size=batch)
    return learn(net, batches, torch.optim.AdamW)


class Listening(nn.Module):
    """Tell the next song from those that were heard before."""

    def __init__(self, songs: int, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(songs, width)
        self.place = nn.Parameter(torch.randn(length, width) / 50)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.tell = nn.Linear(width, songs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tell(self.body(self.embed(x) + self.place)[:, -1])


@program("playlists_load", "input_ready", "workers=3:6", workers=(3, 6), size=(64, 100, 512, 4))
def playlists_load(option: str, workers: tuple[int, int], size: tuple[int, ...]) -> Steps:
    """Train on lists of songs in memory, which three workers easily bring."""
    batch, length, width, depth = size
    batch = batch // min(SMALL, 8)
    heard = torch.randint(0, 4000, (3000, length + 1))
    data = Endless(lambda i: (heard[i % 3000, :-1], heard[i % 3000, -1]))
    batches = fed(option, data, workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(Listening(4000, width, depth, length), batches, torch.optim.AdamW)


# Inference on what the host sends


class Scaled(nn.Module):
    """Scale bytes to numbers from 0 to 1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / 255


@program("films_infer", "pinned", size=(12, 3, 16, 256, 256))
def films_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Send twelve films, 36 MiB of bytes, to convolutions over space and time."""
    net = nn.Sequential(
        Scaled(),
        nn.Conv3d(3, 24, (3, 7, 7), (2, 4, 4), (1, 3, 3)),
        nn.ReLU(),
        nn.Conv3d(24, 48, 3, 2, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(48, 25),
    )
    films = torch.randint(0, 256, (max(size[0] // SMALL, 1), *size[1:]), dtype=torch.uint8)
    return sent(option, [films], net.to(DEVICE).eval())


class Standing(nn.Module):
    """Tell what stands around from all points of a turn of the scanner."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.each = nn.Sequential(
            nn.Linear(4, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.tell = nn.Linear(width, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tell(self.each(x).amax(1)).softmax(-1)


@program("lidar_infer", "pinned", "dtype=bf16", n=3, size=(4, 100_000, 4))
def lidar_infer(option: str, n: int, size: tuple[int, ...]) -> Steps:
    """Send three times four turns of a scanner, 6 MiB each, to a network for point sets."""
    turns = [torch.randn(size[0], size[1] // SMALL, size[2]) for _ in range(n)]
    return sent(option, turns, Standing(64).to(DEVICE).eval())


@program("quotes_infer", "pinned", "dtype=float64:bf16", size=(512, 40, 100))
def quotes_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Send the last quotes of 512 shares in float64, 16 MiB, to convolutions over time."""
    net = nn.Sequential(
        nn.Conv1d(40, 64, 5, 2),
        nn.LeakyReLU(),
        nn.Conv1d(64, 64, 5, 2),
        nn.LeakyReLU(),
        nn.Flatten(),
        nn.Linear(64 * 22, 3),
        nn.LogSoftmax(1),
    )
    quotes = torch.randn(max(size[0] // SMALL, 1), *size[1:], dtype=torch.float64)
    return sent(option, [quotes], net.to(DEVICE).eval())


LOADED = ("skeletons", "coins", "genes", "playlists")
