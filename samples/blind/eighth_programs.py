"""Define the programs of the eighth judgement, by the rules in README.md; see programs.py.

Programs whose host should be the limit are in eighth_hosts.py. Those that a loader feeds and those
that copy are in eighth_inputs.py.
"""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from typing import Any

import torch
import transformers
from later_programs import optimizer_of, replayed
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, infer, laid_out, program, repeat
from seventh_programs import attention
from torch import nn
from torch.nn import functional
from torchvision import models

PROGRAMS.clear()
HALF_OF_GPU = torch.float16 if ON_GPU else torch.float32


# Where the device should be the limit


@program("roofs_train", "channels_last", size=(64, 224))
def roofs_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a ConvNeXt on mixed pairs of pictures, in mixed precision."""
    batch, side = max(size[0] // SMALL // SMALL, 2), size[1] // min(SMALL, 4)
    net = models.convnext_tiny(weights=None, num_classes=45)
    x = torch.randn(batch, 3, side, side, device=DEVICE)
    net, x = laid_out(option, net.to(DEVICE), x)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)
    kinds = torch.randint(0, 45, (batch,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            told = net(0.8 * x + 0.2 * x.flip(0))
            loss = 0.8 * functional.cross_entropy(told, kinds)
            loss = loss + 0.2 * functional.cross_entropy(told, kinds.flip(0))
        loss.backward()
        optimizer.step()

    return repeat(step)


@program("whales_train", "sdpa", "fused_optimizer", size=(40, 512, 768, 6))
def whales_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a transformer on spectra of sounds in the sea, with AdamW parameter by parameter."""
    batch, length, width, depth = size
    batch, length = max(batch // SMALL // SMALL, 1), length // min(SMALL, 4)
    config = transformers.ASTConfig(
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=12,
        intermediate_size=4 * width,
        max_length=length,
        num_mel_bins=128,
        num_labels=12,
        attn_implementation=attention(option),
    )
    net = transformers.ASTForAudioClassification(config).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=5e-5, foreach=False)
    spectra = torch.randn(batch, length, 128, device=DEVICE)
    heard = torch.randint(0, 2, (batch, 12), device=DEVICE).float()

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            told = net(spectra).logits
        functional.binary_cross_entropy_with_logits(told.float(), heard).backward()
        optimizer.step()

    return repeat(step)


