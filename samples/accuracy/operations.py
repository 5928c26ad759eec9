"""Compare operations of each bundled capture with torch's own count of its program, run again.

`python -m samples.accuracy.operations` prints this part of docs/accuracy.md. Programs run on
torch's meta device, with the sizes that they have on a GPU.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

import tracelens as tl
from samples.accuracy.coverage import SAMPLES, base_of, captures, name_of, opened
from samples.accuracy.listed_networks import convolutions
from samples.accuracy.on_meta import Counts, OnMeta, alexnet, as_on_gpu, counted, imported
from tracelens.analyses.roofline import NOT_MODELLED, STEP
from tracelens.errors import MissingTableError

_INTRO = """\
### Operations beside torch's own count

The table has the FLOPs of products, convolutions and attention of every capture above, over all steps together.
Beside them is the count of torch's FlopCounterMode for the same program, run again on torch's meta device. Attention
is the fused op, as on the GPU; advised calls are those of the model that they replace.

{summary}

| Capture | GFLOP | FlopCounterMode |
| --- | ---: | --- |
"""


def of_steps(steps: Iterator[Any], n_before: int = 1, n: int = 1) -> Counts:
    """Return what torch counts in a program's steps after the warm-up."""
    for _ in islice(steps, n_before):
        pass
    return counted(lambda: next(steps), n)


def planted(name: str, rank: str | None) -> Counts:
    """Return a planted program's counts in the three steps that are recorded."""
    program = imported("planted", "programs").PROGRAMS[name]
    with as_on_gpu(int(rank or 0)), OnMeta():
        return of_steps(program.steps(), n_before=1, n=3)


def whatif(name: str) -> Counts:
    """Return what torch counts in a program of samples/whatif."""
    tables = [
        getattr(imported("whatif", module), table)
        for module, table in (
            ("programs", "PROGRAMS"),
            ("networks", "NETWORKS"),
            ("held_out_hosts", "HELD_OUT"),
        )
    ]
    program = next(table[name] for table in tables if name in table)
    with as_on_gpu(), OnMeta():
        return of_steps(program.steps(None, **program.settings), n=3)


def on_meta(
    network: nn.Module, size: tuple[int, ...], *, n: int, is_trained: bool = False
) -> Counts:
    """Return what torch counts in `n` calls of a network, forward only or in training."""
    network = network.to("meta").train(is_trained)

    def step() -> None:
        with torch.set_grad_enabled(is_trained), OnMeta():
            output = network(torch.empty(size, device="meta"))
            if is_trained:
                output.sum().backward()

    return counted(step, n)


def residual_network(n_classes: int = 1000) -> nn.Module:
    """Build ResNet-50 as the studies in samples/ define it."""
    from samples.study.resnet import ResNet50  # noqa: PLC0415 - of these captures only

    network = ResNet50()
    network.fc = nn.Linear(2048, n_classes)
    return network


class Vision(nn.Module):
    """A vision transformer, as torchvision's with the sizes that samples/graphs states."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 256, 16, 16)
        self.blocks = nn.ModuleList(
            nn.ModuleList(nn.Linear(*sizes) for sizes in _VISION_LAYERS) for _ in range(4)
        )
        self.head = nn.Linear(256, 100)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the classes for a batch of images."""
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([patches[:, :1], patches], 1)  # the token of the class comes first
        for mixed, out, up, down in self.blocks:
            heads = mixed(x).unflatten(-1, (3, 4, 64)).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(*heads)
            x = x + out(attended.transpose(1, 2).flatten(2))
            x = x + down(functional.gelu(up(x)))
        scores: Tensor = self.head(x[:, 0])
        return scores


_VISION_LAYERS = ((256, 768), (256, 256), (256, 1024), (1024, 256))


