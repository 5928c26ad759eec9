"""Define the programs of the ninth judgement whose host should be the limit.

ninth_programs.py imports them.
"""

# ruff: noqa: ARG001, D102 - programs without a change; the forward of a layer

from __future__ import annotations

from typing import Any

import torch
import transformers
from programs import DEVICE, HALF, SMALL, Steps, program, repeat
from torch import nn
from torch.nn import functional
from torchvision import models


class Atoms(nn.Module):
    """Tell the energy of molecules by what atoms send to those that are near."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, width)
        self.register_buffer("centres", torch.linspace(0, 5, 32))
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(32, width), nn.Softplus(), nn.Linear(width, width))
            for _ in range(depth)
        )
        self.mixing = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width))
            for _ in range(depth)
        )
        self.tell = nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1))

    def forward(
        self, kinds: torch.Tensor, places: torch.Tensor, pairs: torch.Tensor
    ) -> torch.Tensor:
        left, right = pairs
        far = (places[left] - places[right]).norm(dim=1)
        near = (-10 * (far[:, None] - self.centres).square()).exp()
        fades = 0.5 * ((far * torch.pi / 5).cos() + 1) * (far < 5)
        x = self.embed(kinds)
        for filtered, mixed in zip(self.filters, self.mixing, strict=True):
            sent = x[right] * filtered(near) * fades[:, None]
            x = x + mixed(torch.zeros_like(x).index_add(0, left, sent))
        return self.tell(x).view(-1, 20).sum(1)


@program("atoms_train", size=(12, 128, 3))
def atoms_train(option: str, size: tuple[int, ...]) -> Steps:
    """Learn energies of molecules and the forces on their atoms; the loss is read."""
    n, width, depth = size
    net = Atoms(width, depth).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kinds = torch.randint(0, 10, (20 * n,), device=DEVICE)
    places = 2 * torch.randn(20 * n, 3, device=DEVICE)
    inside = torch.ones(20, 20).triu(1).nonzero().T
    pairs = torch.cat([inside + 20 * number for number in range(n)], 1)
    pairs = torch.cat([pairs, pairs.flip(0)], 1).to(DEVICE)
    energies, forces = torch.randn(n, device=DEVICE), torch.randn(20 * n, 3, device=DEVICE)

    def step() -> None:
        moved = places.clone().requires_grad_()
        told = net(kinds, moved, pairs)
        (slopes,) = torch.autograd.grad(told.sum(), moved, create_graph=True)
        loss = functional.mse_loss(told, energies) + 10 * functional.mse_loss(-slopes, forces)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return repeat(step)


class Dreaming(nn.Module):
    """Imagine what comes next: a state that is drawn, and a memory that is not."""

    def __init__(self, width: int, kinds: int) -> None:
        super().__init__()
        self.see = nn.Sequential(nn.Linear(64, width), nn.ELU(), nn.Linear(width, width))
        self.remember = nn.GRUCell(width, width)
        self.enter = nn.Linear(kinds + 6, width)
        self.before = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 2 * kinds))
        self.after = nn.Sequential(
            nn.Linear(2 * width, width), nn.ELU(), nn.Linear(width, 2 * kinds)
        )
        self.tell = nn.Sequential(nn.Linear(width + kinds, width), nn.ELU(), nn.Linear(width, 65))
        self.width, self.kinds = width, kinds

    def forward(self, seen: torch.Tensor, did: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch = seen.shape[1]
        memory = seen.new_zeros(batch, self.width)
        state = seen.new_zeros(batch, self.kinds)
        told, apart = [], []
        for image, action in zip(self.see(seen), did, strict=True):
            memory = self.remember(self.enter(torch.cat([state, action], 1)).relu(), memory)
            guessed, width = self.before(memory).chunk(2, 1)
            prior = torch.distributions.Normal(guessed, functional.softplus(width) + 0.1)
            found, width = self.after(torch.cat([memory, image], 1)).chunk(2, 1)
            posterior = torch.distributions.Normal(found, functional.softplus(width) + 0.1)
            state = posterior.rsample()
            told.append(self.tell(torch.cat([memory, state], 1)))
            apart.append(torch.distributions.kl_divergence(posterior, prior).sum(1))
        return torch.stack(told), torch.stack(apart)


@program("dreams_train", size=(32, 16, 256, 32))
def dreams_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a model of a world on what an agent saw, did and got, moment by moment."""
    batch, length, width, kinds = size
    net = Dreaming(width, kinds).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=6e-4, foreach=False)
    seen = torch.randn(length, batch, 64, device=DEVICE)
    did, got = (
        torch.randn(length, batch, 6, device=DEVICE),
        torch.randn(length, batch, device=DEVICE),
    )

    def step() -> None:
        told, apart = net(seen, did)
        loss = functional.mse_loss(told[..., :64], seen) + apart.clamp_min(1.0).mean()
        loss = loss + functional.mse_loss(told[..., 64], got)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 100.0)
        optimizer.step()

    return repeat(step)


