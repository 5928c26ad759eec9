"""Define the programs of the tenth judgement whose host should be the limit.

tenth_programs.py imports them.
"""

# ruff: noqa: ARG001, D102 - programs without a change; the forward of a layer

from __future__ import annotations

from itertools import cycle, pairwise

import torch
from programs import DEVICE, HALF, ON_GPU, SMALL, Steps, program
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torchvision import models
from transformers import (
    PatchTSMixerConfig,
    PatchTSMixerForPrediction,
    Qwen3Config,
    Qwen3ForCausalLM,
)


class Roads(nn.Module):
    """Foresee the traffic on roads by cells with memory that mix what is known of near roads."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        near = (torch.rand(n, n) < 0.05).float() + torch.eye(n)
        self.register_buffer("near", near / near.sum(1, keepdim=True))
        self.gates, self.news = (nn.ModuleList() for _ in range(2))
        for inside in (1, 1):
            self.gates.append(nn.Linear(3 * (inside + width), 2 * width))
            self.news.append(nn.Linear(3 * (inside + width), width))
        self.tell = nn.Linear(width, 1)
        self.width = width

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        once = self.near @ x
        return torch.cat([x, once, 2 * (self.near @ once) - x], -1)

    def cell(self, which: int, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        gates = self.gates[which](self.mixed(torch.cat([x, memory], -1))).sigmoid()
        reset, update = gates.chunk(2, -1)
        new = self.news[which](self.mixed(torch.cat([x, reset * memory], -1))).tanh()
        return update * memory + (1 - update) * new

    def forward(self, seen: torch.Tensor, n_ahead: int) -> torch.Tensor:
        memory = seen.new_zeros(*seen.shape[1:3], self.width)
        for x in seen:
            memory = self.cell(0, x, memory)
        told = [seen[-1]]
        for _ in range(n_ahead):
            memory = self.cell(1, told[-1], memory)
            told.append(self.tell(memory))
        return torch.stack(told[1:])


@program("traffic_train", size=(200, 32, 12, 64))
def traffic_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train to foresee an hour of traffic on two hundred roads; the loss is read."""
    n, batch, length, width = size
    with DEVICE:
        net = Roads(n, width)
        days = torch.rand(4, 2 * length, batch, n, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, eps=1e-3)
    losses: list[float] = []
    for day in cycle(days):
        optimizer.zero_grad()
        loss = functional.l1_loss(net(day[:length], length), day[length:])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        losses = [*losses[-9:], loss.item()]
        yield


def layers(inside: int, width: int, outside: int) -> nn.Sequential:
    """Return three layers."""
    return nn.Sequential(
        nn.Linear(inside, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, outside),
    )


class Arm(nn.Module):
    """Choose how an arm moves, by chance, and tell how likely that was."""

    def __init__(self, seen: int, width: int, acts: int) -> None:
        super().__init__()
        self.net = layers(seen, width, 2 * acts)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        middle, spread = self.net(seen).chunk(2, -1)
        chance = torch.distributions.Normal(middle, spread.clamp(-20, 2).exp())
        drawn = chance.rsample()
        act = drawn.tanh()
        likely = chance.log_prob(drawn) - (1 - act.square() + 1e-6).log()
        return act, likely.sum(-1, keepdim=True)


