"""Define the programs of the eleventh judgement whose host should be the limit.

eleventh_programs.py imports them.
"""

# ruff: noqa: ARG001, D102 - programs without a change; the forward of a layer

from __future__ import annotations

from itertools import cycle, pairwise

import torch
from programs import DEVICE, Steps, program
from torch import nn
from torch.nn import functional
from torchvision import models
from transformers import (
    BartConfig,
    BartForSequenceClassification,
    DecisionTransformerConfig,
    DecisionTransformerModel,
    TimeSeriesTransformerConfig,
    TimeSeriesTransformerForPrediction,
)


@program("shops_train", size=(32, 48, 24, 32), n_times=3)
def shops_train(option: str, size: tuple[int, ...], n_times: int) -> Steps:
    """Train a time series transformer to foresee what shops sell, with chances of each number."""
    batch, seen, ahead, width = size
    lags = [1, 2, 3, 7, 14]
    config = TimeSeriesTransformerConfig(
        prediction_length=ahead,
        context_length=seen,
        lags_sequence=lags,
        num_time_features=n_times,
        d_model=width,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
    )
    past = seen + max(lags)
    with DEVICE:
        net = TimeSeriesTransformerForPrediction(config)
        sold = 5 * torch.rand(4, batch, past + ahead)
        times = torch.rand(batch, past + ahead, n_times)
        is_known = torch.ones(batch, past)
    optimizer = torch.optim.AdamW(net.parameters(), lr=6e-4, betas=(0.9, 0.95))
    for numbers in cycle(sold):
        loss = net(
            past_values=numbers[:, :past],
            past_time_features=times[:, :past],
            past_observed_mask=is_known,
            future_values=numbers[:, past:],
            future_time_features=times[:, past:],
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("fashions_train", size=(15, 40, 64), n=5)
def fashions_train(option: str, size: tuple[int, int, int], n: int) -> Steps:
    """Learn to learn by Reptile: five steps for one fashion, then weights move towards them."""
    kinds, side, width = size
    layers: list[nn.Module] = []
    for inside, outside in pairwise((1, width, width, width)):
        layers += [nn.Conv2d(inside, outside, 3, 2, 1), nn.GroupNorm(8, outside), nn.ReLU()]
    with DEVICE:
        net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * 25, kinds)).to(DEVICE)
        pictures = torch.randn(6, n, 2 * kinds, 1, side, side)
        wanted = torch.arange(2 * kinds) % kinds
    known = [weight.detach().clone() for weight in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    for of_fashion in cycle(pictures):
        for x in of_fashion:
            loss = functional.cross_entropy(net(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for old, weight in zip(known, net.parameters(), strict=True):
                weight.copy_(old.lerp_(weight, 0.1))
        yield


@program("moods_infer", size=(2, 40, 256, 4))
def moods_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Tell the mood of two messages by a Bart; the host gets the chances of each."""
    batch, length, width, depth = size
    config = BartConfig(
        vocab_size=8000,
        d_model=width,
        encoder_layers=depth,
        decoder_layers=depth,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=128,
        num_labels=5,
    )
    with DEVICE:
        net = BartForSequenceClassification(config).eval()
        messages = torch.randint(3, 8000, (4, batch, length))
    messages[..., -1] = 2
    for words in cycle(messages):
        with torch.no_grad():
            told = net(words, attention_mask=torch.ones_like(words), use_cache=False)
            told.logits.softmax(1).tolist()
        yield


class Energy(nn.Module):
    """Tell the energy of pendulums, which says how they move."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 * n, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, 1),
        )

    def change(self, state: torch.Tensor) -> torch.Tensor:
        energy = self.net(state).sum()
        (slope,) = torch.autograd.grad(energy, state, create_graph=True)
        places, speeds = slope.chunk(2, 1)
        return torch.cat([speeds, -places], 1)

    def forward(self, state: torch.Tensor, n_moves: int, long: float) -> torch.Tensor:
        states = []
        for _ in range(n_moves):
            first = self.change(state)
            second = self.change(state + long / 2 * first)
            third = self.change(state + long / 2 * second)
            last = self.change(state + long * third)
            state = state + long / 6 * (first + 2 * second + 2 * third + last)
            states.append(state)
        return torch.stack(states)


@program("pendulums_train", size=(256, 3, 128), n_moves=3)
def pendulums_train(option: str, size: tuple[int, int, int], n_moves: int) -> Steps:
    """Train a Hamiltonian network on pendulums, whose moves it adds up by Runge and Kutta."""
    batch, n, width = size
    with DEVICE:
        net = Energy(n, width)
        begins = torch.randn(4, batch, 2 * n)
        moves = torch.randn(4, n_moves, batch, 2 * n)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    for begin, wanted in cycle(zip(begins, moves, strict=True)):
        told = net(begin.clone().requires_grad_(), n_moves, 0.05)
        loss = functional.mse_loss(told, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


class Curves(nn.Module):
    """Join inputs by a curve for each pair of input and output, as Kolmogorov and Arnold do."""

    def __init__(self, inside: int, outside: int, pieces: int, order: int) -> None:
        super().__init__()
        self.order = order
        knots = torch.arange(-order, pieces + order + 1) * 2 / pieces - 1
        self.register_buffer("knots", knots)
        self.heights = nn.Parameter(torch.randn(outside, inside, pieces + order) / 10)
        self.straight = nn.Linear(inside, outside)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        at, knots = x[..., None], self.knots
        bases = ((at >= knots[:-1]) & (at < knots[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            rising = (at - knots[: -k - 1]) / (knots[k:-1] - knots[: -k - 1])
            falling = (knots[k + 1 :] - at) / (knots[k + 1 :] - knots[1:-k])
            bases = rising * bases[..., :-1] + falling * bases[..., 1:]
        curved = functional.linear(bases.flatten(1), self.heights.flatten(1))
        return self.straight(functional.silu(x)) + curved


@program("curves_train", widths=(8, 64, 64, 64, 1), batch=1024)
def curves_train(option: str, widths: tuple[int, ...], batch: int) -> Steps:
    """Train a Kolmogorov-Arnold network on the strength of concrete; the loss is read."""
    with DEVICE:
        net = nn.Sequential(*(Curves(a, b, 6, 3) for a, b in pairwise(widths)))
        mixtures = 2 * torch.rand(4, batch, widths[0]) - 1
        strengths = torch.rand(4, batch, 1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9999)
    losses: list[float] = []
    for x, wanted in cycle(zip(mixtures, strengths, strict=True)):
        optimizer.zero_grad()
        loss = functional.smooth_l1_loss(net(x), wanted)
        loss = loss + 1e-4 * sum(layer.heights.abs().mean() for layer in net)
        loss.backward()
        optimizer.step()
        plan.step()
        losses = [*losses[-9:], loss.item()]
        yield


@program("cattle_infer", size=(2, 320))
def cattle_infer(option: str, size: tuple[int, int]) -> Steps:
    """Find cattle in two pictures by a Faster R-CNN on a small MobileNet."""
    batch, side = size
    with DEVICE:
        net = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
            weights=None,
            weights_backbone=None,
            num_classes=4,
            rpn_post_nms_top_n_test=100,
        ).eval()
        pictures = torch.rand(4, batch, 3, side, side)
    for both in cycle(pictures):
        with torch.no_grad():
            found = net(list(both))
            [boxes["scores"].tolist() for boxes in found]
        yield


@program("games_train", size=(16, 20, 128, 3), seen=17, acts=6)
def games_train(option: str, size: tuple[int, ...], seen: int, acts: int) -> Steps:
    """Train a decision transformer to play as it has seen others play."""
    batch, length, width, depth = size
    config = DecisionTransformerConfig(
        state_dim=seen,
        act_dim=acts,
        hidden_size=width,
        n_layer=depth,
        n_head=1,
        max_ep_len=1000,
    )
    with DEVICE:
        net = DecisionTransformerModel(config)
        states = torch.randn(4, batch, length, seen)
        done = torch.rand(4, batch, length, acts) * 2 - 1
        ahead = torch.rand(4, batch, length, 1)
        times = torch.arange(length).expand(batch, length)
        is_known = torch.ones(batch, length)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / 10_000, 1))
    for state, did, worth in cycle(zip(states, done, ahead, strict=True)):
        told = net(
            states=state,
            actions=did,
            rewards=worth,
            returns_to_go=worth,
            timesteps=times,
            attention_mask=is_known,
        ).action_preds
        loss = (told - did).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        optimizer.step()
        plan.step()
        yield