def advised(model: str, batch: str) -> Counts:
    """Return what torch counts for a model with calls that the advisor replaced or fused."""
    from samples.advisor.models import mobilenet_v1  # noqa: PLC0415 - of these captures only

    network = residual_network() if model == "resnet50" else mobilenet_v1()
    return on_meta(network, (int(batch), 3, 224, 224), n=3)


def transformer(kind: str, way: str) -> Counts:
    """Return what torch counts for a small transformer with attention fused or written out."""
    from samples.open_points import models  # noqa: PLC0415 - of these captures only

    network, given = models.transformer(kind, is_fused=way == "fused")
    network, given = network.to("meta"), given.to("meta")
    with torch.no_grad(), OnMeta():
        return counted(lambda: network(given), 3)


def parallel(name: str, rank: str) -> Counts:
    """Return what torch counts in three steps of one rank.

    In tensor parallelism each rank computes half of each product; in FSDP it computes all of them.
    """
    take = imported("parallel", "take")
    patches = {
        "fully_shard": lambda *_, **__: None,
        "parallelize_module": halved,
        "DistributedDataParallel": lambda module: module,
    }
    with as_on_gpu(int(rank)), OnMeta(), mock.patch.multiple(take, **patches):
        step = take.PROGRAMS[name](None)
        return counted(step, 3)


