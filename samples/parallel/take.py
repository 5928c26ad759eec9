"""Capture work spread over two GPUs: `torchrun --nproc-per-node 2 samples/parallel/take.py`.

Five programs, three recorded training steps each, one trace per rank: a mixture of experts whose
tokens travel by all-to-all, the same with an expert for all tokens, a transformer sharded by FSDP2,
the same split by tensor parallelism, and a compiled one under DistributedDataParallel. Without GPUs
two processes run them on the CPU, to try the script. README.md says what is known of each.
"""

from __future__ import annotations

import argparse
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
DTYPE = torch.bfloat16 if ON_GPU else torch.float32
WIDTH = 1024 if ON_GPU else 64
N_HEADS = 16 if ON_GPU else 4
N_LAYERS = 4 if ON_GPU else 2
LENGTH = 512 if ON_GPU else 16
BATCH = 8 if ON_GPU else 2
N_EXPERTS, TOP_K = 8, 2
N_WARM_UP, N_STEPS = 3, 3

Step = Callable[[], None]


class Attention(nn.Module):
    """Causal attention; its three products may be split over ranks by heads."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        of_head = WIDTH // N_HEADS
        heads = [
            layer(x).unflatten(-1, (-1, of_head)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        attended = functional.scaled_dot_product_attention(*heads, is_causal=True)
        output: Tensor = self.out(attended.transpose(1, 2).flatten(2))
        return output


class FeedForward(nn.Module):
    """Two products with an activation between."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map a tensor with the width as its last size to the same shape."""
        output: Tensor = self.down(functional.gelu(self.up(x)))
        return output


