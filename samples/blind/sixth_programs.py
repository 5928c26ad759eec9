"""Define the programs of the sixth judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from later_programs import optimizer_of, replayed, sent
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, laid_out, program, repeat, same
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import models
from torchvision.transforms import v2

PROGRAMS.clear()


def attention(option: str) -> str:
    """Return how a model of transformers computes its attention."""
    return "sdpa" if option == "sdpa" else "eager"


def random_ids(words: int, *shape: int) -> torch.Tensor:
    """Draw word numbers on the device. The first three are marks, such as the end of a text."""
    return torch.randint(3, words, shape, device=DEVICE)


# Training of models that a library defines


@program("whisper_train", "sdpa", "fused_optimizer", "no_sync", size=(8, 3, 384, 1000))
def whisper_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train speech recognition in mixed precision with AdamW, parameter by parameter.

    The loss is read in every step.
    """
    batch, depth, width, length = size
    batch, length = max(batch // SMALL, 1), length // min(SMALL, 5)
    sides = {
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in {"layers": depth, "attention_heads": 6, "ffn_dim": 4 * width}.items()
    }
    config = transformers.WhisperConfig(
        vocab_size=4000,
        d_model=width,
        max_source_positions=length // 2,
        max_target_positions=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        attn_implementation=attention(option),
        **sides,
    )
    net = transformers.WhisperForConditionalGeneration(config).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-4, foreach=False)
    sounds = torch.randn(batch, config.num_mel_bins, length, device=DEVICE)
    texts = random_ids(4000, batch, 60)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            loss = net(sounds, labels=texts).loss
        loss.backward()
        optimizer.step()
        if option != "no_sync":
            loss.item()

    return repeat(step)


@program("electra_train", "sdpa", "fused_optimizer", size=(4, 8, 128, 256), parts=3)
def electra_train(option: str, size: tuple[int, ...], parts: int) -> Steps:
    """Find replaced words: three batches an optimizer step, with scaled float16 gradients."""
    depth, batch, length, width = size
    config = transformers.ElectraConfig(
        vocab_size=6000,
        embedding_size=128,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=4,
        intermediate_size=4 * width,
        attn_implementation=attention(option),
    )
    net = transformers.ElectraForPreTraining(config).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-4, foreach=False)
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=1024.0, enabled=ON_GPU)
    texts = random_ids(6000, parts, batch, length)
    replaced = torch.randint(0, 2, texts.shape, device=DEVICE)

    def step() -> None:
        for part, wanted in zip(texts, replaced, strict=True):
            with torch.autocast(DEVICE.type, torch.float16 if ON_GPU else HALF):
                loss = net(part, labels=wanted).loss / parts
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return repeat(step)