def halved(block: nn.Module, _: object, plan: dict[str, object]) -> None:
    """Give a rank of two its half of each product: by output columns, or by input rows."""
    for name, style in plan.items():
        whole = block.get_submodule(name)
        rows = type(style).__name__ == "RowwiseParallel"
        sizes = (whole.in_features // (1 + rows), whole.out_features // (2 - rows))
        part = nn.Linear(
            *sizes,
            bias=False,
            device="meta",
            dtype=whole.weight.dtype,
        )
        parent, _, last = name.rpartition(".")
        setattr(block.get_submodule(parent), last, part)


def routed(self: Any, x: Tensor) -> Tensor:
    """Compute the experts on equal parts of the tokens instead of routed ones.

    The number of operations is the same: each token visits equally many experts of one size.
    """
    n_chosen = getattr(self, "top_k", 2)
    tokens = x.flatten(0, 1)
    weights = self.router(tokens).softmax(-1).topk(n_chosen).values
    rows = tokens.repeat_interleave(n_chosen, 0).chunk(len(self.experts))
    computed = torch.cat([expert(part) for expert, part in zip(self.experts, rows, strict=True)])
    mixed = (computed * weights.flatten()[:, None]).view(-1, n_chosen, x.shape[-1]).sum(1)
    shared = getattr(self, "shared_expert", None)
    return (mixed if shared is None else mixed + shared(tokens)).view_as(x)


def experts(program: str = "moe", n_steps: int = 3) -> Counts:
    """Return what torch counts in steps of a mixture of experts, summed over both ranks."""
    take = imported("parallel", "take")
    with as_on_gpu(), OnMeta(), mock.patch.object(take.Experts, "forward", routed):
        step = take.PROGRAMS[program](None)
        return {op: 2 * flops for op, flops in counted(step, n_steps).items()}


def served(n_prefills: int, decoded: Sequence[int], *, has_experts: bool = False) -> Counts:
    """Return what torch counts of a server's prefills and decode steps with these batch sizes."""
    take = imported("serving", "take")
    shape = take.Shape(n_experts=8, n_layers=2) if has_experts else take.Shape()

    def serve() -> None:
        for _ in range(n_prefills):
            server.prefill()
        for n_requests in decoded:
            server.decode(n_requests)

    with as_on_gpu(), OnMeta(), mock.patch.object(take.Experts, "forward", routed):
        server = take.Server(shape, 8, 256)
        return counted(serve)


def scaled_products() -> Counts:
    """Return what torch counts of the products of float8 operands."""
    take = imported("serving", "take")
    counts: list[Counts] = []

    @contextmanager
    def recorded(*_: object) -> Iterator[None]:
        with FlopCounterMode(display=False) as counter:
            yield
        counts.append({"aten._scaled_mm": counter.get_total_flops()})

    with as_on_gpu(), OnMeta(), mock.patch.object(take, "recorded", recorded):
        take.fp8_products(Path())
    return counts[0]


def stated() -> Counts:
    """Return what torch counted on the GPU for the capture's two steps, as stored beside it."""
    about = json.loads((SAMPLES / "roofline/counts.json").read_text())
    return {op: 2 * flops for op, flops in about["flops_a_step"].items()}


def layers(n: int, width: int, rows: int, *, n_steps: int) -> Counts:
    """Return what torch counts in training steps of linear layers."""
    network = nn.Sequential(*(nn.Linear(width, width) for _ in range(n)))
    return on_meta(network, (rows, width), n=n_steps, is_trained=True)


IMAGES = (32, 3, 224, 224)
_HEADS = {"densenet121": 1024, "googlenet": 1024, "mobilenet_v2": 1280}
"""Widths of the features of torchvision's networks; SqueezeNet's classifier is a convolution."""


def compared(model: str) -> Counts:
    """Return what torch counts in three calls of a network that the thesis compares."""
    builders = {"alexnet": alexnet, "resnet50": residual_network}
    if model in builders:
        return on_meta(builders[model](), IMAGES, n=3)
    n_images = IMAGES[0]
    products = Counter[str]()
    for given, out, kernel, size, groups in convolutions(model):
        layer = nn.Conv2d(given, out, kernel, padding=kernel // 2, groups=groups)
        products.update(on_meta(layer, (n_images, given, size, size), n=3))
    if model in _HEADS:
        products.update(on_meta(nn.Linear(_HEADS[model], 1000), (n_images, _HEADS[model]), n=3))
    return products


def studied(n_images: int = 32, size: int = 64, *, is_trained: bool = False) -> Counts:
    """Return what torch counts in three steps of the study's ResNet-50."""
    return on_meta(residual_network(), (n_images, 3, size, size), n=3, is_trained=is_trained)


AGAIN: tuple[tuple[str, Callable[..., Counts] | None, str], ...] = (
    (r"planted/(\w+)(?:\.rank(\d))?(?:\.stacks)?", planted, ""),
    (r"whatif/(?:unseen/)?(\w+)\.(?:shapes|stacks)", whatif, ""),
    (r"torch/alexnet_eager", lambda: on_meta(alexnet(), IMAGES, n=3), ""),
    (
        r"torch/resnet50_(?:eager|channels_last)",
        lambda: on_meta(residual_network(), IMAGES, n=3),
        "",
    ),
    (
        r"torch/resnet50_train_f\d\d_\w+",
        lambda: on_meta(residual_network(20), (32, 3, 64, 64), n=4, is_trained=True),
        "",
    ),
    (r"advisor/(bert|llama)_\w+?_(fused|written)", transformer, ""),
    (r"advisor/(resnet50|mobilenet_v1)_b(\d+)_\w+", advised, ""),
    (
        r"graphs/vit_(?:eager|replay|compiled_replay)",
        lambda: on_meta(Vision(), (2, 3, 64, 64), n=2),
        "",
    ),
    (r"graphs/vit_capture(?:_batch4)?", dict, "no kernel of a product is recorded"),
    (
        r"graphs/vit_reduce_overhead",
        dict,
        "its products ran in graphs whose capture is not in it",
    ),
    (r"llm/mamba2", None, "its program needs mamba_ssm"),
    (
        r"llm/moe_shared",
        lambda: experts("moe_shared", 2),
        "both ranks together: which of them computes a token is chance",
    ),
    (r"parallel/moe", experts, "both ranks together: which of them computes a token is chance"),
    (r"parallel/(\w+)\.rank(\d)", parallel, ""),
    (r"ranks/rank\d", lambda: layers(8, 4096, 1024, n_steps=3), ""),
    (r"roofline/products", stated, "counted on the GPU beside it"),
    (r"serving/batches/decode", lambda: served(0, (8, 8, 8, 4, 4, 2, 2)), ""),
    (r"serving/.*capture_(\d)_FULL", lambda n: served(0, (int(n),)), ""),
    (r"serving/decode_\w+", lambda: served(1, (8,) * 4), ""),
    (r"serving/moe_eager", lambda: served(1, (8,) * 4, has_experts=True), ""),
    (r"serving/fp8_products", scaled_products, ""),
    (r"study/\w+_train", lambda: studied(is_trained=True), ""),
    (r"study/copy_b(\d\d)_\w+", lambda n: studied(int(n), 256), ""),
    (r"study/\w+_infer", studied, ""),
    (r"thesis/(\w+)_(?:eager|compiled)", compared, ""),
)
"""Pattern of a capture's name, a function that runs its program again, and the remark in the table.

The function is None if the program cannot run here.
"""


@dataclass(frozen=True, slots=True)
class Operations:
    """FLOPs of a capture by its roofline and by torch's counter, and a remark on the difference.

    `counted` is None if the program could not be counted, for the reason in the remark.
    """

    name: str
    recorded: int
    counted: int | None
    about: str

    @property
    def is_equal(self) -> bool:
        """True if both counts are equal."""
        return self.recorded == self.counted

    @property
    def line(self) -> str:
        """The row as a line of Markdown."""
        if self.counted is None:
            return f"| {self.name} | {self.recorded / 1e9:,.6f} | not counted: {self.about} |"
        verdict = "equal" if self.is_equal else f"{self.counted / 1e9:,.6f}"
        about = f"; {self.about}" if self.about else ""
        return f"| {self.name} | {self.recorded / 1e9:,.6f} | {verdict}{about} |"


def recorded_flops(path: Path) -> int | None:
    """Return the FLOPs of a capture's modelled calls; None if it has no kernels or sizes."""
    base = base_of(path)
    trace = opened(path)
    try:
        frame = tl.analyses.roofline(trace, base=base and str(base))
    except MissingTableError:
        return None
    return int(frame.filter(~pl.col("op").is_in([NOT_MODELLED, STEP]))["flops"].sum())


def operations_of(name: str, recorded: int) -> Operations:
    """Return a capture's row. Raises LookupError if no program is known for it."""
    for pattern, _, about in AGAIN:
        if (match := re.fullmatch(pattern, name.removesuffix(".tracelens"))) is not None:
            return Operations(name, recorded, _counted_again(pattern, match.groups()), about)
    raise LookupError(f"{name}: add to AGAIN how its program runs again, or why it does not")


@cache
def _counted_again(pattern: str, groups: tuple[str | None, ...]) -> int | None:
    again = next(again for known, again, _ in AGAIN if known == pattern)
    return None if again is None else sum(again(*groups).values())


def rows() -> Iterator[Operations]:
    """Yield one row per capture with sizes; ranks that only agree when summed share one row."""
    together: dict[str, int] = {}
    for path in captures():
        if (flops := recorded_flops(path)) is not None:
            name = re.sub(r"^(parallel/moe|llm/moe_shared)\.rank\d$", r"\1", name_of(path))
            together[name] = together.get(name, 0) + flops
    for name, flops in together.items():
        yield operations_of(name, flops)


def section() -> str:
    """Return the page's section."""
    listed = list(rows())
    n_equal, n_whole = (
        sum(row.is_equal and (not row.about or not is_whole) for row in listed)
        for is_whole in (False, True)
    )
    summary = (
        f"{n_equal} of {len(listed)} rows are equal, {n_whole} of them without a remark. The ranks"
        " of `moe` are one row."
    )
    return _INTRO.format(summary=summary) + "\n".join(row.line for row in listed)


if __name__ == "__main__":
    print(section())
