"""Define the programs of the twelfth judgement whose host should be the limit.

twelfth_programs.py imports them.
"""

# ruff: noqa: ARG001, D102 - programs without a change; the forward of a layer

from __future__ import annotations

from itertools import cycle

import torch
from programs import DEVICE, Steps, program
from torch import nn
from torch.nn import functional
from torchvision import models
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    MobileBertConfig,
    MobileBertForSequenceClassification,
    MobileViTConfig,
    MobileViTForImageClassification,
)


@program("claims_train", size=(8, 64, 256, 8))
def claims_train(option: str, size: tuple[int, ...]) -> Steps:
    """Fine-tune an ALBERT, whose layers share weights, to tell true claims from false ones."""
    batch, length, width, depth = size
    config = AlbertConfig(
        vocab_size=8000,
        embedding_size=64,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=4,
        intermediate_size=4 * width,
        max_position_embeddings=128,
        num_labels=2,
    )
    with DEVICE:
        net = AlbertForSequenceClassification(config)
        claims = torch.randint(5, 8000, (6, batch, length))
        is_true = torch.randint(0, 2, (6, batch))
        is_word = torch.ones(batch, length, dtype=torch.long)
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-5, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=50_000)
    for words, wanted in cycle(zip(claims, is_true, strict=True)):
        loss = net(input_ids=words, attention_mask=is_word, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        plan.step()
        yield


@program("ships_infer", size=(1, 320))
def ships_infer(option: str, size: tuple[int, int]) -> Steps:
    """Find ships in a picture of a harbour by FCOS; the host gets their scores."""
    batch, side = size
    with DEVICE:
        net = models.detection.fcos_resnet50_fpn(
            weights=None,
            weights_backbone=None,
            num_classes=3,
            min_size=side,
            max_size=side,
            topk_candidates=100,
        ).eval()
        pictures = torch.rand(4, batch, 3, side, side)
    for picture in cycle(pictures):
        with torch.no_grad():
            found = net(list(picture))
        [boxes["scores"].tolist() for boxes in found]
        yield


class Facts(nn.Module):
    """Score facts (who, how, whom) by ComplEx: products of complex vectors."""

    def __init__(self, n: int, n_ways: int, width: int) -> None:
        super().__init__()
        self.real, self.imaginary = nn.Embedding(n, width), nn.Embedding(n, width)
        self.way_real, self.way_imaginary = nn.Embedding(n_ways, width), nn.Embedding(n_ways, width)

    def forward(self, facts: torch.Tensor) -> torch.Tensor:
        who, how, whom = facts.unbind(-1)
        a, b = self.real(who), self.imaginary(who)
        c, d = self.way_real(how), self.way_imaginary(how)
        e, f = self.real(whom), self.imaginary(whom)
        return (a * c * e + b * c * f + a * d * f - b * d * e).sum(-1)


@program("facts_train", size=(40_000, 30, 64), batch=512, false=8)
def facts_train(option: str, size: tuple[int, int, int], batch: int, false: int) -> Steps:
    """Train a knowledge graph to score facts above false ones, which are drawn in each step."""
    n, n_ways, width = size
    with DEVICE:
        net = Facts(n, n_ways, width)
        whos = torch.randint(0, n, (16, batch, 3))
        facts = torch.stack([whos[..., 0], whos[..., 1] % n_ways, whos[..., 2]], -1)
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.1)
    lost = 0.0
    for known in cycle(facts):
        wrong = known[:, None].repeat(1, false, 1)
        wrong[:, ::2, 0] = torch.randint(0, n, (batch, false // 2), device=DEVICE)
        wrong[:, 1::2, 2] = torch.randint(0, n, (batch, false // 2), device=DEVICE)
        scores = net(torch.cat([known[:, None], wrong], 1))
        right = functional.softplus(-scores[:, 0]).mean()
        loss = right + functional.softplus(scores[:, 1:]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lost = 0.9 * lost + 0.1 * loss.item()
        yield


@program("reads_infer", size=(2, 64, 12))
def reads_infer(option: str, size: tuple[int, int, int]) -> Steps:
    """Tell by a MobileBERT whether two messages are a complaint; the host gets the chances."""
    batch, length, depth = size
    config = MobileBertConfig(
        vocab_size=8000,
        hidden_size=256,
        embedding_size=64,
        intra_bottleneck_size=64,
        intermediate_size=256,
        num_hidden_layers=depth,
        num_attention_heads=4,
        max_position_embeddings=128,
        num_labels=3,
    )
    with DEVICE:
        net = MobileBertForSequenceClassification(config).eval()
        messages = torch.randint(5, 8000, (4, batch, length))
        is_word = torch.ones(batch, length, dtype=torch.long)
    for words in cycle(messages):
        with torch.no_grad():
            told = net(words, attention_mask=is_word).logits.softmax(1)
        told.tolist()
        yield


class Verses(nn.Module):
    """Write a verse word by word, each time looking at all words of the verse before."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.write = nn.GRUCell(2 * width, width)
        self.of_state, self.of_seen = nn.Linear(width, width), nn.Linear(width, width)
        self.score, self.tell = nn.Linear(width, 1), nn.Linear(2 * width, n)

    def forward(self, before: torch.Tensor, verse: torch.Tensor) -> torch.Tensor:
        seen, last = self.read(self.words(before))
        keys, state = self.of_seen(seen), last[0]
        told = []
        for word in self.words(verse).unbind(1):
            looks = self.score(torch.tanh(keys + self.of_state(state)[:, None])).softmax(1)
            looked = (looks * seen).sum(1)
            state = self.write(torch.cat([word, looked], 1), state)
            told.append(self.tell(torch.cat([state, looked], 1)))
        return torch.stack(told, 1)


@program("verses_train", size=(32, 14, 3000, 128))
def verses_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train to write verses by two recurrent networks with attention, cell by cell."""
    batch, length, n, width = size
    with DEVICE:
        net = Verses(n, width)
        before = torch.randint(0, n, (4, batch, length))
        verses = torch.randint(0, n, (4, batch, length + 1))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for seen, verse in cycle(zip(before, verses, strict=True)):
        told = net(seen, verse[:, :-1])
        loss = functional.cross_entropy(told.flatten(0, 1), verse[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        yield


class Columns(nn.Module):
    """Make a word of each column of a table, and let the words look at each other."""

    def __init__(self, numbers: int, kinds: int, width: int, depth: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(numbers, width))
        self.shift = nn.Parameter(torch.randn(numbers, width))
        self.kinds = nn.ModuleList(nn.Embedding(10, width) for _ in range(kinds))
        self.whole = nn.Parameter(torch.randn(1, 1, width))
        layer = nn.TransformerEncoderLayer(
            width,
            nhead=4,
            dim_feedforward=2 * width,
            dropout=0.1,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.tell = nn.Linear(width, 1)

    def forward(self, numbers: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        of_numbers = numbers[..., None] * self.scale + self.shift
        of_kinds = [look(kind) for look, kind in zip(self.kinds, kinds.unbind(1), strict=True)]
        whole = self.whole.expand(len(numbers), -1, -1)
        words = torch.cat([whole, of_numbers, torch.stack(of_kinds, 1)], 1)
        return self.tell(self.layers(words)[:, 0])[:, 0]


@program("loans_train", size=(128, 20, 12, 64, 3))
def loans_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train an FT-Transformer to tell which loans are not paid back; the loss is read."""
    batch, numbers, kinds, width, depth = size
    with DEVICE:
        net = Columns(numbers, kinds, width, depth)
        told = torch.randn(6, batch, numbers)
        chosen = torch.randint(0, 10, (6, batch, kinds))
        is_lost = torch.randint(0, 2, (6, batch)).float()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=1e-5)
    losses: list[float] = []
    for x, kind, wanted in cycle(zip(told, chosen, is_lost, strict=True)):
        loss = functional.binary_cross_entropy_with_logits(net(x, kind), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses = [*losses[-99:], loss.item()]
        yield


@program("masks_infer", size=(4, 160))
def masks_infer(option: str, size: tuple[int, int]) -> Steps:
    """Tell by a MobileNetV2 which of four people wear a mask."""
    batch, side = size
    with DEVICE:
        net = models.mobilenet_v2(weights=None, num_classes=2).eval()
        pictures = torch.randn(4, batch, 3, side, side)
    for faces in cycle(pictures):
        with torch.inference_mode():
            net(faces).argmax(1).tolist()
        yield


@program("herbs_train", size=(8, 128))
def herbs_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a MobileViT, of convolutions and attention in turn, to tell herbs."""
    batch, side = size
    config = MobileViTConfig(image_size=side, num_labels=30)
    with DEVICE:
        net = MobileViTForImageClassification(config)
        pictures = torch.randn(4, batch, 3, side, side)
        kinds = torch.randint(0, 30, (4, batch))
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for x, wanted in cycle(zip(pictures, kinds, strict=True)):
        loss = functional.cross_entropy(net(pixel_values=x).logits, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield
