"""Programs only for judging predictions: copies, waits for the device, and input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from held_out import HALF, HELD_OUT, as_channels_last, held_out, unet
from programs import DEVICE, ON_GPU, PICTURE, SMALL, Pictures, Steps, loop, mlp, optimizer_of
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

__all__ = ["HELD_OUT"]


@held_out("recommend_train", "pinned dtype=bf16 no_sync fused_optimizer", size=(16384, 512, 26, 64))
def recommend_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train embeddings and layers on rows that are copied from the host; the loss is read."""
    rows, dense, fields, width = size
    rows //= SMALL
    tables = nn.ModuleList(nn.Embedding(4096, width) for _ in range(fields)).to(DEVICE)
    top = nn.Sequential(nn.Linear(dense + fields * width, 512), nn.ReLU(), nn.Linear(512, 1))
    top = top.to(DEVICE)
    optimizer = optimizer_of(nn.ModuleList([tables, top]), option, "adam")
    batches = [torch.rand(rows, dense) for _ in range(3)]
    if option == "dtype":
        batches = [batch.to(torch.bfloat16) for batch in batches]
    if option == "pinned" and ON_GPU:
        batches = [batch.pin_memory() for batch in batches]
    chosen = torch.randint(0, 4096, (fields, rows), device=DEVICE)

    def step() -> None:
        batches.append(batches.pop(0))
        optimizer.zero_grad(set_to_none=False)
        x = batches[0].to(DEVICE, non_blocking=option == "pinned").float()
        parts = [table(row) for table, row in zip(tables, chosen, strict=True)]
        loss = top(torch.cat([x, *parts], 1)).square().mean()
        loss.backward()
        optimizer.step()
        if option != "no_sync":
            loss.item()

    return loop(step, option)


@held_out("pictures_copy", "pinned dtype=bf16", size=(128, 128, 6))
@held_out("pictures_copy_deep", "pinned dtype=bf16", size=(64, 128, 30))
def pictures_copy(option: str | None, size: tuple[int, ...]) -> Steps:
    """Run convolutions on pictures that are copied from the host."""
    batch, side, depth = size
    layers = [nn.Conv2d(3, 64, 3, stride=2, padding=1)]
    layers += [nn.Conv2d(64, 64, 3, padding=1) for _ in range(depth)]
    net = nn.Sequential(*layers).to(DEVICE, HALF).eval()
    pictures = torch.rand(max(batch // SMALL, 1), 3, side, side)
    if option == "dtype":
        pictures = pictures.to(torch.bfloat16)
    if option == "pinned" and ON_GPU:
        pictures = pictures.pin_memory()

    def step() -> None:
        x = pictures.to(DEVICE, non_blocking=option == "pinned")
        with torch.no_grad():
            net(x.to(HALF))

    return loop(step, option)


@held_out("denoise", "no_sync channels_last cuda_graph", size=(4, 1, 32, 64))
def denoise(option: str | None, size: tuple[int, ...]) -> Steps:
    """Run rounds of a diffusion; each reads a number of the previous one, unless told otherwise."""
    rounds, batch, channels, side = size
    net = unet(channels, 2).to(HALF).eval()
    x = torch.randn(batch, channels, side, side, device=DEVICE, dtype=HALF)
    net, x = as_channels_last(option, net, x)

    def step() -> None:
        y = x
        with torch.no_grad():
            for _ in range(rounds):
                y = 0.9 * y + 0.1 * net(y)
                if option is None or option == "channels_last":
                    y.abs().max().item()
                else:
                    y.abs().max()

    return loop(step, option)


@held_out("gan_train", "no_sync fused_optimizer cuda_graph", size=(256, 5, 128))
def gan_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train two networks in turn, and read both losses."""
    width, depth, batch = size
    nets = [mlp(width // SMALL, depth) for _ in range(2)]
    optimizers = [optimizer_of(net, option, "adam") for net in nets]
    noise = torch.randn(batch, width // SMALL, device=DEVICE)

    def step() -> None:
        for net, optimizer in zip(nets, optimizers, strict=True):
            net.zero_grad(set_to_none=False)
            loss = nets[1](nets[0](noise)).square().mean()
            loss.backward()
            optimizer.step()
            if option not in {"no_sync", "cuda_graph"}:
                loss.item()

    return loop(step, option)


@held_out("norm_train", "no_sync", size=(1024, 8, 512))
def norm_train(option: str | None, size: tuple[int, ...]) -> Steps:
    """Train layers; the norm of the gradients is read before each optimizer step."""
    width, depth, batch = size
    net = mlp(width // SMALL, depth)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(batch // SMALL, width // SMALL, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if option == "no_sync" or norm.isfinite():
            optimizer.step()

    return loop(step, option)


class Texts(Dataset[torch.Tensor]):
    """Texts that are split into words when they are read."""

    text = " ".join(f"word{i % 977} and,then some" for i in range(1500))

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        words = re.findall(r"\w+|[,.]", self.text)
        known: dict[str, int] = {}
        ids = [known.setdefault(word, len(known)) for word in words]
        return torch.tensor(ids[:2048])


class Turned(Dataset[torch.Tensor]):
    """Pictures that torch flips and normalizes on the host."""

    def __init__(self) -> None:
        raw = torch.frombuffer(bytearray(PICTURE), dtype=torch.uint8)
        self.raw = raw.repeat(8)[: 3 * 256 * 256].view(3, 256, 256)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        x = self.raw.float() / 255
        x = functional.interpolate(x[None], size=192, mode="bilinear")[0].flip(-1)
        x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True)
        return x[:, :16, :64].reshape(3, 1024)[:, : 1024 // SMALL]


class Words(nn.Module):
    """An embedding and layers, for texts."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(2048, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Embed every word and apply the layers."""
        out: torch.Tensor = self.body(self.table(x))
        return out


_LOADED = {
    "text": (Texts, partial(Words, 256)),
    "turned": (Turned, partial(mlp, 1024 // SMALL, 3)),
    "near": (partial(Pictures, 1, 1024 // SMALL), partial(mlp, 1024 // SMALL, 50)),
    "pins": (partial(Pictures, 2, 1024 // SMALL), partial(mlp, 1024 // SMALL, 12)),
}


@held_out("input_text", "input_ready workers=3:8", kind="text", workers=(3, 8), batch=16)
@held_out("input_turned", "input_ready workers=4", kind="turned", workers=(0, 4), batch=16)
@held_out("input_near", "input_ready workers=4:8", kind="near", workers=(4, 8), batch=8)
@held_out("input_pins", "input_ready workers=2:6", kind="pins", workers=(2, 6), batch=8)
def loaded(option: str | None, kind: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on batches of a DataLoader, which also pins them if `pins`."""
    data, made = _LOADED[kind]
    net = made().to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    rows: Any = data()

    def batches() -> Iterator[torch.Tensor]:
        if option == "input_ready":
            first = torch.stack([rows[i] for i in range(batch)])
            first = first.pin_memory() if kind == "pins" and ON_GPU else first
            while True:
                yield first
        pins = kind == "pins" and ON_GPU
        yield from DataLoader(
            rows, batch, num_workers=workers[option == "workers"], pin_memory=pins
        )

    def steps() -> Steps:
        for x in batches():
            optimizer.zero_grad()
            net(x.to(DEVICE, non_blocking=kind == "pins")).square().mean().backward()
            optimizer.step()
            yield

    return steps()