@program("arms_train", size=(17, 6, 256, 256), kept=100_000)
def arms_train(option: str, size: tuple[int, ...], kept: int) -> Steps:
    """Train an arm by soft actor-critic: two critics, the arm, and how much it tries out."""
    n_seen, acts, width, batch = size
    with DEVICE:
        arm = Arm(n_seen, width, acts)
        critics, slow = (
            nn.ModuleList(layers(n_seen + acts, width, 1) for _ in range(2)) for _ in range(2)
        )
        seen, then = torch.randn(2, kept // SMALL, n_seen)
        did = torch.rand(kept // SMALL, acts) * 2 - 1
        got = torch.randn(kept // SMALL, 1)
        warmth = torch.zeros(1, requires_grad=True)
    slow.load_state_dict(critics.state_dict())
    of_critics = torch.optim.Adam(critics.parameters(), lr=3e-4)
    of_arm = torch.optim.Adam(arm.parameters(), lr=3e-4)
    of_warmth = torch.optim.Adam([warmth], lr=3e-4)

    def least(both: nn.ModuleList, state: torch.Tensor, act: torch.Tensor) -> torch.Tensor:
        x = torch.cat([state, act], 1)
        return torch.min(both[0](x), both[1](x))

    while True:
        chosen = torch.randint(0, len(seen), (batch,), device=DEVICE)
        state, act, reward, later = (table[chosen] for table in (seen, did, got, then))
        with torch.no_grad():
            next_act, likely = arm(later)
            worth = least(slow, later, next_act) - warmth.exp() * likely
            wanted = reward + 0.99 * worth
        x = torch.cat([state, act], 1)
        loss = sum(functional.mse_loss(critic(x), wanted) for critic in critics)
        of_critics.zero_grad()
        loss.backward()
        of_critics.step()

        tried, likely = arm(state)
        of_arm.zero_grad()
        (warmth.exp().detach() * likely - least(critics, state, tried)).mean().backward()
        of_arm.step()

        of_warmth.zero_grad()
        (-warmth.exp() * (likely.detach() - acts)).mean().backward()
        of_warmth.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), critics.parameters(), strict=True):
                old.lerp_(new, 0.005)
        yield


@program("jokes_infer", size=(2, 24, 256, 3), n=16)
def jokes_infer(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Let a small Qwen3 go on with two jokes by `generate`: sixteen words, drawn by chance."""
    batch, length, width, depth = size
    config = Qwen3Config(
        vocab_size=8000,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=depth,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=None,
        pad_token_id=0,
    )
    with DEVICE:
        net = Qwen3ForCausalLM(config).to(HALF).eval()
        jokes = torch.randint(3, 8000, (4, batch, length))
    for begin in cycle(jokes):
        net.generate(
            begin,
            attention_mask=torch.ones_like(begin),
            max_new_tokens=n,
            do_sample=True,
            top_k=50,
            top_p=0.9,
        ).tolist()
        yield


@program("energy_infer", size=(4, 512, 7, 6))
def energy_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Foresee how much current four towns need, by PatchTSMixer; the host gets the answer."""
    batch, length, bands, depth = size
    config = PatchTSMixerConfig(
        context_length=length,
        patch_length=16,
        patch_stride=16,
        num_input_channels=bands,
        prediction_length=96,
        d_model=48,
        num_layers=depth,
    )
    with DEVICE:
        net = PatchTSMixerForPrediction(config).eval()
        weeks = torch.randn(4, batch, length, bands)
    for week in cycle(weeks):
        with torch.no_grad():
            net(past_values=week).prediction_outputs.cpu()
        yield


class Cited(nn.Module):
    """Tell the field of a paper by the papers near it, over two citations."""

    def __init__(self, inside: int, width: int, kinds: int) -> None:
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(inside, width), nn.Linear(width, kinds)])
        self.near = nn.ModuleList([nn.Linear(inside, width), nn.Linear(width, kinds)])

    def forward(self, hops: list[torch.Tensor]) -> torch.Tensor:
        for own, near in zip(self.own, self.near, strict=True):
            means = [far.view(len(x), -1, far.shape[1]).mean(1) for x, far in pairwise(hops)]
            hops = [own(x) + near(mean) for x, mean in zip(hops[:-1], means, strict=True)]
            hops = [x.relu() for x in hops] if len(hops) > 1 else hops
        return hops[0]


@program("citations_train", size=(60_000, 96, 128, 40), batch=192, fans=(8, 8))
def citations_train(option: str, size: tuple[int, ...], batch: int, fans: tuple[int, int]) -> Steps:
    """Train GraphSAGE on papers, whose neighbours the host draws and sends in every step."""
    papers, inside, width, kinds = size
    known = torch.randn(papers, inside)
    fields = torch.randint(0, kinds, (papers,))
    begins = torch.cat([torch.zeros(1).long(), torch.randint(1, 30, (papers,)).cumsum(0)])
    cited = torch.randint(0, papers, (int(begins[-1]),))
    net = Cited(inside, width, kinds).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

    def drawn(ids: torch.Tensor, n: int) -> torch.Tensor:
        counts = begins[ids + 1] - begins[ids]
        places = (torch.rand(len(ids), n) * counts[:, None]).long()
        return cited[(begins[ids][:, None] + places).flatten()]

    while True:
        for chosen in torch.randperm(papers).split(batch)[:-1]:
            hops = [chosen]
            for n in fans:
                hops.append(drawn(hops[-1], n))
            told = net([known[ids].to(DEVICE) for ids in hops])
            loss = functional.cross_entropy(told, fields[chosen].to(DEVICE))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield


@program("drone_infer", size=(192, 256), n=12)
def drone_infer(option: str, size: tuple[int, int], n: int) -> Steps:
    """Tell what moves in a drone's film by RAFT, which corrects its answer twelve times."""
    height, width = (side if ON_GPU else 128 for side in size)
    with DEVICE:
        net = models.optical_flow.raft_small(weights=None).eval()
        film = torch.rand(5, 1, 3, height, width) * 2 - 1
    for before, after in cycle(pairwise(film)):
        with torch.no_grad():
            flow = net(before, after, num_flow_updates=n)[-1]
            flow.norm(dim=1).amax().item()
        yield


@program("weeds_train", size=(32, 160))
def weeds_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a ShuffleNet on scaled float16, with an average of its weights over time."""
    batch, side = max(size[0] // SMALL, 2), size[1] // min(SMALL, 2)
    with DEVICE:
        net = models.shufflenet_v2_x1_0(weights=None, num_classes=30)
        pictures = torch.randn(4, batch, 3, side, side)
        kinds = torch.randint(0, 30, (4, batch))
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=4e-5)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100_000)
    scaler = torch.amp.GradScaler(DEVICE.type)
    half = torch.float16 if ON_GPU else HALF
    for x, wanted in cycle(zip(pictures, kinds, strict=True)):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, half):
            loss = functional.cross_entropy(net(x), wanted, label_smoothing=0.1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        plan.step()
        average.update_parameters(net)
        yield
