"""Take two captures on a CPU: `python -m samples.cross_layer.on_cpu --out OUT`.

They show the platform layer: ResNet-50 (4 images of 64×64) and a BERT-like model, one thread,
float32, a few steps each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import tracelens as tl
from samples.open_points.models import transformer
from samples.study.resnet import resnet50

STEPS = 3


def main() -> None:
    """Capture each model after a step that is not recorded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    torch.manual_seed(0)
    subjects = {
        "resnet50": (resnet50().eval(), torch.randn(4, 3, 64, 64)),
        "bert": transformer("bert", is_fused=False),
    }
    for name, (model, given) in subjects.items():
        with torch.no_grad():
            model(given)
            with tl.capture(out / f"cpu_{name}.tracelens"):
                for _ in range(STEPS):
                    model(given)


if __name__ == "__main__":
    main()
