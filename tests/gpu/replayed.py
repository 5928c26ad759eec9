"""Programs of tests/test_gpu.py whose kernels are replayed from CUDA graphs.

`replayed.py MODEL BATCH MODE` runs a model eager or compiled; `replayed.py MODEL BATCH graphs OUT`
captures it with torch.cuda.graph under torch.profiler, and replays it under another:
OUT/MODEL_BATCH_{capture,replay,both,eager}.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torchvision.models import VisionTransformer, resnet18


def made(name: str, batch: int) -> tuple[nn.Module, Tensor]:
    """A small vision transformer in bfloat16 or float32, or ResNet-18, with its input."""
    torch.manual_seed(0)
    if name == "resnet":
        return resnet18().eval().cuda(), torch.randn(batch, 3, 224, 224, device="cuda")
    dtype = torch.bfloat16 if name == "vit_bf16" else torch.float32
    vit = VisionTransformer(
        64, 16, num_layers=4, num_heads=4, hidden_dim=256, mlp_dim=1024, num_classes=100
    )
    return vit.eval().cuda().to(dtype), torch.randn(batch, 3, 64, 64, device="cuda", dtype=dtype)


def profiled(path: Path, work: Callable[[], None]) -> None:
    """Run the work under the profiler, and wait for the device."""
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        record_shapes=True,
        with_stack=True,
        with_modules=True,
    ) as profiler:
        work()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))


def graphs(stem: Path, net: nn.Module, x: Tensor) -> None:
    """Write traces of a graph's capture, of its replays, of both, and of the model without it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    torch.cuda.synchronize()
    graph, again, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), torch.randn_like(x)

    def capture(into: torch.cuda.CUDAGraph) -> None:
        with torch.cuda.graph(into):
            net(x)

    def replay(one: torch.cuda.CUDAGraph) -> None:
        for _ in range(2):
            x.copy_(other)
            one.replay()

    def both() -> None:
        capture(again)
        replay(again)

    def eager() -> None:
        for _ in range(2):
            net(x)

    profiled(stem.with_name(f"{stem.name}_capture.pt.trace.json.gz"), lambda: capture(graph))
    graph.replay()
    torch.cuda.synchronize()
    profiled(stem.with_name(f"{stem.name}_replay.pt.trace.json.gz"), lambda: replay(graph))
    profiled(stem.with_name(f"{stem.name}_both.pt.trace.json.gz"), both)
    profiled(stem.with_name(f"{stem.name}_eager.pt.trace.json.gz"), eager)


def main() -> None:
    """Run the mode that the command line asks for."""
    name, batch, mode, *out = sys.argv[1:]
    net, x = made(name, int(batch))
    with torch.no_grad():
        if mode == "graphs":
            graphs(Path(out[0]) / f"{name}_{batch}", net, x)
            return
        run = (
            net if mode == "eager" else torch.compile(net, mode=None if mode == "default" else mode)
        )
        for _ in range(10):
            run(x)
            torch.cuda.synchronize()


if __name__ == "__main__":
    main()
