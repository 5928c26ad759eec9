"""Define the programs of the seventh judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from typing import Any

import torch
import transformers
from later_programs import optimizer_of, replayed, sent
from PIL import Image
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, laid_out, program, repeat, same
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchvision import models
from torchvision.transforms import v2

PROGRAMS.clear()


def attention(option: str) -> str:
    """Return how a model of transformers computes its attention."""
    return "sdpa" if option == "sdpa" else "eager"


# Where the device should be the limit


@program("regnet_train", "channels_last", size=(320, 128))
def regnet_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a RegNet in mixed precision with label smoothing and multi-tensor SGD."""
    batch, side = max(size[0] // SMALL // SMALL, 2), size[1] // min(SMALL, 2)
    net = models.regnet_y_800mf(weights=None, num_classes=200)
    x = torch.randn(batch, 3, side, side, device=DEVICE)
    net, x = laid_out(option, net.to(DEVICE), x)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    wanted = torch.randint(0, 200, (batch,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.cross_entropy(net(x), wanted, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    return repeat(step)


@program("mae_train", "sdpa", size=(384, 768, 6, 224))
def mae_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a vision transformer to fill in the three quarters of pictures that are hidden."""
    batch, width, depth, side = size
    batch, side = max(batch // SMALL // SMALL, 1), side // min(SMALL, 2)
    config = transformers.ViTMAEConfig(
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=12,
        intermediate_size=4 * width,
        decoder_hidden_size=width // 2,
        decoder_num_hidden_layers=3,
        decoder_num_attention_heads=6,
        decoder_intermediate_size=2 * width,
        image_size=side,
        attn_implementation=attention(option),
    )
    net = transformers.ViTMAEForPreTraining(config).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, betas=(0.9, 0.95))
    pictures = torch.randn(batch, 3, side, side, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, HALF):
            loss = net(pictures).loss
        loss.backward()
        optimizer.step()

    return repeat(step)


class Adapted(nn.Module):
    """A frozen layer, and a product of two narrow ones that is learned beside it."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(requires_grad=False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + 2 * self.up(self.down(x))


@program("lora_train", "sdpa", "compile", size=(6, 1024, 5, 1024))
def lora_train(option: str, size: tuple[int, ...]) -> Steps:
    """Adapt a frozen language model by narrow layers beside its queries and values."""
    batch, length, depth, width = size
    batch, length, width = max(batch // SMALL, 1), length // SMALL, width // min(SMALL, 4)
    config = transformers.LlamaConfig(
        vocab_size=8000,
        hidden_size=width,
        intermediate_size=8 * width // 3,
        num_hidden_layers=depth,
        num_attention_heads=16,
        num_key_value_heads=4,
        attn_implementation=attention(option),
    )
    net = transformers.LlamaForCausalLM(config).requires_grad_(requires_grad=False)
    for layer in net.model.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name), 8))
    net = net.to(DEVICE, HALF)
    run: Any = torch.compile(net) if option == "compile" else net
    learned = [weight for weight in net.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=2e-4)
    texts = torch.randint(3, 8000, (batch, length), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        run(input_ids=texts, labels=texts, use_cache=False).loss.backward()
        optimizer.step()

    return repeat(step)


class Marking(nn.Module):
    """Mark each part of a picture by the class that is most likely."""

    def __init__(self) -> None:
        super().__init__()
        self.net = models.segmentation.deeplabv3_resnet50(
            weights=None, weights_backbone=None, num_classes=19
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)["out"].argmax(1)


@program("streets_infer", "channels_last", "cuda_graph", size=(8, 512))
def streets_infer(option: str, size: tuple[int, int]) -> Steps:
    """Mark eight pictures of streets by dilated convolutions in half precision."""
    batch, side = max(size[0] // SMALL, 1), size[1] // min(SMALL, 4)
    dtype = torch.float16 if ON_GPU else torch.float32
    x = torch.randn(batch, 3, side, side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, Marking().to(DEVICE, dtype).eval(), x)
    return replayed(option, net, x)


class Folding(nn.Module):
    """Pairs of parts look at the pairs in their row, then at those in their column.

    `again` says whether the columns have weights of their own, or those of the rows.
    """

    def __init__(self, width: int, heads: int, *, again: bool) -> None:
        super().__init__()
        self.heads, self.again = heads, again
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.bias = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, heads)
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def scores(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        parts = self.mixed(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].mT * parts.shape[-1] ** -0.5
        return scores + self.bias(x).permute(2, 0, 1), parts[2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores, value = self.scores(self.norm(x))
        weights = scores.softmax(-1)
        x = x + self.taken(x, weights, value)
        turned = x.transpose(0, 1)
        scores, value = self.scores(self.norm(turned))
        weights = scores.softmax(-1) if self.again else weights
        x = x + self.taken(turned, weights, value).transpose(0, 1)
        return x + self.narrow(functional.relu(self.wide(self.norm2(x))))

    def taken(self, x: torch.Tensor, weights: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        seen = (weights @ value).transpose(1, 2).flatten(2)
        return self.out(self.gate(x).sigmoid() * seen)


@program("fold_infer", "faster=softmax by 2", "compile", size=(4, 256, 128, 4))
def fold_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Look from all pairs of parts of a protein at all others."""
    depth, n, width, heads = size
    layers = (Folding(width, heads, again=option != "faster") for _ in range(depth))
    net: Any = nn.Sequential(*layers).to(DEVICE, HALF).eval()
    net = torch.compile(net) if option == "compile" else net
    x = torch.randn(n // SMALL, n // SMALL, width, device=DEVICE, dtype=HALF)

    def step() -> None:
        with torch.no_grad():
            net(x)

    return repeat(step)


# Where the host should be the limit


@program("intents_train", "fused_optimizer", size=(8, 48, 6, 384))
def intents_train(option: str, size: tuple[int, ...]) -> Steps:
    """Fine-tune on short questions, with clipped gradients and a schedule of the rate.

    The loss and the number of right answers are read in every step.
    """
    batch, length, depth, width = size
    config = transformers.DistilBertConfig(
        vocab_size=8000,
        dim=width,
        hidden_dim=4 * width,
        n_layers=depth,
        n_heads=6,
        num_labels=40,
    )
    net = transformers.DistilBertForSequenceClassification(config).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=5e-5, foreach=False)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 100_000)
    words = torch.randint(3, 8000, (batch, length), device=DEVICE)
    seen = torch.ones_like(words)
    intents = torch.randint(0, 40, (batch,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        told = net(input_ids=words, attention_mask=seen, labels=intents)
        told.loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        right = (told.logits.argmax(-1) == intents).sum()
        told.loss.item(), right.item()

    return repeat(step)


@program("heat_train", "no_sync", "fused_optimizer", size=(2000, 64, 5))
def heat_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a network to satisfy the equation of heat, whose derivatives autograd computes.

    The loss is read in every step, to stop when it is small.
    """
    n, width, depth = size
    inside = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.Tanh())]
    net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), *inside, nn.Linear(width, 1)).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3, foreach=False)
    space, time = torch.rand(2, n, 1, device=DEVICE).requires_grad_()
    edge = torch.rand(n // 4, 1, device=DEVICE)
    first = torch.cat([edge, torch.zeros_like(edge)], 1)

    def slope(of: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(of.sum(), by, create_graph=True)[0]

    def step() -> None:
        optimizer.zero_grad()
        heat = net(torch.cat([space, time], 1))
        rest = slope(heat, time) - 0.1 * slope(slope(heat, space), space)
        begin = net(first) - (torch.pi * edge).sin()
        loss = rest.square().mean() + begin.square().mean()
        loss.backward()
        optimizer.step()
        if option != "no_sync":
            loss.item()

    return repeat(step)


@program("slides_infer", "cuda_graph", size=(2, 224))
def slides_infer(option: str, size: tuple[int, int]) -> Steps:
    """Classify two pictures of slides by a densely connected network."""
    net = models.densenet121(weights=None, num_classes=5).to(DEVICE).eval()
    side = size[1] // min(SMALL, 4)
    return replayed(option, net, torch.randn(size[0], 3, side, side, device=DEVICE))


class Describing(nn.Module):
    """Describe a picture by the mean of its parts, as a vector of length one."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.net = transformers.Dinov2Model(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.normalize(self.net(x).last_hidden_state[:, 1:].mean(1), dim=-1)


@program("similar_infer", "cuda_graph", size=(1, 384, 10, 224))
def similar_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Describe one picture by a vision transformer in half precision."""
    batch, width, depth, side = size
    side = side // min(SMALL, 4)
    config = transformers.Dinov2Config(
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=6,
        image_size=side,
        patch_size=14,
        attn_implementation="eager",
    )
    net = Describing(config).to(DEVICE, HALF).eval()
    return replayed(option, net, torch.randn(batch, 3, side, side, device=DEVICE, dtype=HALF))


@program("titles_infer", "no_sync", size=(4, 60, 256, 4))
def titles_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Write a title for each of four texts by T5: a word a step, whose end the host looks for.

    After 24 words it begins anew.
    """
    batch, length, width, depth = size
    config = transformers.T5Config(
        vocab_size=8000,
        d_model=width,
        d_kv=width // 4,
        d_ff=3 * width,
        num_layers=depth,
        num_heads=4,
        feed_forward_proj="gated-gelu",
    )
    net = transformers.T5ForConditionalGeneration(config).to(DEVICE).eval()
    texts = torch.randint(3, 8000, (batch, length), device=DEVICE)
    first = torch.zeros(batch, 1, dtype=torch.long, device=DEVICE)

    def words() -> Steps:
        with torch.no_grad():
            read = net.encoder(texts)
        while True:
            word, cache = first, None
            for _ in range(24):
                with torch.no_grad():
                    told = net(
                        encoder_outputs=read,
                        decoder_input_ids=word,
                        past_key_values=cache,
                        use_cache=True,
                    )
                word, cache = told.logits[:, -1:].argmax(-1), told.past_key_values
                if option != "no_sync":
                    bool((word == 1).all())
                yield

    return words()


class Moving(nn.Module):
    """Tell how each part of a picture moves to the next one, from coarse to fine.

    `every` says at how many of the levels the second picture is warped anew.
    """

    def __init__(self, width: int, levels: int, every: int) -> None:
        super().__init__()
        self.every = every
        self.first = nn.Conv2d(3, width, 3, 2, 1)
        self.down = nn.ModuleList(nn.Conv2d(width, width, 3, 2, 1) for _ in range(levels - 1))
        self.tell = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(2 * width + 2, width, 3, padding=1),
                nn.LeakyReLU(0.1),
                nn.Conv2d(width, width, 3, padding=1),
                nn.LeakyReLU(0.1),
                nn.Conv2d(width, 2, 3, padding=1),
            )
            for _ in range(2 * levels)
        )

    def seen(self, x: torch.Tensor) -> list[torch.Tensor]:
        found = [self.first(x)]
        for layer in self.down:
            found.append(functional.leaky_relu(layer(found[-1]), 0.1))
        return found[::-1]

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        move = torch.zeros_like(one[:, :2, :4, :4])
        turn = 0
        for left, right in zip(self.seen(one), self.seen(other), strict=True):
            move = functional.interpolate(move, left.shape[2:], mode="bilinear")
            for _ in range(2):
                here = functional.affine_grid(
                    self.still(one), list(left.shape), align_corners=False
                )
                places = here + move.permute(0, 2, 3, 1)
                if turn % self.every == 0:
                    warped = functional.grid_sample(right, places, align_corners=False)
                move = move + self.tell[turn](torch.cat([left, warped, move], 1))
                turn += 1
        return move

    def still(self, x: torch.Tensor) -> torch.Tensor:
        return torch.eye(2, 3, device=x.device).expand(len(x), 2, 3)


@program("moves_infer", "cuda_graph", "faster=grid_sampler by 2", size=(1, 48, 5, 256))
def moves_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Tell what moves between two pictures; each level of the pyramid is looked at twice."""
    batch, width, levels, side = size
    net = Moving(width, levels, 2 if option == "faster" else 1).to(DEVICE).eval()
    pictures = torch.rand(2, batch, 3, side, side, device=DEVICE)
    return replayed(option, net, *pictures)


# Training that a loader feeds


def fed(
    option: str, data: Dataset[Any], workers: tuple[int, int], **settings: Any
) -> Iterator[Any]:
    """Yield batches of a loader with the first number of workers, or what the change asks for."""
    if option != "input_ready":
        return iter(DataLoader(data, num_workers=workers[option == "workers"], **settings))
    pins = settings.pop("pin_memory", False)
    ready = next(iter(DataLoader(data, **settings)))
    return same([part.pin_memory() if pins else part for part in ready])


def learn(net: nn.Module, batches: Iterator[Any], kind: type[torch.optim.Optimizer]) -> Steps:
    """Train a classifier on batches of inputs and classes."""
    net = net.to(DEVICE)
    optimizer = kind(net.parameters(), lr=1e-3)  # type: ignore[call-arg]

    def step() -> None:
        x, wanted = (part.to(DEVICE, non_blocking=True) for part in next(batches))
        optimizer.zero_grad()
        functional.cross_entropy(net(x), wanted).backward()
        optimizer.step()

    return repeat(step)


class Endless(Dataset[Any]):
    """Items that a function makes from their number."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


@program("plants_load", "input_ready", "workers=2:6", workers=(2, 6), batch=16, side=160)
def plants_load(option: str, workers: tuple[int, int], batch: int, side: int) -> Steps:
    """Train on photographs, which two workers decode, cut at random and flip."""
    rough = torch.rand(16, 3, 30, 40)
    photos = functional.interpolate(rough, (300, 400), mode="bicubic").clamp(0, 1)
    files = [BytesIO() for _ in photos]
    for photo, file in zip(photos, files, strict=True):
        v2.functional.to_pil_image(photo).save(file, "JPEG", quality=90)
    change = v2.Compose(
        [
            v2.RandomResizedCrop(side, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    data = Endless(lambda i: (change(Image.open(files[i % len(files)]).convert("RGB")), i % 30))
    widths = (3, 32, 64, 128, 256)
    body = [
        part
        for inside, outside in pairwise(widths)
        for part in (nn.Conv2d(inside, outside, 3, 2, 1), nn.BatchNorm2d(outside), nn.SiLU())
    ]
    net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 30))
    batches = fed(option, data, workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(net, batches, torch.optim.AdamW)


class Reading(nn.Module):
    """Look at neighbouring characters, and classify what stands out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(128, width, padding_idx=0)
        self.look = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(3))
        self.tell = nn.Linear(width, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.embed(x).mT
        for layer in self.look:
            seen = seen + functional.gelu(layer(seen))
        return self.tell(seen.amax(-1))


@program("logs_load", "input_ready", "workers=0:3", workers=(0, 3), batch=128)
def logs_load(option: str, workers: tuple[int, int], batch: int) -> Steps:
    """Train on lines of logs of several lengths, which the process that trains cleans itself."""
    lines = [
        " ".join(
            f"[{(i * k) % 977:03d}] host{k % 9} User{i * k % 83} opened /srv/data/{k}"
            for k in range(1, 3 + i % 7)
        )
        for i in range(1, 500)
    ]

    def clean(index: int) -> tuple[torch.Tensor, int]:
        words = lines[index % len(lines)].lower().split()
        kept = " ".join("#" if word[1:-1].isdigit() else word for word in words)[:160]
        return torch.tensor([ord(letter) for letter in kept]), index % 8

    def together(rows: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
        texts = pad_sequence([text for text, _ in rows], batch_first=True)
        padded = functional.pad(texts, (0, 160 - texts.shape[1]))
        return [padded, torch.tensor([kind for _, kind in rows])]

    batches = fed(option, Endless(clean), workers, batch_size=batch, collate_fn=together)
    return learn(Reading(128), batches, torch.optim.Adam)


class Tiles(IterableDataset[Any]):
    """Tiles of a picture from a satellite, whose bands are stretched by their quantiles."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.scene = torch.randint(0, 4000, (6, 1500, 1500), dtype=torch.int16)

    def __iter__(self) -> Iterator[Any]:
        known = get_worker_info()
        drawn = torch.Generator().manual_seed(known.id if known else 0)
        while True:
            left, top = torch.randint(0, 1500 - self.side, (2,), generator=drawn).tolist()
            tile = self.scene[:, top : top + self.side, left : left + self.side].float()
            low, high = tile.flatten(1).quantile(torch.tensor([0.02, 0.98]), dim=1)[..., None, None]
            tile = ((tile - low) / (high - low)).clamp(0, 1)
            yield tile.rot90(left % 4, (1, 2)), (tile[3] > tile[2]).long()


@program("fields_load", "input_ready", "workers=1:4", workers=(1, 4), batch=8, side=128)
def fields_load(option: str, workers: tuple[int, int], batch: int, side: int) -> Steps:
    """Train to mark fields on tiles, which one worker cuts and stretches."""
    net = nn.Sequential(
        nn.Conv2d(6, 48, 3, padding=1),
        nn.GroupNorm(8, 48),
        nn.ReLU(),
        nn.Conv2d(48, 96, 3, 2, 1),
        nn.GroupNorm(8, 96),
        nn.ReLU(),
        nn.Conv2d(96, 96, 3, padding=1),
        nn.GroupNorm(8, 96),
        nn.ReLU(),
        nn.ConvTranspose2d(96, 48, 2, 2),
        nn.ReLU(),
        nn.Conv2d(48, 2, 1),
    )
    batches = fed(option, Tiles(side), workers, batch_size=batch, pin_memory=ON_GPU)
    return learn(net, batches, torch.optim.AdamW)


# Inference on what the host sends


@program("lungs_infer", "pinned", "dtype=bf16", size=(16, 1, 1024, 1024))
def lungs_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Send sixteen X-ray pictures, 64 MiB together, to a small network."""
    net = nn.Sequential(
        nn.Conv2d(1, 24, 5, 4, 2),
        nn.BatchNorm2d(24),
        nn.Hardswish(),
        nn.Conv2d(24, 48, 3, 2, 1),
        nn.BatchNorm2d(48),
        nn.Hardswish(),
        nn.Conv2d(48, 96, 3, 2, 1),
        nn.BatchNorm2d(96),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(96, 14),
        nn.Sigmoid(),
    )
    pictures = torch.rand(max(size[0] // SMALL, 1), *size[1:])
    return sent(option, [pictures], net.to(DEVICE).eval())


class Ranking(nn.Module):
    """Cross the columns of a table in three rounds, then tell which row is best."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.cross = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.tell = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x = self.norm(x)
        for layer in self.cross:
            x = first * layer(x) + x
        return self.tell(x).squeeze(1).topk(20).indices


@program("adverts_infer", "pinned", "dtype=float64:bf16", n=4, size=(8192, 96))
def adverts_infer(option: str, n: int, size: tuple[int, int]) -> Steps:
    """Send four tables of adverts in float64, 6 MiB each, to a network that ranks them."""
    rows = max(size[0] // SMALL, 20)
    tables = [torch.rand(rows, size[1], dtype=torch.float64) for _ in range(n)]
    return sent(option, tables, Ranking(size[1]).to(DEVICE).eval())


LOADED = ("plants", "logs", "fields")
LIVE = (
    "regnet_train",
    "lora_train",
    "streets_infer",
    "intents_train",
    "heat_train",
    "slides_infer",
    "titles_infer",
    "moves_infer",
    "plants_load",
    "adverts_infer",
)
"""Programs that are captured live, too."""
