"""Take captures of serving-like work: `python samples/serving/take.py --out DIR`, with a GPU.

A small decoder with random weights (grouped queries, RMS norm, gated products; in one variant a
mixture of experts) serves requests from a static KV cache: prefill, then decode steps, launched op
by op or replayed from CUDA graphs. Steps are annotated as vLLM annotates them. README.md says what
is known of each capture.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
DTYPE = torch.bfloat16


@dataclass(frozen=True)
class Shape:
    """The decoder's sizes."""

    n_layers: int = 4
    width: int = 1024
    n_heads: int = 16
    n_kv_heads: int = 4
    head: int = 64
    hidden: int = 2816
    n_experts: int = 0
    top_k: int = 2
    vocabulary: int = 32_000
    longest: int = 512


TINY = Shape(
    n_layers=1,
    width=64,
    n_heads=4,
    n_kv_heads=2,
    head=16,
    hidden=128,
    vocabulary=100,
)
"""The sizes on a CPU, to try the script out."""


class RMSNorm(nn.Module):
    """Root-mean-square norm, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise a tensor with the width as its last size."""
        squares = x.float().pow(2)
        scale = torch.rsqrt(squares.mean(-1, keepdim=True) + 1e-6)
        normed = (x.float() * scale).to(x.dtype)
        return normed * self.weight


class Attention(nn.Module):
    """Attention of grouped queries, with a static cache of keys and values."""

    def __init__(self, shape: Shape, batch: int) -> None:
        super().__init__()
        self.shape = shape
        q_width = shape.n_heads * shape.head
        kv_width = shape.n_kv_heads * shape.head
        qkv_width = q_width + 2 * kv_width
        self.qkv = nn.Linear(shape.width, qkv_width, bias=False)
        self.out = nn.Linear(q_width, shape.width, bias=False)
        size = (batch, shape.n_kv_heads, shape.longest, shape.head)
        self.register_buffer("keys", torch.zeros(size))
        self.register_buffer("values", torch.zeros(size))

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape; the mask is (length, longest)."""
        batch, length, _ = x.shape
        s = self.shape
        q_width = s.n_heads * s.head
        kv_width = s.n_kv_heads * s.head
        widths = [q_width, kv_width, kv_width]
        projected = self.qkv(x)
        queries, keys, values = projected.split(widths, dim=-1)

        def heads(t: Tensor, n: int) -> Tensor:
            return t.view(batch, length, n, s.head).transpose(1, 2)

        cached_keys = self.keys[:batch]
        cached_values = self.values[:batch]
        cached_keys.index_copy_(2, positions, heads(keys, s.n_kv_heads))
        cached_values.index_copy_(2, positions, heads(values, s.n_kv_heads))
        attended = functional.scaled_dot_product_attention(
            heads(queries, s.n_heads),
            cached_keys,
            cached_values,
            attn_mask=mask,
            enable_gqa=True,
        )
        joined = attended.transpose(1, 2).reshape(batch, length, -1)
        output: Tensor = self.out(joined)
        return output


class Gated(nn.Module):
    """The gated products of a layer, or of one expert."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_up = nn.Linear(shape.width, 2 * shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map a tensor with the width as its last size to the same shape."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        hidden = functional.silu(gate) * up
        output: Tensor = self.down(hidden)
        return output


class Experts(nn.Module):
    """A router and experts. Each expert computes the tokens that chose it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.top_k = shape.top_k
        self.router = nn.Linear(shape.width, shape.n_experts, bias=False)
        experts = (Gated(shape) for _ in range(shape.n_experts))
        self.experts = nn.ModuleList(experts)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        tokens = x.flatten(0, 1)
        scores = self.router(tokens).softmax(-1)
        weights, chosen = scores.topk(self.top_k)
        output = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            rows, place = (chosen == number).nonzero(as_tuple=True)
            weight = weights[rows, place, None]
            weighted = expert(tokens[rows]) * weight
            output.index_add_(0, rows, weighted)
        return output.view_as(x)


class Layer(nn.Module):
    """Attention and gated products, each after a norm and with a residual connection."""

    def __init__(self, shape: Shape, batch: int) -> None:
        super().__init__()
        self.input_norm = RMSNorm(shape.width)
        self.post_norm = RMSNorm(shape.width)
        self.attention = Attention(shape, batch)
        self.mlp = Experts(shape) if shape.n_experts else Gated(shape)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        normed = self.input_norm(x)
        x = x + self.attention(normed, positions, mask)
        output: Tensor = x + self.mlp(self.post_norm(x))
        return output


class Decoder(nn.Module):
    """A decoder that returns the next token of each request."""

    def __init__(self, shape: Shape, batch: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(shape.vocabulary, shape.width)
        layers = (Layer(shape, batch) for _ in range(shape.n_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = RMSNorm(shape.width)
        self.lm_head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.register_buffer("places", torch.arange(shape.longest))

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Map tokens (batch, length) and positions (length) to (batch, 1)."""
        mask = self.places[None, :] <= positions[:, None]
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, positions, mask)
        last = self.norm(x[:, -1:])
        logits = self.lm_head(last)
        next_token: Tensor = logits.argmax(-1)
        return next_token


@contextmanager
def recorded(path: Path, *, stacks: bool = False) -> Iterator[None]:
    """Record the block with shapes into a gzipped trace."""
    activities = [ProfilerActivity.CPU]
    if ON_GPU:
        activities.append(ProfilerActivity.CUDA)
    with profile(
        activities=activities,
        record_shapes=True,
        with_stack=stacks,
        with_modules=stacks,
    ) as profiler:
        yield
        if ON_GPU:
            torch.cuda.synchronize()
    plain = path.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    with plain.open("rb") as source, gzip.open(path, "wb", 9) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()
    print(path.name, path.stat().st_size, flush=True)


