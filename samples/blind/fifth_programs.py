"""Define the programs of the fifth judgement, by the rules in README.md; see programs.py."""

# ruff: noqa: D102 - the forward of a layer

from __future__ import annotations

from itertools import cycle

import torch
from later_programs import optimizer_of, replayed, sent
from programs import DEVICE, HALF, PROGRAMS, SMALL, Steps, program, repeat
from torch import nn
from torch.nn import functional

PROGRAMS.clear()


def sized(option: str, sizes: tuple[int, int, int]) -> int:
    """Return the batch size: the first of three, the second to record, or the wanted one."""
    first, other, wanted = sizes
    return {"other": other, "batch": wanted}.get(option, first)


# One module is called several times in a step


class Reader(nn.Module):
    """A bidirectional GRU over a sentence."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(6000, width)
        self.cells = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.cells(self.embed(ids))[0]


class Writer(nn.Module):
    """A cell that looks at a sentence and tells the next word."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(6000, width), nn.LSTMCell(2 * width, width)
        self.tell = nn.Linear(width, 6000)

    def forward(
        self, word: torch.Tensor, seen: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        shares = (seen @ state[0][:, :, None]).softmax(1)
        state = self.cell(torch.cat([self.embed(word), (shares * seen).sum(1)], 1), state)
        return self.tell(state[0]).argmax(-1), state


@program("translate_infer", "no_sync", size=(8, 24, 256), n=4)
def translate_infer(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Read a sentence, then write words of the next one."""
    batch, length, width = size
    read, write = Reader(width).to(DEVICE).eval(), Writer(width).to(DEVICE).eval()
    ids = torch.randint(0, 6000, (batch, length), device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            seen = read(ids)
            word, state = ids[:, 0], (seen[:, -1], seen[:, 0])
            for _ in range(n):
                word, state = write(word, seen, state)
                if option != "no_sync":
                    (word == 1).all().item()

    return repeat(step)


@program("crops_infer", "no_sync", size=(4, 48, 112), n=5)
def crops_infer(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Classify five crops of a picture by one network, and read the mean."""
    batch, width, side = size
    net = nn.Sequential(
        nn.Conv2d(3, width, 5, 2),
        nn.BatchNorm2d(width),
        nn.SiLU(),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(width, width, 3, groups=8),
        nn.Conv2d(width, 2 * width, 1),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, 30),
    )
    net = net.to(DEVICE).eval()
    picture = torch.randn(batch, 3, side + 8 * n, side + 8 * n, device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            total = torch.zeros(batch, 30, device=DEVICE)
            for i in range(n):
                crop = picture[:, :, 8 * i : 8 * i + side, 8 * i : 8 * i + side]
                total += net(crop).softmax(-1)
            if option != "no_sync":
                total.argmax(-1).tolist()

    return repeat(step)


class Projected(nn.Module):
    """A network for views, normalised."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(512, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Linear(width, 128),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.normalize(self.layers(x), dim=-1)


class Both(nn.Module):
    """Call the network for both views, for a CUDA graph."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return (self.net(one) * self.net(other)).sum(-1)


@program("twice_infer", "cuda_graph", size=(64, 768))
def twice_infer(option: str, size: tuple[int, int]) -> Steps:
    """Compare two texts by one network, which the step calls at two places."""
    batch, width = size
    net = Projected(width).to(DEVICE).eval()
    one, other = torch.randn(2, batch, 512, device=DEVICE)
    if option == "cuda_graph":
        return replayed(option, Both(net), one, other)

    def step() -> None:
        with torch.no_grad():
            (net(one) * net(other)).sum(-1)

    return repeat(step)


@program("strips_send", "pinned", "dtype=bf16", n=4, size=(96, 1024))
def strips_send(option: str, n: int, size: tuple[int, int]) -> Steps:
    """Send four strips of 384 KiB, each to the same layers."""
    net = nn.Sequential(nn.Linear(size[1], 512), nn.Softplus(), nn.Linear(512, 32))
    return sent(option, [torch.rand(size) for _ in range(n)], net.to(DEVICE).eval())


class Told(nn.Module):
    """One layer of a decoder, without a cache of keys: a state is carried on."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(3000, width)
        self.layers = nn.ModuleList(nn.GRUCell(width, width) for _ in range(6))
        self.norm = nn.LayerNorm(width)

    def forward(self, word: torch.Tensor, states: list[torch.Tensor]) -> torch.Tensor:
        x = self.embed(word)
        for n, layer in enumerate(self.layers):
            states[n] = layer(x, states[n])
            x = x + states[n]
        return (self.norm(x) @ self.embed.weight.T).argmax(-1)


@program("answers_infer", "no_sync", size=(16, 384), lengths=(3, 7, 4, 6))
def answers_infer(option: str, size: tuple[int, int], lengths: tuple[int, ...]) -> Steps:
    """Write answers of different lengths, five words in the mean, one answer a turn."""
    batch, width = size
    net = Told(width).to(DEVICE).eval()
    asked = torch.randint(0, 3000, (batch,), device=DEVICE)

    def turns() -> Steps:
        for n in cycle(lengths):
            states = [torch.zeros(batch, width, device=DEVICE) for _ in net.layers]
            word = asked
            with torch.no_grad():
                for _ in range(n):
                    word = net(word, states)
                    if option != "no_sync":
                        int(word[0])
            yield

    return turns()


@program("refine_infer", "no_sync", "cuda_graph", size=(2, 64, 40))
def refine_infer(option: str, size: tuple[int, ...]) -> Steps:
    """Estimate a flow field: features once, three refinements by one network, then a mask."""
    batch, width, side = size
    features = nn.Sequential(nn.Conv2d(6, width, 7, 2, 3), nn.ReLU(), nn.Conv2d(width, width, 3))
    refine = nn.Sequential(
        nn.Conv2d(width + 2, width, 3, padding=1), nn.PReLU(), nn.Conv2d(width, 2, 3, padding=1)
    )
    mask = nn.Conv2d(width, 1, 1)
    parts = nn.ModuleList([features, refine, mask]).to(DEVICE).eval()
    x = torch.randn(batch, 6, 2 * side, 2 * side, device=DEVICE)

    def whole(x: torch.Tensor) -> torch.Tensor:
        seen = parts[0](x)
        flow = torch.zeros_like(seen[:, :2])
        for _ in range(3):
            flow = flow + parts[1](torch.cat([seen, flow], 1))
        return flow * parts[2](seen).sigmoid()

    if option == "cuda_graph":
        return replayed(option, Whole(parts, whole), x)

    def step() -> None:
        with torch.no_grad():
            flow = whole(x)
            if option != "no_sync":
                flow.abs().max().item()

    return repeat(step)


class Whole(nn.Module):
    """Call a function of some modules, for a CUDA graph."""

    def __init__(self, parts: nn.Module, call: object) -> None:
        super().__init__()
        self.parts, self.call = parts, call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(x)  # type: ignore[operator,no-any-return]


# Training: several batches per optimizer step, several optimizer steps per turn


def tower(width: int, depth: int, inside: int, outside: int) -> nn.Sequential:
    """Stack linear layers."""
    body: list[nn.Module] = [nn.Linear(inside, width), nn.Mish()]
    for _ in range(depth):
        body += [nn.Linear(width, width), nn.RMSNorm(width), nn.Mish()]
    return nn.Sequential(*body, nn.Linear(width, outside))


@program("collect_train", "fused_optimizer", "no_sync", size=(32, 512, 5), parts=6)
def collect_train(option: str, size: tuple[int, ...], parts: int) -> Steps:
    """Add up the gradients of six batches, read each loss, then step."""
    batch, width, depth = size
    net = tower(width, depth, 64, 10).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.Adam, lr=1e-3, foreach=False)
    x = torch.randn(parts, batch, 64, device=DEVICE)
    wanted = torch.randint(0, 10, (parts, batch), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        for part, known in zip(x, wanted, strict=True):
            loss = functional.cross_entropy(net(part), known) / parts
            loss.backward()
            if option != "no_sync":
                loss.item()
        optimizer.step()

    return repeat(step)


@program("critic_train", "fused_optimizer", size=(64, 256, 3), n=3)
def critic_train(option: str, size: tuple[int, ...], n: int) -> Steps:
    """Train a Wasserstein GAN: three steps of the critic, then one of the generator."""
    batch, width, depth = size
    make, tell = tower(width, depth, 32, 64).to(DEVICE), tower(width, depth, 64, 1).to(DEVICE)
    teller = optimizer_of(option, tell, torch.optim.Adam, lr=1e-4, foreach=False)
    maker = optimizer_of(option, make, torch.optim.Adam, lr=1e-4, foreach=False)
    real = torch.randn(batch, 64, device=DEVICE)

    def step() -> None:
        for _ in range(n):
            made = make(torch.randn(batch, 32, device=DEVICE)).detach()
            share = torch.rand(batch, 1, device=DEVICE)
            mixed = (share * real + (1 - share) * made).requires_grad_()
            (slope,) = torch.autograd.grad(tell(mixed).sum(), mixed, create_graph=True)
            penalty = (slope.norm(dim=1) - 1).square().mean()
            teller.zero_grad()
            (tell(made).mean() - tell(real).mean() + 10 * penalty).backward()
            teller.step()
        maker.zero_grad()
        (-tell(make(torch.randn(batch, 32, device=DEVICE))).mean()).backward()
        maker.step()

    return repeat(step)


@program("clipped_train", "fused_optimizer", size=(32, 128), acts=8, n=4)
def clipped_train(option: str, size: tuple[int, int], acts: int, n: int) -> Steps:
    """Act eight times, whose results the host reads, then learn four times by clipped ratios."""
    games, width = size
    policy, value = tower(width, 2, 16, 6).to(DEVICE), tower(width, 2, 16, 1).to(DEVICE)
    both = nn.ModuleList([policy, value])
    optimizer = optimizer_of(option, both, torch.optim.Adam, lr=3e-4, eps=1e-5, foreach=False)
    state = [torch.zeros(games, 16)]
    moves = torch.randn(6, 16)

    def step() -> None:
        seen, chosen, before, gains = [], [], [], []
        for _ in range(acts):
            x = state[0].to(DEVICE)
            with torch.no_grad():
                chances = torch.distributions.Categorical(logits=policy(x))
                action = chances.sample()
                before.append(chances.log_prob(action))
            state[0] = (0.8 * state[0] + moves[action.cpu()]).clamp(-3, 3)
            seen.append(x)
            chosen.append(action)
            gains.append(-state[0].square().sum(-1).to(DEVICE))
        x, action, old, gain = map(torch.cat, (seen, chosen, before, gains))
        for part in torch.randperm(len(x), device=DEVICE).chunk(n):
            chances = torch.distributions.Categorical(logits=policy(x[part]))
            rated = value(x[part]).squeeze(-1)
            better = (gain[part] - rated).detach()
            ratio = (chances.log_prob(action[part]) - old[part]).exp()
            gained = torch.minimum(ratio * better, ratio.clamp(0.8, 1.2) * better)
            loss = (rated - gain[part]).square().mean() - gained.mean()
            optimizer.zero_grad()
            (loss - 0.01 * chances.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(both.parameters(), 0.5)
            optimizer.step()

    return repeat(step)


# Batch sizes


@program("crowd_infer", "batch=16,32:64", sizes=(16, 32, 64))
def crowd_infer(option: str, sizes: tuple[int, int, int]) -> Steps:
    """Estimate how many people are in pictures, in half precision."""
    width = 64 // min(SMALL, 8)
    net = nn.Sequential(
        nn.Conv2d(3, width, 9, 2, 4),
        nn.LeakyReLU(),
        nn.Conv2d(width, 2 * width, 5, 1, 2),
        nn.LeakyReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2),
        nn.LeakyReLU(),
        nn.Conv2d(2 * width, 1, 1),
        nn.ReLU(),
    )
    net = net.to(DEVICE, HALF).eval()
    x = torch.randn(sized(option, sizes), 3, 128, 128, device=DEVICE, dtype=HALF)

    def step() -> None:
        with torch.no_grad():
            net(x).sum((1, 2, 3))

    return repeat(step)


@program("novel_train", "batch=8,16:32", "fused_optimizer", sizes=(8, 16, 32))
def novel_train(option: str, sizes: tuple[int, int, int]) -> Steps:
    """Train a transformer encoder to fill in hidden words."""
    width, length = 512 // min(SMALL, 4), 256 // min(SMALL, 8)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True, norm_first=True)
    body = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    net = nn.Sequential(nn.Embedding(8000, width), body, nn.Linear(width, 8000)).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.AdamW, lr=1e-4, foreach=False)
    ids = torch.randint(0, 8000, (sized(option, sizes), length), device=DEVICE)

    def step() -> None:
        with torch.autocast(DEVICE.type, HALF):
            loss = functional.cross_entropy(net(ids).flatten(0, 1).float(), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeat(step)


@program("tabular_train", "batch=4096,8192:32768", sizes=(4096, 8192, 32_768))
def tabular_train(option: str, sizes: tuple[int, int, int]) -> Steps:
    """Train on a table: the host limits steps of small batches, the device those of large ones."""
    net = tower(1024 // min(SMALL, 8), 4, 200, 2).to(DEVICE)
    optimizer = optimizer_of(option, net, torch.optim.SGD, lr=0.01, momentum=0.9)
    x = torch.randn(sized(option, sizes) // SMALL, 200, device=DEVICE)
    wanted = torch.randint(0, 2, (len(x),), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(net(x), wanted).backward()
        optimizer.step()

    return repeat(step)


# An op that is called a half or a quarter as often


@program("tones_infer", "faster=fft_rfft by 2", size=(256, 65_536), n=4)
def tones_infer(option: str, size: tuple[int, int], n: int) -> Steps:
    """Add up spectra of several windows of sounds."""
    batch, length = size[0] // SMALL, size[1]
    sounds = torch.randn(batch, length, device=DEVICE)
    windows = torch.rand(n, length, device=DEVICE)
    net = nn.Linear(length // 64, 20).to(DEVICE).eval()
    n_called = n // 2 if option == "faster" else n

    def step() -> None:
        with torch.no_grad():
            parts = [sounds * window for window in windows]
            found = [torch.fft.rfft(part) for part in parts[:n_called]]
            power = sum(part.abs() for part in (found * n)[:n])
            net(power[:, 1:].unflatten(1, (-1, 32)).mean(-1)).softmax(-1)

    return repeat(step)


@program("pairs_infer", "faster=bmm by 2", size=(64, 1024, 256), n=4, dtype=HALF)
@program("pairs_infer_small", "faster=bmm by 2", size=(8, 64, 64), n=8, dtype=torch.float32)
def pairs_infer(option: str, size: tuple[int, ...], n: int, dtype: torch.dtype) -> Steps:
    """Compare all pairs of some vectors several times; one more network follows."""
    batch, length, width = size
    shape = (n, max(batch // SMALL, 1), length // min(SMALL, 4), width)
    x = torch.randn(shape, device=DEVICE, dtype=dtype)
    net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
    net = net.to(DEVICE, dtype).eval()
    n_called = n // 2 if option == "faster" else n

    def step() -> None:
        with torch.no_grad():
            for part in x:
                net(part).mean()
            for part in x[:n_called]:
                torch.bmm(part, part.mT)

    return repeat(step)


# Copies and replays


@program("digits_send", "pinned", "dtype=bf16", size=(64, 28 * 28))
def digits_send(option: str, size: tuple[int, int]) -> Steps:
    """Send 196 KiB of digits to a small network."""
    net = nn.Sequential(nn.Linear(size[1], 128), nn.ReLU(), nn.Linear(128, 10))
    return sent(option, [torch.rand(size)], net.to(DEVICE).eval())


@program("scans_send", "pinned", "dtype=bf16", size=(16, 1, 900, 900))
def scans_send(option: str, size: tuple[int, ...]) -> Steps:
    """Send scans of 49 MiB to two convolutions."""
    net = nn.Sequential(nn.Conv2d(1, 16, 7, 4), nn.Hardtanh(), nn.Conv2d(16, 16, 3, 2))
    return sent(option, [torch.rand(size[0] // min(SMALL, 8), *size[1:])], net.to(DEVICE).eval())


class Gated(nn.Module):
    """Many small gated layers, whose scores are looked at with a mask."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + functional.glu(layer(norm(x)))
        return x.mean(1)


@program("gates_infer", "cuda_graph", size=(8, 128, 320, 12), dtype=torch.float32)
@program("gates_infer_wide", "cuda_graph", size=(64, 512, 1024, 12), dtype=HALF)
def gates_infer(option: str, size: tuple[int, ...], dtype: torch.dtype) -> Steps:
    """Run gated layers over sequences."""
    batch, length, width, depth = size
    net = Gated(width // min(SMALL, 8), depth).to(DEVICE, dtype).eval()
    x = torch.randn(batch, length // min(SMALL, 16), width // min(SMALL, 8), device=DEVICE)
    return replayed(option, net, x.to(dtype))


NSYS: tuple[str, ...] = ()
LOADED = ("no loader",)
"""No program has a loader."""
LIVE = (
    "translate_infer",
    "crops_infer",
    "twice_infer",
    "strips_send",
    "answers_infer",
    "refine_infer",
    "collect_train",
    "critic_train",
    "clipped_train",
    "crowd_infer",
    "novel_train",
    "tabular_train",
    "pairs_infer",
    "digits_send",
    "gates_infer",
)
"""Programs that are captured live, in turns with a process that never profiles."""
CHANGED = tuple(PROGRAMS)
CAPTURES: dict[str, tuple[dict[str, object], dict[str, str]]] = {"usual": ({}, {})}
N_LIVE = (20, 40, 30)
"""Numbers of steps: warm-up, timed before and after, and run by a captured process at first."""
N_ALTERNATING = (8, 15)
"""The captured process and an unrecorded one then take this many turns of this many steps."""
N_AFTER = 1
"""Each program is timed once more when its process has recorded all traces."""
