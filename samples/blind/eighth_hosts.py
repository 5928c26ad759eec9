"""Define the programs of the eighth judgement whose host should be the limit.

eighth_programs.py imports them.
"""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from typing import Any

import torch
import transformers
from later_programs import optimizer_of, replayed
from programs import DEVICE, HALF, SMALL, Steps, program, repeat
from seventh_programs import attention
from torch import nn
from torch.func import functional_call
from torch.nn import functional
from torchvision import models


class Coding(nn.Module):
    """Describe a picture by the nearest of some known vectors, and build it again."""

    def __init__(self, width: int, n: int) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(width, width, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 1),
        )
        self.decode = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )
        self.register_buffer("known", torch.randn(n, width))
        self.register_buffer("sums", self.known.clone())
        self.register_buffer("counts", torch.ones(n))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        found = self.encode(x).permute(0, 2, 3, 1)
        flat = found.flatten(0, 2)
        nearest = torch.cdist(flat, self.known).argmin(1)
        chosen = functional.one_hot(nearest, len(self.known)).float()
        near = self.known[nearest].view_as(found)
        with torch.no_grad():
            self.counts.lerp_(chosen.sum(0), 0.01)
            self.sums.lerp_(chosen.T @ flat, 0.01)
            self.known.copy_(self.sums / self.counts.clamp_min(1e-5)[:, None])
            share = chosen.mean(0)
            spread = (-(share * (share + 1e-10).log()).sum()).exp()
        kept = functional.mse_loss(found, near.detach())
        passed = found + (near - found).detach()
        return self.decode(passed.permute(0, 3, 1, 2)), kept, spread