@program("clip_train", "sdpa", "fused_optimizer", size=(32, 4, 256, 112))
def clip_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train pictures and texts to match, with clipped gradients and SGD over many parameters."""
    batch, depth, width, side = size
    shared = {
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_hidden_layers": depth,
        "num_attention_heads": 4,
    }
    config = transformers.CLIPConfig(
        text_config={**shared, "vocab_size": 5000, "max_position_embeddings": 32},
        vision_config={**shared, "image_size": side, "patch_size": 16},
        projection_dim=128,
        attn_implementation=attention(option),
    )
    net = transformers.CLIPModel(config).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=1e-3, momentum=0.9, foreach=False)
    batch = max(batch // SMALL, 2)
    pictures = torch.randn(batch, 3, side, side, device=DEVICE)
    texts = random_ids(5000, batch, 32)

    def step() -> None:
        optimizer.zero_grad()
        loss = net(input_ids=texts, pixel_values=pictures, return_loss=True).loss
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return repeat(step)


@program("road_train", "channels_last", "fused_optimizer", size=(16, 224))
def road_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a light network to mark the road, in mixed precision with multi-tensor SGD."""
    batch, side = max(size[0] // SMALL, 2), size[1] // min(SMALL, 2)
    net = models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=6
    )
    x = torch.randn(batch, 3, side, side, device=DEVICE)
    net, x = laid_out(option, net.to(DEVICE), x)
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=0.01, momentum=0.9, foreach=True)
    wanted = torch.randint(0, 6, (batch, side, side), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            marks = net(x)["out"]
        functional.cross_entropy(marks.float(), wanted).backward()
        optimizer.step()

    return repeat(step)


@program("student_train", "channels_last", "fused_optimizer", size=(48, 128))
def student_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a small network to answer as a larger one does, which takes no gradients."""
    batch, side = max(size[0] // SMALL, 2), size[1] // min(SMALL, 2)
    teacher = models.mnasnet1_0(weights=None, num_classes=100).to(DEVICE).eval()
    student = models.shufflenet_v2_x0_5(weights=None, num_classes=100).to(DEVICE)
    x = torch.randn(batch, 3, side, side, device=DEVICE)
    student, x = laid_out(option, student, x)
    teacher, x = laid_out(option, teacher, x)
    optimizer = optimizer_of(option, student, torch.optim.Adam, lr=1e-3, foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        with torch.no_grad():
            wanted = (teacher(x) / 4).log_softmax(-1)
        told = (student(x) / 4).log_softmax(-1)
        functional.kl_div(told, wanted, log_target=True, reduction="batchmean").backward()
        optimizer.step()

    return repeat(step)


# Training of networks of its own


class Acting(nn.Module):
    """Values of actions: of the state alone, and of each action beside the others."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(40, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.state, self.action = nn.Linear(width, 1), nn.Linear(width, 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x)
        beside = self.action(hidden)
        return self.state(hidden) + beside - beside.mean(-1, keepdim=True)


@program("qnet_train", "no_sync", "fused_optimizer", size=(256, 192), kept=50_000)
def qnet_train(option: str, size: tuple[int, int], kept: int) -> Steps:
    """Learn values of actions from kept experience that is drawn by its last error.

    The mean error is read, and a second network follows the first one slowly.
    """
    batch, width = size
    net, slow = Acting(width).to(DEVICE), Acting(width).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-4, foreach=False)
    seen, then = torch.randn(2, kept, 40, device=DEVICE)
    acted = torch.randint(0, 9, (kept,), device=DEVICE)
    gained = torch.randn(kept, device=DEVICE)
    errors = torch.ones(kept, device=DEVICE)

    def step() -> None:
        rows = torch.multinomial(errors, batch)
        weight = (errors[rows] / errors.sum() * kept) ** -0.5
        with torch.no_grad():
            best = net(then[rows]).argmax(-1, keepdim=True)
            wanted = gained[rows] + 0.99 * slow(then[rows]).gather(1, best).squeeze(1)
        told = net(seen[rows]).gather(1, acted[rows, None]).squeeze(1)
        apart = (told - wanted).abs()
        optimizer.zero_grad()
        (weight * functional.smooth_l1_loss(told, wanted, reduction="none")).mean().backward()
        nn.utils.clip_grad_value_(net.parameters(), 10.0)
        optimizer.step()
        with torch.no_grad():
            errors[rows] = apart.clamp(1e-3, 5)
            for mine, other in zip(slow.parameters(), net.parameters(), strict=True):
                mine.lerp_(other, 0.005)
        if option != "no_sync":
            apart.mean().item()

    return repeat(step)