@program("rerank_infer", "sdpa", "compile", size=(48, 384, 768, 4))
def rerank_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Score 48 passages of several lengths for one question."""
    batch, length, width, depth = size
    batch, length = batch // SMALL, length // min(SMALL, 4)
    config = transformers.XLMRobertaConfig(
        vocab_size=16_000,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=12,
        intermediate_size=4 * width,
        max_position_embeddings=length + 2,
        num_labels=1,
        attn_implementation=attention(option),
    )
    net = transformers.XLMRobertaForSequenceClassification(config).to(DEVICE, HALF).eval()
    run: Any = torch.compile(net) if option == "compile" else net
    words = torch.randint(3, 16_000, (batch, length), device=DEVICE)
    lengths = torch.linspace(length // 3, length, batch, device=DEVICE)
    seen = (torch.arange(length, device=DEVICE) < lengths[:, None]).long()

    def step() -> None:
        with torch.no_grad():
            scores = run(input_ids=words, attention_mask=seen).logits.squeeze(1)
            scores.float().sigmoid().sort(descending=True)

    return repeat(step)


class Touched(nn.Module):
    """Two convolutions whose input is added; edges are mirrored at both, or at the first one."""

    def __init__(self, width: int, *, mirrors_both: bool) -> None:
        super().__init__()
        second = [nn.ReflectionPad2d(1)] if mirrors_both else []
        self.body = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(width, width, 3),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
            *second,
            nn.Conv2d(width, width, 3, padding=0 if mirrors_both else 1),
            nn.InstanceNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


@program(
    "paint_infer",
    "channels_last",
    "cuda_graph",
    "faster=reflection_pad2d by 2",
    size=(8, 256, 64, 9),
)
def paint_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Paint eight photographs in the manner of a painter, in half precision."""
    batch, side, width, depth = size
    batch, side = batch // min(SMALL, 8), side // min(SMALL, 4)
    parts: list[nn.Module] = [nn.Conv2d(3, width, 7, padding=3)]
    for inside in (width, 2 * width):
        parts += [nn.InstanceNorm2d(inside), nn.ReLU(), nn.Conv2d(inside, 2 * inside, 3, 2, 1)]
    parts += [Touched(4 * width, mirrors_both=option != "faster") for _ in range(depth)]
    for inside in (4 * width, 2 * width):
        parts += [nn.ConvTranspose2d(inside, inside // 2, 4, 2, 1), nn.InstanceNorm2d(inside // 2)]
        parts += [nn.ReLU()]
    parts += [nn.Conv2d(width, 3, 7, padding=3), nn.Tanh()]
    net = nn.Sequential(*parts).to(DEVICE, HALF_OF_GPU).eval()
    photos = torch.randn(batch, 3, side, side, device=DEVICE, dtype=HALF_OF_GPU)
    net, photos = laid_out(option, net, photos)
    return replayed(option, net, photos)


class Zooming(nn.Module):
    """Enlarge the picture, sharpen it, and enlarge it again to add what was there."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.again = again
        self.first = nn.Conv2d(3, 32, 9, padding=4)
        self.second, self.third = nn.Conv2d(32, 16, 1), nn.Conv2d(16, 3, 5, padding=2)

    def enlarged(self, x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, scale_factor=3, mode="bicubic")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        large = self.enlarged(x)
        found = self.third(self.second(self.first(large).relu()).relu())
        return (found + (self.enlarged(x) if self.again else large)).clamp(0, 1)


@program("zoom_infer", "faster=upsample_bicubic2d by 2", size=(16, 256))
def zoom_infer(option: str, size: tuple[int, int]) -> Steps:
    """Enlarge sixteen pictures three times and sharpen them."""
    side = size[1] // min(SMALL, 4)
    net = Zooming(again=option != "faster").to(DEVICE).eval()
    return infer(option, net, torch.rand(size[0] // SMALL, 3, side, side, device=DEVICE))


class Radiance(nn.Module):
    """Tell what rays see by colours and densities at points on them."""

    def __init__(self, width: int, depth: int, octaves: int) -> None:
        super().__init__()
        self.register_buffer("scales", 2.0 ** torch.arange(octaves) * torch.pi)
        widths = [6 * octaves, *[width] * depth]
        self.layers = nn.ModuleList(nn.Linear(inside, width) for inside in widths[:-1])
        self.tell = nn.Linear(width, 4)

    def forward(self, begin: torch.Tensor, along: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
        points = begin[:, None] + along[:, None] * far[..., None]
        waves = (points[..., None] * self.scales).flatten(2)
        x = torch.cat([waves.sin(), waves.cos()], -1)
        for layer in self.layers:
            x = layer(x).relu()
        colours, density = self.tell(x).split([3, 1], -1)
        gaps = functional.pad(far.diff(dim=1), (0, 1), value=0.1)
        hidden = 1 - (-density[..., 0].relu() * gaps).exp()
        clear = (1 - hidden + 1e-10).cumprod(1).roll(1, 1)
        return ((hidden * clear)[..., None] * colours.sigmoid()).sum(1)


@program("radiance_train", "compile", size=(4096, 64, 256, 8, 8))
def radiance_train(option: str, size: tuple[int, ...]) -> Steps:
    """Learn how a scene looks, from random rays of its pictures."""
    n, n_points, width, depth, octaves = size
    n = n // SMALL // SMALL
    net = Radiance(width, depth, octaves).to(DEVICE)
    run: Any = torch.compile(net) if option == "compile" else net
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
    begins = torch.randn(16 * n, 3, device=DEVICE)
    ways = functional.normalize(torch.randn(16 * n, 3, device=DEVICE), dim=1)
    colours = torch.rand(16 * n, 3, device=DEVICE)

    def step() -> None:
        chosen = torch.randint(0, 16 * n, (n,), device=DEVICE)
        far = (torch.rand(n, n_points, device=DEVICE) * 4 + 2).sort(1).values
        seen = run(begins[chosen], ways[chosen], far)
        loss = functional.mse_loss(seen, colours[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeat(step)


import eighth_hosts  # noqa: E402, F401 - registers its programs after those above
import eighth_inputs  # noqa: E402 - as above

FIRST_RUN = (
    "roofs_train",
    "rerank_infer",
    "paint_infer",
    "codes_train",
    "leaves_infer",
    "voice_infer",
    "alphabets_train",
    "skeletons_load",
    "genes_load",
    "lidar_infer",
)
SECOND_RUN = (
    "whales_train",
    "radiance_train",
    "zoom_infer",
    "names_train",
    "poems_infer",
    "protein_infer",
    "coins_load",
    "playlists_load",
    "quotes_infer",
    "films_infer",
)
"""Two runs of at most five minutes; if time is short, the last programs are dropped."""
LOADED = eighth_inputs.LOADED
LIVE = (
    "roofs_train",
    "paint_infer",
    "codes_train",
    "leaves_infer",
    "skeletons_load",
    "lidar_infer",
    "whales_train",
    "radiance_train",
    "names_train",
    "poems_infer",
    "coins_load",
    "quotes_infer",
)
"""Programs that are captured live, too."""