@program("codes_train", "no_sync", "fused_optimizer", size=(16, 32, 64, 256))
def codes_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a code for small pictures with Adam, parameter by parameter.

    The loss, and how many of the code's words are in use, are read in every step.
    """
    batch, side, width, n = size
    net = Coding(width, n).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=2e-4, foreach=False)
    pictures = torch.rand(batch, 3, side, side, device=DEVICE)

    def step() -> None:
        built, kept, spread = net(pictures)
        loss = functional.mse_loss(built, pictures) + 0.25 * kept
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if option != "no_sync":
            loss.item(), spread.item()

    return repeat(step)


@program("leaves_infer", "cuda_graph", size=(2, 224))
def leaves_infer(option: str, size: tuple[int, int]) -> Steps:
    """Tell two leaves by an EfficientNet of the second version."""
    net = models.efficientnet_v2_s(weights=None, num_classes=100).to(DEVICE).eval()
    side = size[1] // min(SMALL, 4)
    return replayed(option, net, torch.randn(size[0], 3, side, side, device=DEVICE))


class Tagging(nn.Module):
    """Tag the words of a text by a GRU in both directions; the tags depend on their neighbours."""

    def __init__(self, words: int, width: int, tags: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.read = nn.GRU(width, width // 2, 2, batch_first=True, bidirectional=True)
        self.score, self.drop = nn.Linear(width, tags), nn.Dropout(0.3)
        self.follow = nn.Parameter(torch.randn(tags, tags) / 10)

    def forward(self, words: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        scores = self.score(self.drop(self.read(self.embed(words))[0]))
        right = scores.gather(2, tags[..., None]).sum((1, 2))
        right = right + self.follow[tags[:, :-1], tags[:, 1:]].sum(1)
        first, *others = scores.unbind(1)
        total = first
        for score in others:
            total = (total[:, :, None] + self.follow).logsumexp(1) + score
        return (total.logsumexp(1) - right).mean()


@program("names_train", "no_sync", size=(16, 40, 256, 9))
def names_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train to find names in texts by a conditional random field; gradients are clipped.

    The loss is read in every step.
    """
    batch, length, width, n_tags = size
    net = Tagging(5000, width, n_tags).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    words = torch.randint(0, 5000, (batch, length), device=DEVICE)
    tags = torch.randint(0, n_tags, (batch, length), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        loss = net(words, tags)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        if option != "no_sync":
            loss.item()

    return repeat(step)


class Voiced(nn.Module):
    """Look at all sounds, then at neighbouring ones; both are added to the input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.look = nn.MultiheadAttention(width, 4, batch_first=True)
        self.near, self.back = (
            nn.Conv1d(width, 2 * width, 9, padding=4),
            nn.Conv1d(2 * width, width, 1),
        )
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x + self.look(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.back(self.near(x.mT).relu()).mT)


@program("voice_infer", "no_sync", size=(70, 256, 4))
def voice_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Speak a sentence: the device tells how long each sound lasts, and the host asks for it."""
    length, width, depth = size
    read = nn.Sequential(*(Voiced(width) for _ in range(depth))).to(DEVICE)
    speak = nn.Sequential(*(Voiced(width) for _ in range(depth))).to(DEVICE)
    embed, last, tell = nn.Embedding(80, width), nn.Linear(width, 1), nn.Linear(width, 80)
    for layer in (embed, last, tell):
        layer.to(DEVICE)
    sounds = torch.randint(0, 80, (1, length), device=DEVICE)

    def spoken(known: int | None) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            heard = read(embed(sounds))
            lasts = (last(heard[0]).squeeze(1).exp() * 5).round().clamp(1, 20).long()
            long = heard[0].repeat_interleave(lasts, 0, output_size=known)
            return tell(speak(long[None])), lasts

    known = int(spoken(None)[1].sum()) if option == "no_sync" else None
    return repeat(lambda: spoken(known))


@program("poems_infer", "no_sync", size=(48, 512, 6), n=40)
def poems_infer(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Write a poem by a Gemma: a word a step is drawn, which the host reads to print it.

    After 40 words it begins anew.
    """
    length, width, depth = size
    config = transformers.Gemma2Config(
        vocab_size=8000,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=depth,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=64,
        sliding_window=64,
        attn_implementation="eager",
    )
    net = transformers.Gemma2ForCausalLM(config).to(DEVICE, HALF).eval()
    begin = torch.randint(3, 8000, (1, length), device=DEVICE)

    def words() -> Steps:
        while True:
            word, cache = begin, None
            for _ in range(n):
                with torch.no_grad():
                    told = net(input_ids=word, past_key_values=cache, use_cache=True)
                best = (told.logits[:, -1].float() / 0.8).topk(50)
                drawn = best.values.softmax(-1).multinomial(1)
                word, cache = best.indices.gather(1, drawn), told.past_key_values
                if option != "no_sync":
                    word.item()
                yield

    return words()


class Folded(nn.Module):
    """Describe a protein by the mean of its parts."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.net = transformers.EsmModel(config, add_pooling_layer=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).last_hidden_state.mean(1)


@program("protein_infer", "sdpa", "cuda_graph", size=(1, 180, 320, 6))
def protein_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Describe one protein by a language model for proteins."""
    batch, length, width, depth = size
    config = transformers.EsmConfig(
        vocab_size=33,
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=20,
        intermediate_size=4 * width,
        max_position_embeddings=1026,
        position_embedding_type="rotary",
        pad_token_id=1,
        mask_token_id=32,
        token_dropout=True,
        attn_implementation=attention(option),
    )
    net = Folded(config).to(DEVICE).eval()
    return replayed(option, net, torch.randint(4, 24, (batch, length), device=DEVICE))


@program("alphabets_train", "fused_optimizer", size=(2, 5, 28, 64), n=3)
def alphabets_train(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Learn to learn letters: three steps on each of two alphabets, then one through all."""
    tasks, ways, side, width = size
    layers: list[nn.Module] = []
    for inside in (1, width, width, width):
        layers += [nn.Conv2d(inside, width, 3, 2, 1), nn.GroupNorm(8, width), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * width, ways)).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3, foreach=False)
    letters = torch.rand(tasks, 2, 5 * ways, 1, side, side, device=DEVICE)
    kinds = torch.arange(ways, device=DEVICE).repeat(5)

    def step() -> None:
        optimizer.zero_grad()
        for shown, asked in letters:
            weights = dict(net.named_parameters())
            for _ in range(n):
                loss = functional.cross_entropy(functional_call(net, weights, shown), kinds)
                slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
                pairs = zip(weights.items(), slopes, strict=True)
                weights = {name: weight - 0.1 * slope for (name, weight), slope in pairs}
            functional.cross_entropy(functional_call(net, weights, asked), kinds).backward()
        optimizer.step()

    return repeat(step)