class Fired(torch.autograd.Function):
    """Fire above the threshold; the slope is that of a smooth step."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(context: Any, slope: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = context.saved_tensors
        return slope / (1 + 10 * x.abs()).square()


class Spiking(nn.Module):
    """Neurons that gather charge over some moments, fire and begin anew."""

    def __init__(self, moments: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 16, 5, 2, 2), nn.Conv2d(16, 32, 5, 2, 2)
        self.tell = nn.Linear(32 * 9 * 9, 11)
        self.moments = moments

    def forward(self, events: torch.Tensor) -> torch.Tensor:
        charges: list[Any] = [0.0, 0.0, 0.0]
        fired = []
        for moment in range(self.moments):
            x = events[moment]
            for place, layer in enumerate((self.first, self.second, self.tell)):
                charge = 0.9 * charges[place] + layer(x.flatten(1) if place == 2 else x)
                x = Fired.apply(charge - 1)
                charges[place] = charge - x
            fired.append(x)
        return torch.stack(fired).sum(0)


@program("spikes_train", size=(24, 36, 20))
def spikes_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a spiking network on hands that an event camera saw; how many are right is read."""
    batch, side, moments = size
    net = Spiking(moments).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, foreach=False)
    events = (torch.rand(moments, batch, 2, side, side, device=DEVICE) < 0.1).float()
    kinds = torch.randint(0, 11, (batch,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        told = net(events)
        functional.cross_entropy(told, kinds).backward()
        optimizer.step()
        (told.argmax(1) == kinds).sum().item()

    return repeat(step)


@program("shells_infer", size=(3, 224))
def shells_infer(option: str, size: tuple[int, int]) -> Steps:
    """Tell three shells by GoogLeNet, whose parts are small."""
    net = models.googlenet(weights=None, num_classes=60, aux_logits=False, init_weights=False)
    net, side = net.to(DEVICE).eval(), size[1] // min(SMALL, 2)
    x = torch.randn(size[0], 3, side, side, device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            net(x).softmax(1).topk(5)

    return repeat(step)


@program("guesses_infer", size=(64, 512), depths=(1, 6), ahead=3)
def guesses_infer(option: str, size: tuple[int, int], depths: tuple[int, int], ahead: int) -> Steps:
    """Write a text: a small OPT guesses three words, a larger one checks them in one go.

    The host reads how many are right. After 60 turns the text begins anew.
    """
    length, width = size
    small, large = (
        transformers.OPTForCausalLM(
            transformers.OPTConfig(
                vocab_size=6000,
                hidden_size=width,
                word_embed_proj_dim=width,
                ffn_dim=4 * width,
                num_hidden_layers=depth,
                num_attention_heads=8,
                max_position_embeddings=1024,
            )
        )
        .to(DEVICE, HALF)
        .eval()
        for depth in depths
    )
    begin = torch.randint(3, 6000, (1, length), device=DEVICE)

    def guessed(net: Any, words: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        told = net(input_ids=words, past_key_values=cache, use_cache=True)
        return told.logits.argmax(-1), told.past_key_values

    def turn(word: torch.Tensor, caches: list[Any], known: int) -> tuple[torch.Tensor, int]:
        guesses = [word]
        for _ in range(ahead):
            guess, caches[0] = guessed(small, guesses[-1], caches[0])
            guesses.append(guess[:, -1:])
        ahead_words = torch.cat(guesses, 1)
        found, caches[1] = guessed(large, ahead_words, caches[1])
        right = (found[:, :-1] == ahead_words[:, 1:]).long().cumprod(1).sum()
        n = min(int(right), ahead - 1)
        for cache in caches:
            cache.crop(known + n + 1)
        return found[:, n : n + 1], known + n + 1

    def turns() -> Steps:
        while True:
            caches: list[Any] = [None, None]
            with torch.no_grad():
                _, caches[0] = guessed(small, begin, None)
                word, caches[1] = guessed(large, begin, None)
            word, known = word[:, -1:], length
            for _ in range(60):
                with torch.no_grad():
                    word, known = turn(word, caches, known)
                yield

    return turns()


@program("clicks_infer", size=(16, 256))
def clicks_infer(option: str, size: tuple[int, int]) -> Steps:
    """Cut out what is clicked at in a picture that SAM has seen; the best mask's score is read."""
    side, width = size
    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "mlp_dim": 128,
            "output_channels": width,
            "image_size": 16 * side,
            "global_attn_indexes": [0],
        },
        prompt_encoder_config={
            "hidden_size": width,
            "image_size": 16 * side,
            "image_embedding_size": side,
        },
        mask_decoder_config={"hidden_size": width},
    )
    net = transformers.SamModel(config).to(DEVICE).eval()
    seen = torch.randn(1, width, side, side, device=DEVICE)
    clicks = 16 * side * torch.rand(1, 1, 3, 2, device=DEVICE)
    kinds = torch.tensor([[[1, 1, 0]]], device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            told = net(image_embeddings=seen, input_points=clicks, input_labels=kinds)
            best = told.iou_scores[0, 0].argmax()
            mask = told.pred_masks[0, 0, best] > 0
            mask.sum().item()

    return repeat(step)
