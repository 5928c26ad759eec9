"""Define the programs of the fourth judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from collections.abc import Iterator

import torch
from later_programs import optimizer_of, replayed, sent
from programs import DEVICE, HALF, ON_GPU, PROGRAMS, SMALL, Steps, laid_out, program, repeat, same
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

PROGRAMS.clear()


# Training


class Attending(nn.Module):
    """Attention with one product for queries, keys and values, causal if a mask is given."""

    def __init__(self, width: int, heads: int, *, fused: bool, causal: bool) -> None:
        super().__init__()
        self.heads, self.fused, self.causal = heads, fused, causal
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        mixed = self.mixed(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = mixed.unbind(0)
        if self.fused:
            y = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        else:
            scores = (query @ key.transpose(-2, -1)) * key.shape[-1] ** -0.5
            if self.causal:
                later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
                scores = scores.masked_fill(later, float("-inf"))
            y = functional.softmax(scores, dim=-1) @ value
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Decoder(nn.Module):
    """A language model of the shape of GPT-2, with tied embeddings and dropout."""

    def __init__(self, words: int, depth: int, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(2048, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth + 1))
        self.mixers = nn.ModuleList(
            Attending(width, heads, fused=fused, causal=True) for _ in range(depth)
        )
        self.wide = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.narrow = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        x = self.drop(x)
        for n, mixer in enumerate(self.mixers):
            x = x + self.drop(mixer(self.norms[2 * n](x)))
            hidden = functional.gelu(self.wide[n](self.norms[2 * n + 1](x)), approximate="tanh")
            x = x + self.drop(self.narrow[n](hidden))
        return self.norms[-1](x) @ self.words.weight.T


@program("gpt_train", "sdpa", "fused_optimizer", "no_sync", size=(6, 4, 128, 384, 6), mixes=False)
@program("gpt_train_wide", "sdpa", "compile", size=(6, 8, 1024, 768, 12), mixes=True)
def gpt_train(option: str, size: tuple[int, ...], *, mixes: bool) -> Steps:
    """Train a language model with clipped gradients, a schedule and a printed loss."""
    depth, batch, length, width, heads = size
    length, width = length // min(SMALL, 4), width // min(SMALL, 4)
    net = Decoder(8192, depth, width, heads, fused=option == "sdpa").to(DEVICE)
    run = torch.compile(net) if option == "compile" else net
    settings = {} if mixes else {"foreach": False}
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=3e-4, **settings)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10_000)
    ids = torch.randint(0, 8192, (batch, length + 1), device=DEVICE)

    def step() -> None:
        with torch.autocast(DEVICE.type, HALF, enabled=mixes):
            logits = run(ids[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        if not mixes and option != "no_sync":
            loss.item()

    return repeat(step)


class Noisy(nn.Module):
    """A residual block of a diffusion network that is shifted by the time's embedding."""

    def __init__(self, inside: int, outside: int, times: int) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.GroupNorm(8, inside), nn.GroupNorm(8, outside)
        self.first = nn.Conv2d(inside, outside, 3, padding=1)
        self.second = nn.Conv2d(outside, outside, 3, padding=1)
        self.time, self.skip = nn.Linear(times, outside), nn.Conv2d(inside, outside, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden = self.first(functional.silu(self.norm(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(functional.silu(self.norm2(hidden)))


class Denoiser(nn.Module):
    """A small UNet with attention over the smallest pictures."""

    def __init__(self, width: int) -> None:
        super().__init__()
        times = 4 * width
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(), nn.Linear(times, times))
        self.enter, self.leave = (
            nn.Conv2d(3, width, 3, padding=1),
            nn.Conv2d(width, 3, 3, padding=1),
        )
        self.down = nn.ModuleList(
            [Noisy(width, 2 * width, times), Noisy(2 * width, 4 * width, times)]
        )
        self.middle = Attending(4 * width, 4, fused=True, causal=False)
        self.up = nn.ModuleList(
            [Noisy(8 * width, 2 * width, times), Noisy(4 * width, width, times)]
        )

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        angles = time[:, None] * torch.linspace(0, 5, self.enter.out_channels // 2, device=x.device)
        embedded = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        x, kept = self.enter(x), []
        for block in self.down:
            x = functional.avg_pool2d(block(x, embedded), 2)
            kept.append(x)
        batch, channels, height, width = x.shape
        x = x + self.middle(x.flatten(2).transpose(1, 2)).transpose(1, 2).view(
            batch, channels, height, width
        )
        for block in self.up:
            x = block(torch.cat([x, kept.pop()], 1), embedded)
            x = functional.interpolate(x, scale_factor=2)
        return self.leave(x)


@program("noise_train", "channels_last", "fused_optimizer", size=(4, 16, 32), mixes=False)
@program("noise_train_wide", "channels_last", size=(32, 64, 64), mixes=True)
def noise_train(option: str, size: tuple[int, ...], *, mixes: bool) -> Steps:
    """Train a diffusion UNet, and average its weights."""
    batch, width, side = size
    net = Denoiser(width).to(DEVICE)
    pictures = torch.randn(max(batch // SMALL, 1), 3, side, side, device=DEVICE)
    net, pictures = laid_out(option, net, pictures)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-4)
    average = [p.detach().clone() for p in net.parameters()]

    def step() -> None:
        time, noise = torch.rand(len(pictures), device=DEVICE), torch.randn_like(pictures)
        share = (time * 1.57).cos()[:, None, None, None]
        with torch.autocast(DEVICE.type, HALF, enabled=mixes):
            said = net(share * pictures + (1 - share.square()).sqrt() * noise, time)
        loss = functional.mse_loss(said.float(), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, p in zip(average, net.parameters(), strict=True):
                kept.lerp_(p, 0.01)

    return repeat(step)


@program("gan_train", "fused_optimizer", "no_sync", size=(32, 32))
def gan_train(option: str, size: tuple[int, int]) -> Steps:
    """Train a DCGAN: the discriminator's optimizer steps, then the generator's."""
    batch, width = max(size[0] // SMALL, 2), size[1]

    def grown(a: int, b: int) -> list[nn.Module]:
        return [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]

    def shrunk(a: int, b: int) -> list[nn.Module]:
        return [nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2)]

    first = nn.ConvTranspose2d(64, 4 * width, 4, 1, 0)
    make = nn.Sequential(
        first,
        *grown(4 * width, 2 * width),
        *grown(2 * width, width),
        nn.ConvTranspose2d(width, 3, 4, 2, 1),
        nn.Tanh(),
    ).to(DEVICE)
    tell = nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1),
        nn.LeakyReLU(0.2),
        *shrunk(width, 2 * width),
        *shrunk(2 * width, 4 * width),
        nn.Conv2d(4 * width, 1, 4, 1, 0),
        nn.Flatten(0),
    ).to(DEVICE)
    settings = {"lr": 2e-4, "betas": (0.5, 0.999)}
    teller = optimizer_of(option, tell, torch.optim.Adam, **settings)
    maker = optimizer_of(option, make, torch.optim.Adam, **settings)
    real = torch.randn(batch, 3, 32, 32, device=DEVICE)
    ones, zeros = torch.ones(batch, device=DEVICE), torch.zeros(batch, device=DEVICE)
    judge = nn.BCEWithLogitsLoss()

    def step() -> None:
        tell.zero_grad()
        made = make(torch.randn(batch, 64, 1, 1, device=DEVICE))
        right, wrong = judge(tell(real), ones), judge(tell(made.detach()), zeros)
        right.backward()
        wrong.backward()
        teller.step()
        make.zero_grad()
        fooled = judge(tell(made), ones)
        fooled.backward()
        maker.step()
        if option != "no_sync":
            (right + wrong).item()
            fooled.item()

    return repeat(step)


@program("actor_train", "fused_optimizer", size=(16, 5, 64))
def actor_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train an actor and a critic: five actions in sixteen games on the host, then one update."""
    games, length, width = size
    body = nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
    net = nn.ModuleDict({"body": body, "act": nn.Linear(width, 4), "rate": nn.Linear(width, 1)})
    net = net.to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.RMSprop, lr=7e-4, foreach=False)
    state = [torch.zeros(games, 8)]
    moves = torch.randn(4, 8)

    def step() -> None:
        gains, rated, told, spread = [], [], [], []
        for _ in range(length):
            hidden = net["body"](state[0].to(DEVICE))
            chances = torch.distributions.Categorical(logits=net["act"](hidden))
            action = chances.sample()
            told.append(chances.log_prob(action))
            spread.append(chances.entropy())
            rated.append(net["rate"](hidden).squeeze(-1))
            state[0] = 0.9 * state[0] + moves[action.cpu()]
            gains.append(-state[0].norm(dim=-1).to(DEVICE))
        total, losses = rated[-1].detach(), []
        for n in reversed(range(length)):
            total = gains[n] + 0.99 * total
            ahead = total - rated[n]
            losses.append(0.5 * ahead.square() - told[n] * ahead.detach() - 0.01 * spread[n])
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()

    return repeat(step)


@program("text_train", "no_sync", "fused_optimizer", size=(2, 32, 35, 256))
def text_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train an LSTM on a text; the LSTM's state is kept from step to step."""
    depth, batch, length, width = size
    embed, read = nn.Embedding(4000, width), nn.Linear(width, 4000)
    cells = nn.LSTM(width, width, depth, dropout=0.2)
    net = nn.ModuleList([embed, cells, read]).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3)
    words = torch.randint(0, 4000, (length + 1, max(batch // SMALL, 1)), device=DEVICE)
    state: list[tuple[torch.Tensor, torch.Tensor] | None] = [None]
    total = [0.0]

    def step() -> None:
        held = state[0] and (state[0][0].detach(), state[0][1].detach())
        hidden, state[0] = cells(embed(words[:-1]), held)
        loss = functional.cross_entropy(read(hidden).flatten(0, 1), words[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        optimizer.step()
        if option != "no_sync":
            total[0] += loss.item()

    return repeat(step)


class Patches(nn.Module):
    """A transformer over patches of a picture, with a class token and scaled residuals."""

    def __init__(self, depth: int, width: int, *, fused: bool) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.mixers = nn.ModuleList(
            Attending(width, 6, fused=fused, causal=False) for _ in range(depth)
        )
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(depth)
        )
        self.scales = nn.ParameterList(torch.full((width,), 0.1) for _ in range(2 * depth))
        self.tell = nn.Linear(width, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        for n, (mixer, layer) in enumerate(zip(self.mixers, self.layers, strict=True)):
            x = x + self.scales[2 * n] * mixer(self.norms[2 * n](x))
            x = x + self.scales[2 * n + 1] * layer(self.norms[2 * n + 1](x))
        return self.tell(x[:, 0])


@program("patch_train", "sdpa", "fused_optimizer", size=(6, 8, 192, 112), parts=4)
def patch_train(option: str, size: tuple[int, ...], parts: int) -> Steps:
    """Train a vision transformer with gradients of four batches per step."""
    depth, batch, width, side = size
    net = Patches(depth, width, fused=option == "sdpa").to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-4, weight_decay=0.05)
    x = torch.randn(max(batch // SMALL, 1), 3, side, side, device=DEVICE)
    wanted = torch.randint(0, 100, (len(x),), device=DEVICE)

    def step() -> None:
        for _ in range(parts):
            loss = functional.cross_entropy(net(x), wanted, label_smoothing=0.1) / parts
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return repeat(step)


class Weighted(nn.Module):
    """A layer of a graph attention network, by sums over the edges of each node."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.layer = nn.Linear(inside, outside, bias=False)
        self.near, self.far = nn.Linear(outside, 1), nn.Linear(outside, 1)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        begin, end = edges
        x = self.layer(x)
        score = functional.leaky_relu(self.near(x)[end] + self.far(x)[begin], 0.2).exp()
        total = torch.zeros_like(score[: len(x)]).index_add(0, end, score)
        return torch.zeros_like(x).index_add(0, end, x[begin] * score / (total[end] + 1e-9))


@program("attend_train", "no_sync", "fused_optimizer", size=(5000, 40_000, 64))
def attend_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a graph attention network on all nodes at once, and print its accuracy."""
    nodes, n_edges, width = size
    first, second = Weighted(128, width), Weighted(width, 7)
    net = nn.ModuleList([first, second]).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=5e-3, weight_decay=5e-4)
    x = torch.randn(nodes // SMALL, 128, device=DEVICE)
    edges = torch.randint(0, len(x), (2, n_edges // SMALL), device=DEVICE)
    wanted = torch.randint(0, 7, (len(x),), device=DEVICE)
    is_known = torch.rand(len(x), device=DEVICE) < 0.5

    def step() -> None:
        optimizer.zero_grad()
        out = second(functional.elu(first(functional.dropout(x, 0.6), edges)), edges)
        if option == "no_sync":
            losses = functional.cross_entropy(out, wanted, reduction="none")
            ((losses * is_known).sum() / is_known.sum()).backward()
        else:
            functional.cross_entropy(out[is_known], wanted[is_known]).backward()
        optimizer.step()
        if option != "no_sync":
            (out.argmax(-1) == wanted).float().mean().item()

    return repeat(step)


class Squeezed(nn.Module):
    """An inverted residual block with squeeze and excitation."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        inner = 4 * inside
        self.skips = stride == 1 and inside == outside
        self.wide = nn.Sequential(
            nn.Conv2d(inside, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish()
        )
        self.deep = nn.Sequential(
            nn.Conv2d(inner, inner, 5, stride, 2, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.Hardswish(),
        )
        self.squeeze, self.excite = nn.Conv2d(inner, inside, 1), nn.Conv2d(inside, inner, 1)
        self.narrow = nn.Sequential(
            nn.Conv2d(inner, outside, 1, bias=False), nn.BatchNorm2d(outside)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.deep(self.wide(x))
        y = y * self.excite(functional.relu(self.squeeze(y.mean((2, 3), keepdim=True)))).sigmoid()
        y = self.narrow(y)
        return x + y if self.skips else y


def mobile(width: int, classes: int = 50) -> nn.Module:
    """Build a network of such blocks."""
    blocks = [
        Squeezed(a, b, stride)
        for a, b, stride in ((1, 1, 1), (1, 2, 2), (2, 2, 1), (2, 3, 2), (3, 3, 1))
        for a, b in ((a * width, b * width),)
    ]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3 * width, classes)]
    return nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), *blocks, *head)


@program("scaled_train", "channels_last", "fused_optimizer", size=(16, 16, 96))
@program("scaled_train_wide", "channels_last", size=(128, 48, 128))
def scaled_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train on float16 with a gradient scaler, whose check reads a number in each step."""
    batch, width, side = size
    net = mobile(width).to(DEVICE)
    x = torch.randn(max(batch // SMALL, 2), 3, side, side, device=DEVICE)
    net, x = laid_out(option, net, x)
    wanted = torch.randint(0, 50, (len(x),), device=DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler(DEVICE.type, enabled=ON_GPU)

    def step() -> None:
        with torch.autocast(DEVICE.type, torch.float16 if ON_GPU else HALF):
            loss = functional.cross_entropy(net(x), wanted)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return repeat(step)


@program("distill_train", "fused_optimizer", "compile", size=(64, 512, 6))
def distill_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a student on what its teacher says."""
    batch, width, depth = size

    def layers(width: int, depth: int) -> nn.Sequential:
        body: list[nn.Module] = []
        for _ in range(depth):
            body += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.PReLU(width)]
        return nn.Sequential(nn.Linear(128, width), *body, nn.Linear(width, 20))

    teacher, student = layers(2 * width, depth).to(DEVICE).eval(), layers(width, depth).to(DEVICE)
    run = torch.compile(student) if option == "compile" else student
    optimizer = optimizer_of(option, student, torch.optim.SGD, lr=0.01, foreach=False)
    x = torch.randn(max(batch // SMALL, 2), 128, device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            wanted = (teacher(x) / 4).softmax(-1)
        loss = functional.kl_div((run(x) / 4).log_softmax(-1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeat(step)


@program("check_train", "no_sync", size=(64, 24, 32))
def check_train(option: str, size: tuple[int, ...]) -> Steps:
    """Train a step, then evaluate on two held-out batches and count what is right."""
    batch, width, side = size
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.InstanceNorm2d(width),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.SiLU(),
        nn.AdaptiveMaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * width, 10),
    ).to(DEVICE)
    optimizer = torch.optim.NAdam(net.parameters(), lr=1e-3)
    batches = torch.randn(3, max(batch // SMALL, 1), 3, side, side, device=DEVICE)
    wanted = torch.randint(0, 10, batches.shape[:2], device=DEVICE)
    right = [torch.zeros((), device=DEVICE)]

    def step() -> None:
        net.train()
        optimizer.zero_grad()
        functional.cross_entropy(net(batches[0]), wanted[0]).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, known in zip(batches[1:], wanted[1:], strict=True):
                found = (net(x).argmax(-1) == known).sum()
                right[0] = right[0] + (found if option == "no_sync" else found.item())

    return repeat(step)


# Inference


class Cached(nn.Module):
    """A decoder that writes one word at a time; keys and values are kept in place."""

    def __init__(self, depth: int, batch: int, length: int, width: int, *, fused: bool) -> None:
        super().__init__()
        self.fused, self.heads = fused, width // 64
        self.embed = nn.Embedding(16_000, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth + 1))
        self.mixed = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.gate = nn.ModuleList(nn.Linear(width, 5 * width, bias=False) for _ in range(depth))
        self.down = nn.ModuleList(
            nn.Linear(5 * width // 2, width, bias=False) for _ in range(depth)
        )
        shape = (depth, 2, batch, self.heads, length, 64)
        self.register_buffer("kept", torch.zeros(shape), persistent=False)
        self.register_buffer("place", torch.zeros(1, dtype=torch.long), persistent=False)
        self.register_buffer("all", torch.arange(length), persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)[:, None]
        batch, _, width = x.shape
        place = self.place.remainder(len(self.all))
        is_seen = (self.all <= place)[None, None, None]
        for n, mixed in enumerate(self.mixed):
            parts = mixed(self.norms[2 * n](x)).view(batch, 1, 3, self.heads, 64)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
            self.kept[n, 0].index_copy_(2, place, key)
            self.kept[n, 1].index_copy_(2, place, value)
            keys, values = self.kept[n]
            if self.fused:
                y = functional.scaled_dot_product_attention(query, keys, values, is_seen)
            else:
                scores = (query @ keys.transpose(-2, -1)) / 8
                scores = scores.masked_fill(~is_seen, float("-inf"))
                y = functional.softmax(scores.float(), -1).to(x.dtype) @ values
            x = x + self.out[n](y.transpose(1, 2).reshape(batch, 1, width))
            gate, up = self.gate[n](self.norms[2 * n + 1](x)).chunk(2, -1)
            x = x + self.down[n](functional.silu(gate) * up)
        self.place += 1
        return ids.copy_((self.norms[-1](x[:, 0]) @ self.embed.weight.T).argmax(-1))


@program("write_infer", "sdpa", "cuda_graph", "no_sync", size=(8, 4, 512, 512))
@program("write_infer_wide", "sdpa", "cuda_graph", size=(8, 64, 2048, 2048))
def write_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Write a text word by word; the small one looks in each step whether the text has ended."""
    depth, batch, length, width = size
    length, width = length // min(SMALL, 8), width // min(SMALL, 8)
    net = Cached(depth, batch, length, width, fused=option == "sdpa").to(DEVICE, HALF).eval()
    ids = torch.zeros(batch, dtype=torch.long, device=DEVICE)
    words = replayed(option, net, ids)
    return words if option == "no_sync" or batch > 4 else _ended(words, ids)


def _ended(words: Steps, ids: torch.Tensor) -> Steps:
    for _ in words:
        (ids == 2).all().item()
        yield


@program("mobile_infer", "channels_last", "cuda_graph", "compile", size=(4, 24, 128), dtype=HALF)
def mobile_infer(option: str, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Classify pictures."""
    batch, width, side = size
    net = mobile(width).to(DEVICE, dtype).eval()
    net, x = laid_out(option, net, torch.randn(batch, 3, side, side, device=DEVICE, dtype=dtype))
    return replayed(option, net, x)


class Parts(nn.Module):
    """Convolutions with holes of several sizes, and the picture's mean."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3), nn.ELU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ELU()
        )
        self.holes = nn.ModuleList(
            nn.Conv2d(2 * width, width, 3, padding=n, dilation=n) for n in (2, 6, 12)
        )
        self.mean = nn.Conv2d(2 * width, width, 1)
        self.tell = nn.Conv2d(4 * width, 21, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        mean = self.mean(y.mean((2, 3), keepdim=True)).expand(-1, -1, *y.shape[2:])
        joined = torch.cat([functional.elu(hole(y)) for hole in self.holes] + [mean], 1)
        found = functional.interpolate(self.tell(joined), size=x.shape[2:], mode="bilinear")
        return found.argmax(1)


@program("parts_infer", "channels_last", "cuda_graph", size=(2, 32, 192), dtype=torch.float32)
@program("parts_infer_wide", "channels_last", size=(32, 96, 384), dtype=torch.float16)
def parts_infer(option: str, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Tell the class of each pixel."""
    batch, width, side = size
    net = Parts(width).to(DEVICE, dtype).eval()
    x = torch.randn(max(batch // SMALL, 1), 3, side, side, device=DEVICE, dtype=dtype)
    net, x = laid_out(option, net, x)
    return replayed(option, net, x)


class Centers(nn.Module):
    """A head that finds objects by their centers: heights, sizes and offsets."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(
                layer
                for a, b in ((3, width), (width, 2 * width), (2 * width, 2 * width))
                for layer in (nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(4, b), nn.Mish())
            ),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
        )
        self.heads = nn.ModuleList(nn.Conv2d(width, n, 1) for n in (8, 2, 2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.body(x)
        height, size, shift = (head(y) for head in self.heads)
        height = height.sigmoid()
        height = height * (functional.max_pool2d(height, 3, 1, 1) == height)
        best, places = height.flatten(1).topk(50)
        places = (places % height[0, 0].numel())[:, None].expand(-1, 2, -1)
        return best, size.flatten(2).gather(2, places), shift.flatten(2).gather(2, places)


@program("centers_infer", "channels_last", "no_sync", size=(1, 32, 256))
def centers_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Find objects in one picture, and keep those that are likely."""
    batch, width, side = size
    net, x = laid_out(
        option,
        Centers(width).to(DEVICE).eval(),
        torch.randn(batch, 3, side, side, device=DEVICE),
    )

    def step() -> None:
        with torch.no_grad():
            best, sizes, shifts = net(x)
            if option == "no_sync":
                is_likely = (best > 0.3)[:, None]
                (sizes * is_likely).sum(), (shifts * is_likely).sum()
            else:
                is_likely = best[0] > 0.3
                sizes[0][:, is_likely].sum(), shifts[0][:, is_likely].sum()

    return repeat(step)


@program("views_infer", "no_sync", size=(16, 64, 96))
def views_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Compare two views of things: one network encodes each view, another compares them."""
    batch, width, length = size
    encode = nn.Sequential(
        nn.Conv1d(4, width, 9, 2),
        nn.Softplus(),
        nn.Conv1d(width, width, 5, 2),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Linear(4 * width, width),
    )
    compare = nn.Bilinear(width, width, 2)
    encode, compare = encode.to(DEVICE).eval(), compare.to(DEVICE).eval()
    one, other = torch.randn(2, batch, 4, length, device=DEVICE)
    found = [0]

    def step() -> None:
        with torch.no_grad():
            told = compare(encode(one), encode(other)).argmax(-1)
            if option != "no_sync":
                found[0] += int(told.sum())

    return repeat(step)


# Copies


class Heard(nn.Module):
    """A spectrogram, and convolutions over it."""

    def __init__(self, bins: int) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(bins), persistent=False)
        self.layers = nn.Sequential(nn.Conv1d(bins // 2 + 1, 64, 5), nn.GLU(1), nn.Conv1d(32, 8, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bins = len(self.window)
        spectrum = torch.stft(x.float(), bins, window=self.window, return_complex=True)
        return self.layers(spectrum.abs().clamp_min(1e-5).log()).mean(-1)


@program("heard_send", "pinned", "dtype=bf16", size=(32, 64_000))
def heard_send(option: str, size: tuple[int, int]) -> Steps:
    """Send sounds of 8 MiB to a spectrogram."""
    return sent(option, [torch.randn(size[0] // SMALL or 1, size[1])], Heard(256).to(DEVICE).eval())


@program("columns_send", "pinned", "dtype=float64:bf16", size=(20_000, 200))
def columns_send(option: str, size: tuple[int, int]) -> Steps:
    """Send a table of float64, 31 MiB, to a network with a skipped layer."""
    net = nn.Sequential(nn.Linear(size[1], 256), nn.CELU(), nn.Linear(256, 256), nn.Tanhshrink())
    table = torch.randn(size[0] // SMALL, size[1], dtype=torch.float64)
    return sent(option, [table], net.to(DEVICE).eval())


@program("faces_send", "pinned", "dtype=bf16", size=(8, 3, 160, 160))
def faces_send(option: str, size: tuple[int, ...]) -> Steps:
    """Send eight faces, 2.3 MiB, to a few convolutions."""
    net = nn.Sequential(nn.Conv2d(3, 32, 5, 4), nn.LogSigmoid(), nn.Conv2d(32, 64, 3, 2))
    return sent(option, [torch.rand(size)], net.to(DEVICE).eval())


# Loaders


class Photos(Dataset[torch.Tensor]):
    """Pictures that the host cuts, turns and shifts in colour when they are read."""

    def __init__(self, side: int, rounds: int) -> None:
        self.side, self.rounds = side, rounds
        self.kept = torch.rand(16, 3, 2 * side, 2 * side)

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        picture = self.kept[index % 16]
        for _ in range(self.rounds):
            small = functional.interpolate(
                picture[None], size=(self.side, self.side), mode="bicubic", antialias=True
            )
            picture = functional.interpolate(small, scale_factor=2)[0]
        x = small[0].flip(-1) if index % 2 else small[0]
        return (x - x.mean((1, 2), keepdim=True)) / x.std()


@program("photos_main", "input_ready", workers=0, rounds=1, batch=8, pins=False)
@program("photos_one", "input_ready", workers=1, rounds=4, batch=16, pins=True)
@program("photos_three", "input_ready", workers=3, rounds=8, batch=24, pins=True)
def photos(option: str, workers: int, rounds: int, batch: int, *, pins: bool) -> Steps:
    """Train on pictures of a DataLoader, or on a batch that is on the host already."""
    data = Photos(64, rounds)
    net = mobile(16).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    is_pinned = pins and ON_GPU
    batches: Iterator[torch.Tensor]
    if option == "input_ready":
        first = torch.stack([data[n] for n in range(batch)])
        batches = same(first.pin_memory() if is_pinned else first)
    else:
        batches = iter(DataLoader(data, batch, num_workers=workers, pin_memory=is_pinned))

    def step() -> None:
        x = next(batches).to(DEVICE, non_blocking=is_pinned)
        loss = functional.cross_entropy(net(x), torch.zeros(len(x), dtype=torch.long).to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeat(step)


NSYS: tuple[str, ...] = ()
LOADED = ("photos",)
"""Prefixes of the names of programs that a loader feeds."""
LIVE = (
    "gpt_train",
    "noise_train",
    "noise_train_wide",
    "gan_train",
    "actor_train",
    "text_train",
    "patch_train",
    "attend_train",
    "scaled_train",
    "distill_train",
    "check_train",
    "write_infer",
    "mobile_infer",
    "parts_infer_wide",
    "centers_infer",
    "views_infer",
    "faces_send",
    "photos_main",
    "photos_three",
)
"""Programs that are captured live, in turns with a process that never profiles."""
CHANGED = tuple(name for name, entry in PROGRAMS.items() if entry.changes)
CAPTURES: dict[str, tuple[dict[str, object], dict[str, str]]] = {"usual": ({}, {})}
N_LIVE = (20, 40, 30)
"""Numbers of steps: warm-up, timed before and after, and run by a captured process at first."""
N_ALTERNATING = (8, 15)
"""The captured process and an unrecorded one then take this many turns of this many steps.

Programs with a loader take one long turn instead.
"""
N_AFTER = 1
"""Each program is timed once more when its process has recorded all traces."""