def prefill_name(batch: int, length: int) -> str:
    """Name a step of `batch` prompts of the same length as vLLM does."""
    sq = batch * length
    sqsq = sq * length
    return (
        f"execute_{sq}_context_{batch}(sq{sq}sk{sq}sqsq{sqsq}sqsk{sqsq})"
        "_generation_0(sq0sk0sqsq0sqsk0)"
    )


def decode_name(batch: int, context: int) -> str:
    """Name a decode step of `batch` requests with contexts of the same length.

    Each request gets one token.
    """
    sk = batch * context
    return (
        f"execute_{batch}_context_0(sq0sk0sqsq0sqsk0)"
        f"_generation_{batch}(sq{batch}sk{sk}sqsq{batch}sqsk{sk})"
    )


class Server:
    """A decoder with its cache, and with inputs at fixed addresses."""

    def __init__(self, shape: Shape, batch: int, prompt: int) -> None:
        torch.manual_seed(0)
        self.batch = batch
        self.prompt = prompt
        decoder = Decoder(shape, batch).to(DEVICE, DTYPE)
        self.model = decoder.eval()
        self.model.places = self.model.places.to(torch.int64)
        self.tokens = torch.zeros(batch, 1, dtype=torch.int64, device=DEVICE)
        self.position = torch.zeros(1, dtype=torch.int64, device=DEVICE)
        self.prompts = torch.randint(shape.vocabulary, (batch, prompt), device=DEVICE)

    @torch.no_grad()
    def prefill(self) -> None:
        """Fill the cache from the prompts."""
        positions = torch.arange(self.prompt, device=DEVICE)
        self.tokens.copy_(self.model(self.prompts, positions))
        self.position.fill_(self.prompt)

    @torch.no_grad()
    def decode(self, n_requests: int | None = None) -> None:
        """Decode one token for each of the first `n` requests, or for all of them."""
        tokens = self.tokens[:n_requests]
        tokens.copy_(self.model(tokens, self.position))
        self.position.add_(1)

    def serve(self, n_steps: int, decode: Callable[[], None] | None = None) -> None:
        """Run a prefill, then `n` decode steps, each annotated, and read the tokens back."""
        with record_function(prefill_name(self.batch, self.prompt)):
            self.prefill()
        self.tokens.tolist()
        context = self.prompt
        for _ in range(n_steps):
            context += 1
            with record_function(decode_name(self.batch, context)):
                (decode or self.decode)()
            self.tokens.tolist()


def graph_of(server: Server, n_requests: int | None = None) -> Any:
    """Capture a decode step as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        server.decode(n_requests)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        server.decode(n_requests)
    return graph


def batches(out: Path, server: Server) -> None:
    """Decode while requests end, with a graph for each of three batch sizes.

    A step of n requests replays the graph of the smallest size that fits them.
    """
    sizes = (2, 4, 8)
    folder = out / "batches" / "capture_traces"
    folder.mkdir(parents=True, exist_ok=True)
    graphs = {}
    for size in sizes:
        server.position.fill_(server.prompt)
        name = f"capture_{size}_FULL"
        with recorded(folder / f"{name}.pt.trace.json.gz"), record_function(name):
            graphs[size] = graph_of(server, size)
    server.prefill()
    with recorded(out / "batches" / "decode.pt.trace.json.gz"):
        context = server.prompt
        for n_requests in (8, 7, 5, 4, 3, 2, 1):
            context += 1
            size = min(size for size in sizes if size >= n_requests)
            with record_function(decode_name(n_requests, context)):
                graphs[size].replay()
            server.tokens.tolist()


def fp8_products(out: Path) -> None:
    """Multiply float8 operands of known sizes, with one scale each."""
    scale = torch.ones((), device=DEVICE)
    sizes = ((1024, 1024, 4096), (4096, 4096, 4096))

    def matrix(n_rows: int, n_columns: int) -> Tensor:
        return torch.randn(n_rows, n_columns, device=DEVICE).to(torch.float8_e4m3fn)

    pairs = []
    for m, n, k in sizes:
        left = matrix(m, k)
        right = matrix(n, k).t()
        pairs.append((left, right))

    def multiply() -> None:
        for left, right in pairs:
            torch._scaled_mm(  # noqa: SLF001 - no other way
                left,
                right,
                scale,
                scale,
                out_dtype=DTYPE,
            )

    multiply()
    with recorded(out / "fp8_products.pt.trace.json.gz"):
        for _ in range(4):
            multiply()


def main() -> None:
    """Take all captures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    shape = Shape() if ON_GPU else TINY
    batch = 8 if ON_GPU else 2
    prompt = 256 if ON_GPU else 8
    for name, used, stacks in (
        ("decode_eager", shape, False),
        ("decode_stacks", shape, True),
        ("moe_eager", replace(shape, n_experts=8, n_layers=2), False),
    ):
        server = Server(used, batch, prompt)
        server.serve(4)
        with recorded(out / f"{name}.pt.trace.json.gz", stacks=stacks):
            server.serve(4)
    if not ON_GPU:
        return
    server = Server(shape, batch, prompt)
    server.serve(4)
    name = f"capture_{batch}_FULL"
    with recorded(out / f"{name}.pt.trace.json.gz"), record_function(name):
        graph = graph_of(server)
    server.serve(4, graph.replay)
    with recorded(out / "decode_graph.pt.trace.json.gz"):
        server.serve(4, graph.replay)
    batches(out, server)
    fp8_products(out)


if __name__ == "__main__":
    main()