class Experts(nn.Module):
    """A mixture of experts. Tokens travel to the experts that they chose, on any rank.

    `skew` makes the first expert more likely, so that one rank gets more tokens. The optional
    shared expert takes all tokens of its rank meanwhile.
    """

    def __init__(self, skew: float, *, is_one_shared: bool = False) -> None:
        super().__init__()
        self.n_local = N_EXPERTS // dist.get_world_size()
        self.router = nn.Linear(WIDTH, N_EXPERTS, bias=False)
        self.experts = nn.ModuleList(FeedForward() for _ in range(self.n_local))
        self.shared_expert = FeedForward() if is_one_shared else None
        skews = torch.zeros(N_EXPERTS)
        skews[0] = skew
        self.register_buffer("skew", skews)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        tokens = x.flatten(0, 1)
        scores = self.router(tokens) + self.skew
        weights, chosen = scores.softmax(-1).topk(TOP_K)
        order = chosen.flatten().argsort(stable=True)
        counts = chosen.flatten().bincount(minlength=N_EXPERTS)
        received = torch.empty_like(counts)
        dist.all_to_all_single(received, counts)
        to_send = counts.view(-1, self.n_local).sum(1).tolist()
        per_expert = received.view(-1, self.n_local)
        to_receive = per_expert.sum(1).tolist()
        rows = tokens[order // TOP_K]
        arrived = exchange(rows, to_receive, to_send)
        start = torch.zeros_like(tokens)
        if self.shared_expert is not None:
            start = self.shared_expert(tokens)
        n_ranks = dist.get_world_size()
        local = torch.arange(self.n_local, device=x.device)
        expert_of = local.repeat(n_ranks).repeat_interleave(per_expert.flatten())
        computed = torch.zeros_like(arrived)
        for number, expert in enumerate(self.experts):
            mine = (expert_of == number).nonzero().squeeze(1)
            computed = computed.index_copy(0, mine, expert(arrived[mine]))
        returned = exchange(computed, to_send, to_receive)
        weighted = returned * weights.flatten()[order, None]
        return start.index_add(0, order // TOP_K, weighted).view_as(x)


def exchange(rows: Tensor, to_receive: list[int], to_send: list[int]) -> Tensor:
    """Send rows to the ranks of their experts; in the backward pass, their gradients return."""
    group = dist.group.WORLD
    assert group is not None
    arrived: Tensor = collectives.all_to_all_single_autograd(rows, to_receive, to_send, group)
    return arrived


class Block(nn.Module):
    """Attention and a feed-forward part, each behind a norm and beside a residual."""

    def __init__(self, feed_forward: nn.Module) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.feed_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.feed_forward = feed_forward

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        x = x + self.attention(self.attention_norm(x))
        output: Tensor = x + self.feed_forward(self.feed_norm(x))
        return output


def transformer(n_layers: int = N_LAYERS) -> nn.Sequential:
    """Stack blocks of one kind, with the same weights on every rank."""
    torch.manual_seed(0)
    blocks = (Block(FeedForward()) for _ in range(n_layers))
    return nn.Sequential(*blocks).to(DEVICE, DTYPE)


def training(model: nn.Module, batch: int = BATCH) -> Step:
    """Return a training step: forward, backward, AdamW."""
    # One group per type: the fused update of many tensors takes either kind, not both at once.
    parameters = list(model.parameters())
    split_over_ranks = [p for p in parameters if isinstance(p, DTensor)]
    whole = [p for p in parameters if not isinstance(p, DTensor)]
    groups = [{"params": group} for group in (whole, split_over_ranks) if group]
    optimizer = torch.optim.AdamW(groups, lr=1e-4)
    generator = torch.Generator(DEVICE).manual_seed(dist.get_rank())
    shape = (batch, LENGTH, WIDTH)
    x = torch.randn(shape, device=DEVICE, generator=generator).to(DTYPE)

    def step() -> None:
        optimizer.zero_grad()
        model(x).float().pow(2).mean().backward()
        optimizer.step()

    return step


def experts(_: DeviceMesh) -> Step:
    """Build two layers with eight experts on two ranks; most tokens choose the first expert."""
    torch.manual_seed(0)
    layers = (Block(Experts(skew=1.0)) for _ in range(2))
    model = nn.Sequential(*layers).to(DEVICE, DTYPE)
    return training(model)


def shared(_: DeviceMesh) -> Step:
    """Build the same two layers, each with one more expert that all tokens take."""
    torch.manual_seed(0)
    layers = (Block(Experts(skew=1.0, is_one_shared=True)) for _ in range(2))
    model = nn.Sequential(*layers).to(DEVICE, DTYPE)
    return training(model)


def sharded(mesh: DeviceMesh) -> Step:
    """Shard by FSDP2: each block's parameters are gathered before it runs."""
    model = transformer()
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return training(model)


def split(mesh: DeviceMesh) -> Step:
    """Split by tensor parallelism: each rank has half of the heads and hidden units.

    Sums are reduced.
    """
    model = transformer()
    plan = {
        **{f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")},
        "attention.out": RowwiseParallel(),
        "feed_forward.up": ColwiseParallel(),
        "feed_forward.down": RowwiseParallel(),
    }
    for block in model:
        parallelize_module(block, mesh, plan)
    return training(model)


def compiled(_: DeviceMesh) -> Step:
    """Wrap a compiled model in DistributedDataParallel; rank 1 has twice the batch."""
    model = DistributedDataParallel(transformer())
    return training(
        torch.compile(model),
        BATCH * (1 + dist.get_rank()),
    )


PROGRAMS = {
    "moe": experts,
    "moe_shared": shared,
    "fsdp2": sharded,
    "tensor_parallel": split,
    "ddp_compiled": compiled,
}


def record(step: Step, path: Path) -> None:
    """Record some steps with shapes."""
    activities = [ProfilerActivity.CPU]
    if ON_GPU:
        activities.append(ProfilerActivity.CUDA)
    with profile(
        activities=activities,
        schedule=schedule(
            wait=N_WARM_UP,
            warmup=1,
            active=N_STEPS,
            repeat=1,
        ),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        record_shapes=True,
    ) as profiler:
        for _ in range(N_WARM_UP + 1 + N_STEPS):
            step()
            if ON_GPU:
                torch.cuda.synchronize()
            profiler.step()
    print(path.name, path.stat().st_size, flush=True)


def run_unrecorded(step: Step, n_steps: int) -> None:
    """Run steps without recording, for a capture by another tool."""
    for _ in range(n_steps):
        step()
        if ON_GPU:
            torch.cuda.synchronize()


def main() -> None:
    """Take all captures; a failed one is reported, and the others go on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--only",
        nargs="*",
        choices=PROGRAMS,
        default=list(PROGRAMS),
    )
    parser.add_argument("--unrecorded", type=int, metavar="STEPS")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rank = int(os.environ["RANK"])
    if ON_GPU:
        torch.cuda.set_device(rank)
    mesh = init_device_mesh(DEVICE, (int(os.environ["WORLD_SIZE"]),))
    for name in options.only:
        try:
            step = PROGRAMS[name](mesh)
            if options.unrecorded:
                run_unrecorded(step, options.unrecorded)
            else:
                record(step, options.out / f"{name}.rank{rank}.pt.trace.json.gz")
        except Exception:  # noqa: BLE001 - the other programs are wanted all the same
            traceback.print_exc()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