class Passing(nn.Module):
    """Atoms send each other messages along their bonds, and remember them by a gated cell."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.embed, self.bond = nn.Embedding(20, width), nn.Linear(8, width)
        self.send = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.cell, self.tell = nn.GRUCell(width, width), nn.Linear(width, 1)

    def forward(
        self, atoms: torch.Tensor, bonds: torch.Tensor, kinds: torch.Tensor
    ) -> torch.Tensor:
        x, kind = self.embed(atoms), self.bond(kinds)
        for _ in range(self.rounds):
            message = self.send(torch.cat([x[bonds[0]], kind], 1))
            x = self.cell(torch.zeros_like(x).index_add_(0, bonds[1], message), x)
        return self.tell(x).squeeze(1)


@program("molecules_train", "no_sync", "fused_optimizer", size=(512, 18, 40, 96))
def molecules_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train on a batch of molecules, whose number the host reads from the batch."""
    n, n_atoms, n_bonds, width = size
    net = Passing(width, 4).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-3, foreach=False)
    atoms = torch.randint(0, 20, (n * n_atoms,), device=DEVICE)
    first = torch.arange(n, device=DEVICE).repeat_interleave(n_bonds) * n_atoms
    bonds = first + torch.randint(0, n_atoms, (2, n * n_bonds), device=DEVICE)
    kinds = torch.rand(n * n_bonds, 8, device=DEVICE)
    molecule = torch.arange(n, device=DEVICE).repeat_interleave(n_atoms)
    wanted = torch.randn(n, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        count = n if option == "no_sync" else int(molecule.max()) + 1
        each = net(atoms, bonds, kinds)
        whole = torch.zeros(count, device=DEVICE).index_add_(0, molecule, each)
        functional.l1_loss(whole, wanted).backward()
        optimizer.step()

    return repeat(step)


@program("shop_train", "pinned", "fused_optimizer", size=(4096, 50, 100_000, 64))
def shop_train(option: str, size: tuple[int, ...]) -> Steps:
    """Learn what a customer buys next from what was bought; each batch comes from the host."""
    batch, length, goods, width = size
    batch = batch // SMALL
    bags = nn.EmbeddingBag(goods, width, mode="mean")
    net = nn.ModuleDict(
        {
            "bought": bags,
            "deep": nn.Sequential(nn.Linear(width, 256), nn.PReLU(), nn.Linear(256, width)),
            "next": nn.Embedding(goods, width),
        }
    ).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3, foreach=True)
    pins = option == "pinned" and ON_GPU
    tables = [torch.randint(0, goods, (batch, length + 1)) for _ in range(4)]
    tables = [table.pin_memory() if pins else table for table in tables]
    right = torch.arange(batch, device=DEVICE)

    def step() -> None:
        tables.append(tables.pop(0))
        table = tables[0].to(DEVICE, non_blocking=pins)
        optimizer.zero_grad()
        customers = net["deep"](net["bought"](table[:, :-1]))
        functional.cross_entropy(customers @ net["next"](table[:, -1]).mT, right).backward()
        optimizer.step()

    return repeat(step)


