"""Record where a small compiled model's kernels came from: `python record.py OUT`.

Uses the torch that is installed. Writes OUT/train.json.gz and OUT/train.provenance.json.gz of two
training steps on the CPU. Needs nothing but torch and a C++ compiler, so that it runs where
tracelens cannot be installed. The folders beside it were recorded by the CPU builds for aarch64 of
torch 2.8.0, 2.9.1 and 2.10.0, emulated.
"""

import gzip
import importlib
import sys
import tempfile
from pathlib import Path

import torch
import torch._inductor.config
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

RECORDERS = Path(__file__).resolve().parents[3] / "collectors/torch/live"


class Net(nn.Module):  # type: ignore[misc]
    """Library calls with and without a given output, and generated kernels between them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3)
        self.first = nn.Linear(8, 16)
        self.act = nn.ReLU()
        self.blocks = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From n×2×4×4 to n×4."""
        return self.head(self.blocks(self.act(self.first(self.conv(x).flatten(1)))))


def main(out: Path) -> None:
    """Compile under the recorder, then profile."""
    sys.path.insert(0, str(RECORDERS.parent))
    module = importlib.import_module(f"{RECORDERS.name}.compile_provenance")
    torch._inductor.config.compile_threads = (
        1  # worker processes cannot be started where Python is emulated
    )
    recorder = module.Recorder()
    recorder.start()
    torch.manual_seed(0)
    model, x = torch.compile(Net()), torch.randn(4, 2, 4, 4)
    model(x).sum().backward()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for step in range(2):
            with record_function(f"ProfilerStep#{step}"):
                model(x).sum().backward()
    out.mkdir(parents=True, exist_ok=True)
    recorder.write(out / "train")
    recorder.stop()
    with tempfile.TemporaryDirectory() as folder:
        profiled.export_chrome_trace(f"{folder}/trace.json")
        text = Path(folder, "trace.json").read_text().replace(f"{folder}/", "")
    (out / "train.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