class Routed(nn.Module):
    """Each of some networks takes the tokens that suit it best, as many as each other one."""

    def __init__(self, width: int, n: int) -> None:
        super().__init__()
        self.norm, self.choose = nn.LayerNorm(width), nn.Linear(width, n)
        self.wide = nn.Parameter(torch.randn(n, width, 2 * width) / width**0.5)
        self.narrow = nn.Parameter(torch.randn(n, 2 * width, width) / width**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.norm(x)
        share, token = self.choose(seen).softmax(-1).mT.topk(2 * len(x) // len(self.wide))
        hidden = functional.gelu(torch.bmm(seen[token], self.wide))
        back = torch.bmm(hidden, self.narrow) * share[..., None]
        return x.index_add(0, token.flatten(), back.flatten(0, 1))


@program("routed_train", "compile", "fused_optimizer", size=(4, 2048, 384, 8))
def routed_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a mixture of experts with the default Adam."""
    depth, tokens, width, n = size
    net = nn.Sequential(*(Routed(width, n) for _ in range(depth))).to(DEVICE)
    run: Any = torch.compile(net) if option == "compile" else net
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-4)
    x = torch.randn(tokens // SMALL, width, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        run(x).square().mean().backward()
        optimizer.step()

    return repeat(step)


class Looking(nn.Module):
    """A layer of a language model: normalised queries and keys, and a gated network."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.norm_q, self.norm_k = nn.RMSNorm(width // heads), nn.RMSNorm(width // heads)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 6 * width), nn.Linear(3 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.mixed(self.norm(x)).unflatten(-1, (3, self.heads, -1)).transpose(1, 3)
        query, key, value = self.norm_q(parts[:, :, 0]), self.norm_k(parts[:, :, 1]), parts[:, :, 2]
        value = value.to(query.dtype)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.mT * query.shape[-1] ** -0.5
            later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
            mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ value
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        gate, up = self.wide(self.norm2(x)).chunk(2, -1)
        return x + self.narrow(functional.silu(gate) * up)


@program("recompute_train", "sdpa", "fused_optimizer", size=(14, 16, 1024, 1024))
def recompute_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a language model whose layers are computed once more in the backward pass."""
    depth, batch, length, width = size
    depth, batch, length = max(depth // SMALL, 2), batch // SMALL, length // SMALL
    net = nn.ModuleList(Looking(width, 8, fused=option == "sdpa") for _ in range(depth)).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-4, foreach=False)
    inputs = torch.randn(batch, length, width, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        x = inputs
        with torch.autocast(DEVICE.type, HALF):
            for layer in net:
                x = checkpoint(layer, x, use_reentrant=False)
        x.float().square().mean().backward()
        optimizer.step()

    return repeat(step)


class Causal(nn.Module):
    """Two dilated convolutions that see only the past."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.pad = 2 * dilation
        self.one = nn.Conv1d(width, width, 3, dilation=dilation)
        self.two = nn.Conv1d(width, width, 3, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.one(functional.pad(x, (self.pad, 0))).relu()
        return (x + self.two(functional.pad(hidden, (self.pad, 0))).relu()).relu()


@program("forecast_train", "pinned", "dtype=float64:bf16", "compile", size=(512, 24, 192, 64))
def forecast_train(option: str, size: tuple[int, ...]) -> Steps:
    """Forecast a day from a week of float64 measurements that the host sends in every step."""
    batch, sensors, length, width = size
    layers = [Causal(width, 2**i) for i in range(5)]
    net = nn.Sequential(nn.Conv1d(sensors, width, 1), *layers, nn.Conv1d(width, 1, 1)).to(DEVICE)
    run: Any = torch.compile(net) if option == "compile" else net
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    pins = option == "pinned" and ON_GPU
    parts = [torch.rand(batch // SMALL, sensors, length, dtype=torch.float64) for _ in range(3)]
    parts = [part.to(HALF) if option == "dtype" else part for part in parts]
    parts = [part.pin_memory() if pins else part for part in parts]

    def step() -> None:
        parts.append(parts.pop(0))
        week = parts[0].to(DEVICE, non_blocking=pins).float()
        optimizer.zero_grad()
        functional.huber_loss(run(week[..., :-24])[:, 0, -24:], week[:, 0, -24:]).backward()
        optimizer.step()

    return repeat(step)


# Training that a loader feeds


def fed(
    option: str,
    data: Dataset[Any],
    batch: int,
    workers: tuple[int, int],
    *,
    pins: bool,
) -> Iterator[Any]:
    """Yield batches of a loader with the first number of workers, or what the change asks for."""
    if option == "input_ready":
        ready = default_collate([data[i] for i in range(batch)])
        return same([part.pin_memory() if pins and ON_GPU else part for part in ready])
    n = workers[option == "workers"]
    return iter(DataLoader(data, batch, num_workers=n, pin_memory=pins and ON_GPU))


def learn(net: nn.Module, batches: Iterator[Any], *, pins: bool, **settings: Any) -> Steps:
    """Train a classifier on batches of inputs and classes."""
    net = net.to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, **settings)

    def step() -> None:
        x, wanted = (part.to(DEVICE, non_blocking=pins and ON_GPU) for part in next(batches))
        optimizer.zero_grad()
        functional.cross_entropy(net(x), wanted).backward()
        optimizer.step()

    return repeat(step)


class Endless(Dataset[tuple[torch.Tensor, int]]):
    """Rows that a function makes from their number, each with one of ten classes."""

    def __init__(self, make: Callable[[int], torch.Tensor]) -> None:
        self.make = make

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.make(index), index % 10


@program("clips_load", "input_ready", "workers=1:4", workers=(1, 4), batch=8, side=112)
def clips_load(option: str, workers: tuple[int, int], batch: int, side: int) -> Steps:
    """Train on short films, cut at random and resized by one worker."""
    films = torch.randint(0, 256, (6, 8, 3, 160, 200), dtype=torch.uint8)
    change = v2.Compose(
        [
            v2.RandomResizedCrop(side, scale=(0.3, 1.0), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.4] * 3, [0.2] * 3),
        ]
    )
    data = Endless(lambda index: change(films[index % len(films)]).transpose(0, 1))
    net = nn.Sequential(
        nn.Conv3d(3, 24, (3, 5, 5), (1, 2, 2)),
        nn.BatchNorm3d(24),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(24, 48, 3, padding=1),
        nn.BatchNorm3d(48),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(48, 10),
    )
    return learn(net, fed(option, data, batch, workers, pins=False), pins=False)


@program("spoken_load", "input_ready", "workers=2:6", workers=(2, 6), batch=16)
def spoken_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on spectra of spoken words, which two workers compute and mask."""
    window, bands = torch.hann_window(400), torch.rand(201, 64)

    def spectrum(index: int) -> torch.Tensor:
        drawn = torch.Generator().manual_seed(index)
        sound = torch.rand(48_000, generator=drawn) - 0.5
        parts = torch.stft(sound, 400, 160, window=window, return_complex=True)
        seen = (parts.abs().square().mT @ bands + 1e-6).log()
        seen[index % 200 : index % 200 + 20] = 0
        return (seen - seen.mean()) / seen.std()

    net = nn.Sequential(
        nn.Unflatten(1, (1, -1)),
        nn.Conv2d(1, 32, 5, 2),
        nn.GELU(),
        nn.Conv2d(32, 64, 5, 2),
        nn.GELU(),
        nn.Conv2d(64, 64, 5, 2),
        nn.GELU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    batches = fed(option, Endless(spectrum), batch, workers, pins=True)
    return learn(net, batches, pins=True, foreach=False)


@program("reviews_load", "input_ready", "workers=0:4", workers=(0, 4), batch=32, length=128)
def reviews_load(option: str, workers: tuple[int, int], batch: int, length: int) -> Steps:
    """Train on texts, whose words are looked up in the process that trains."""
    known = {f"word{i}": i + 1 for i in range(5000)}
    texts = [
        ", ".join(f"Word{(i * 7919 + j * j) % 6000}" for j in range(150)) + "." for i in range(200)
    ]

    def read(index: int) -> torch.Tensor:
        words = re.findall(r"[a-z]+[0-9]+|[.,]", texts[index % len(texts)].lower())
        ids = [known.get(word, 0) for word in words][:length]
        return torch.tensor(ids + [0] * (length - len(ids)))

    net = nn.Sequential(
        nn.Embedding(5001, 128),
        nn.Unflatten(1, (1, length)),
        nn.Conv2d(1, 128, (5, 128)),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(128, 10),
    )
    return learn(net, fed(option, Endless(read), batch, workers, pins=False), pins=False)


@program("quick_load", "input_ready", "workers=4:8", workers=(4, 8), batch=64)
def quick_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train a deep network on rows that lie in memory, which four workers easily bring."""
    rows = torch.rand(4000, 256)
    body = [
        part
        for _ in range(12)
        for part in (nn.Linear(256, 256), nn.BatchNorm1d(256), nn.Hardswish(), nn.Dropout(0.1))
    ]
    net = nn.Sequential(*body, nn.Linear(256, 10))
    data = Endless(lambda index: rows[index % len(rows)])
    return learn(net, fed(option, data, batch, workers, pins=True), pins=True, foreach=False)


# Inference


@program("chat_infer", "no_sync", "sdpa", size=(4, 200, 10, 512))
def chat_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Write a word a step with a growing cache; the host reads whether all texts have ended.

    After 32 words the cache is cut back to the prompt.
    """
    batch, length, depth, width = size
    config = transformers.Qwen2Config(
        vocab_size=8000,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=depth,
        num_attention_heads=8,
        num_key_value_heads=2,
        attn_implementation=attention(option),
    )
    net = transformers.Qwen2ForCausalLM(config).to(DEVICE, HALF).eval()
    cache = transformers.DynamicCache()

    def after(word: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scores = net(word, past_key_values=cache, use_cache=True).logits
        return scores[:, -1:].argmax(-1)

    def words() -> Steps:
        first = after(random_ids(8000, batch, length))
        while True:
            word = first
            for _ in range(32):
                word = after(word)
                if option != "no_sync":
                    bool((word == 2).all())
                yield
            cache.crop(length)

    return words()


class Caching(nn.Module):
    """A layer of a decoder that writes its key and value into a cache of fixed length."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.mixed = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.wide = nn.Linear(width, 4 * width, bias=False)
        self.narrow = nn.Linear(4 * width, width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, length, width // heads))

    def forward(self, x: torch.Tensor, place: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        parts = self.mixed(self.norm(x)).view(1, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, place, parts[1])
        self.values.index_copy_(2, place, parts[2])
        mixed = functional.scaled_dot_product_attention(parts[0], self.keys, self.values, seen)
        x = x + self.out(mixed.reshape(1, 1, -1))
        return x + self.narrow(functional.relu(self.wide(self.norm2(x))).square())


class Telling(nn.Module):
    """Write the next word over the last one, and move on by one place."""

    def __init__(self, depth: int, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.length, self.embed = length, nn.Embedding(16_000, width)
        self.layers = nn.ModuleList(Caching(width, heads, length) for _ in range(depth))
        self.norm, self.tell = nn.RMSNorm(width), nn.Linear(width, 16_000, bias=False)

    def forward(self, word: torch.Tensor, place: torch.Tensor) -> None:
        seen = (torch.arange(self.length, device=word.device) <= place)[None, None, None]
        x = self.embed(word)[None]
        for layer in self.layers:
            x = layer(x, place, seen)
        word.copy_(self.tell(self.norm(x))[0].argmax(-1))
        place.add_(1).remainder_(self.length)


@program("tell_infer", "cuda_graph", size=(16, 1024, 16, 512))
def tell_infer(option: str, size: tuple[int, int, int, int]) -> Steps:
    """Write words of one text, with keys and values in a cache of fixed length."""
    net = Telling(*size).to(DEVICE, HALF).eval()
    return replayed(option, net, random_ids(16_000, 1), torch.tensor([100], device=DEVICE))


class Modulated(nn.Module):
    """A layer of a diffusion transformer, scaled and shifted by the time."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.scales = nn.Linear(width, 6 * width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        a, b, c, d, e, f = self.scales(functional.silu(time))[:, None].chunk(6, -1)
        parts = self.mixed(self.norm(x) * (1 + a) + b).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + c * self.out(mixed.transpose(1, 2).flatten(2))
        hidden = self.wide(self.norm(x) * (1 + d) + e)
        return x + f * self.narrow(functional.gelu(hidden, approximate="tanh"))


class Denoiser(nn.Module):
    """Tell the noise of patches at a time."""

    def __init__(self, depth: int, width: int, heads: int) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(16, width), nn.Linear(width, 16)
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Modulated(width, heads) for _ in range(depth))

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden, time = self.inside(x), self.time(time)
        for layer in self.layers:
            hidden = layer(hidden, time)
        return self.outside(hidden)


class Drawing(nn.Module):
    """Take the noise away in some moves, with twice the weight of the class."""

    def __init__(self, net: Any, moves: int) -> None:
        super().__init__()
        self.net, self.moves = net, moves

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for move in range(self.moves):
            time = torch.full_like(x[:, 0, :1], 1 - move / self.moves)
            known, free = self.net(torch.cat([x, x]), torch.cat([time, time])).chunk(2)
            x = x - (free + 2 * (known - free)) / self.moves
        return x


@program("drawn_infer", "cuda_graph", "compile", size=(6, 384, 4, 256), moves=4)
def drawn_infer(option: str, size: tuple[int, ...], moves: int) -> Steps:
    """Draw pictures by a diffusion transformer in four moves, in half precision."""
    depth, width, batch, patches = size
    net: Any = Denoiser(depth, width, 6).to(DEVICE, HALF).eval()
    if option == "compile":
        net, option = torch.compile(net), "-"
    x = torch.randn(batch, patches // SMALL, 16, device=DEVICE, dtype=HALF)
    return replayed(option, Drawing(net, moves), x)


class Marking(nn.Module):
    """Mark each part of a picture."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.SegformerConfig(num_labels=20, attn_implementation="eager")
        self.net = transformers.SegformerForSemanticSegmentation(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        marks = self.net(x).logits
        return functional.interpolate(marks, scale_factor=4, mode="bilinear").argmax(1)


@program("scenes_infer", "channels_last", "cuda_graph", size=(8, 256), dtype=torch.float16)
def scenes_infer(option: str, size: tuple[int, int], dtype: torch.dtype) -> Steps:
    """Mark scenes by a transformer of several resolutions, in half precision."""
    batch, side = max(size[0] // SMALL, 1), size[1] // min(SMALL, 4)
    dtype = dtype if ON_GPU else torch.float32
    x = torch.randn(batch, 3, side, side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, Marking().to(DEVICE, dtype).eval(), x)
    return replayed(option, net, x)


@program("crossing_infer", "channels_last", size=(2, 320))
def crossing_infer(option: str, size: tuple[int, int]) -> Steps:
    """Detect what is on pictures; the host waits for the number of boxes many times."""
    net = models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=6
    )
    net = net.to(DEVICE).eval()
    if option == "channels_last":
        net = net.to(memory_format=torch.channels_last)
    pictures = list(torch.rand(size[0], 3, size[1], size[1], device=DEVICE))

    def step() -> None:
        with torch.no_grad():
            [found["labels"].tolist() for found in net(pictures)]

    return repeat(step)


class Keyword(nn.Module):
    """Spectra of a sound, and separable convolutions that tell a word."""

    window: torch.Tensor
    bands: torch.Tensor

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(512))
        self.register_buffer("bands", torch.rand(40, 257))
        self.inside, self.outside = nn.Conv1d(40, width, 1), nn.Linear(width, 12)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, width, 9, padding=4, groups=width),
                nn.Conv1d(width, width, 1),
                nn.BatchNorm1d(width),
                nn.Softsign(),
            )
            for _ in range(depth)
        )

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        parts = torch.stft(sound, 512, 256, window=self.window, return_complex=True)
        x = self.inside((self.bands @ parts.abs().square() + 1e-6).log())
        for layer in self.layers:
            x = x + layer(x)
        return self.outside(x.mean(-1)).softmax(-1)


@program("keyword_infer", "cuda_graph", size=(1, 16_000, 96, 8))
def keyword_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Listen to a second of sound."""
    batch, length, width, depth = size
    net = Keyword(width, depth).to(DEVICE).eval()
    return replayed(option, net, torch.randn(batch, length, device=DEVICE))


# Inference on what the host sends


@program("robot_infer", "pinned", "dtype=bf16", width=128)
def robot_infer(option: str, width: int) -> Steps:
    """Tell a robot what to do: a few bytes go to the device, and a few come back."""
    net = nn.Sequential(
        nn.Linear(36, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 12)
    )
    net = net.to(DEVICE).eval()
    pins = option == "pinned" and ON_GPU
    felt = torch.rand(1, 36, dtype=HALF if option == "dtype" else torch.float32)
    felt = felt.pin_memory() if pins else felt

    def step() -> None:
        with torch.no_grad():
            net(felt.to(DEVICE, non_blocking=pins).float()).tolist()

    return repeat(step)


@program("film_infer", "pinned", "dtype=bf16", size=(8, 3, 16, 112, 112))
def film_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Send eight films of 2.3 MiB each to convolutions over space and time."""
    net = nn.Sequential(
        nn.Conv3d(3, 32, (1, 7, 7), (1, 2, 2)),
        nn.ReLU(),
        nn.Conv3d(32, 32, (3, 1, 1)),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(32, 64, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(64, 100),
    )
    return sent(option, [torch.rand(max(size[0] // SMALL, 1), *size[1:])], net.to(DEVICE).eval())


class Trees(nn.Module):
    """Many soft trees of depth five, whose leaves are added up."""

    def __init__(self, inside: int, n: int) -> None:
        super().__init__()
        self.n, self.ask = n, nn.Linear(inside, 5 * n)
        self.leaves = nn.Parameter(torch.randn(n, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left = self.ask(x).sigmoid().view(len(x), self.n, 5)
        reached = torch.ones_like(left[..., :1])
        for i in range(5):
            yes = left[..., i : i + 1]
            reached = torch.cat([reached * yes, reached * (1 - yes)], -1)
        return (reached * self.leaves).sum((1, 2)).sigmoid()


@program("fraud_infer", "pinned", "dtype=bf16", "compile", n=5, size=(8192, 120))
def fraud_infer(option: str, n: int, size: tuple[int, int]) -> Steps:
    """Send five tables of 3.8 MiB of payments to soft trees."""
    tables = [torch.rand(size[0] // SMALL, size[1]) for _ in range(n)]
    net: Any = Trees(size[1], 64).to(DEVICE).eval()
    return sent(option, tables, torch.compile(net) if option == "compile" else net)


# An op that is called a half or a quarter as often


@program("search_infer", "faster=topk by 2", size=(400_000, 64, 32), n=4)
def search_infer(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Find the documents nearest to questions, and compare these once more."""
    count, width, batch = size
    documents = torch.randn(count // SMALL, width, device=DEVICE)
    questions = torch.randn(n, batch, width, device=DEVICE)
    again = nn.Bilinear(width, width, 1).to(DEVICE).eval()
    n_called = n // 2 if option == "faster" else n

    def step() -> None:
        with torch.no_grad():
            scores = [question @ documents.mT for question in questions]
            found = [each.topk(50).indices for each in scores[:n_called]]
            for question, best in zip(questions, (found * n)[:n], strict=True):
                near = documents[best]
                again(question[:, None].expand_as(near).contiguous(), near).sigmoid()

    return repeat(step)


@program("prices_infer", "faster=cumsum by 4", size=(65_536, 252), n=8)
def prices_infer(option: str, size: tuple[int, int], n: int) -> Steps:
    """Price an option by many paths of a share, for eight volatilities."""
    noise = torch.randn(size[0] // SMALL, size[1], device=DEVICE)
    n_called = n // 4 if option == "faster" else n

    def step() -> None:
        moves = [noise * (0.01 + 0.002 * i) for i in range(n)]
        paths = [move.cumsum(1) for move in moves[:n_called]]
        for path in (paths * n)[:n]:
            (path.exp().mean(1) - 1).clamp(min=0).mean()

    return repeat(step)


@program("spread_infer", "faster=sort by 2", size=(32, 300), n=10)
def spread_infer(option: str, size: tuple[int, int], n: int) -> Steps:
    """Compare ten small samples by their sorted values, as a test of two drifts does."""
    one, other = torch.randn(2, n, *size, device=DEVICE)
    n_called = n // 2 if option == "faster" else n

    def step() -> None:
        left = [part.sort(-1).values for part in one[:n_called]]
        right = [part.sort(-1).values for part in other[:n_called]]
        for a, b in zip((left * n)[:n], (right * n)[:n], strict=True):
            (a - b).abs().mean(-1).max()

    return repeat(step)


NSYS: tuple[str, ...] = ()
LOADED = ("clips", "spoken", "reviews", "quick")
SLOW = {"recompute_train": 4}
"""Divisors of the numbers of steps of programs whose steps are long."""
LIVE = (
    "whisper_train",
    "chat_infer",
    "tell_infer",
    "road_train",
    "qnet_train",
    "molecules_train",
    "shop_train",
    "robot_infer",
    "drawn_infer",
    "crossing_infer",
    "forecast_train",
    "clips_load",
    "search_infer",
    "electra_train",
    "scenes_infer",
    "film_infer",
    "spoken_load",
    "recompute_train",
)
"""Programs that are captured live, in turns with a process that never profiles."""
LATE = ("clips_load", "recompute_train")
"""Programs that take long, and come last."""
CHANGED = tuple(sorted(PROGRAMS, key=lambda name: name in LATE))
CAPTURES: dict[str, tuple[dict[str, object], dict[str, str]]] = {"usual": ({}, {})}
N_LIVE = (20, 40, 30)
"""Numbers of steps: warm-up, timed before and after, and run by a captured process at first."""
N_ALTERNATING = (8, 15)
"""Then both processes take so many turns of so many steps."""
N_AFTER = 1
"""Whether each program is timed once more when its process has recorded all traces."""
