"""Compile a model with nothing cached: `python -m benchmarks.compile_model MODE`.

Modes are plain and recorded. Prints the seconds from torch.compile to the end of the first call.
`recorded` also prints the seconds to start and stop the recorder of kernels' modules and to write
its sidecar. The model is the study's ResNet-50 on a GPU, and only its first stage on a CPU, where
that takes half a minute.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

from samples.study import resnet
from tracelens.collectors.torch.live.compile_provenance import Recorder


def main(mode: str) -> None:
    """Compile once and print how long it took."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model, x = resnet.resnet50().eval(), torch.randn(1, 3, 64, 64, device=device)
    if device == "cpu":
        model.layer2, model.layer3, model.layer4 = nn.Identity(), nn.Identity(), nn.Identity()
        model.fc = nn.Linear(4 * resnet.STAGES[0][0], 1000)
    model.to(device)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/cache"
        begin = time.perf_counter()
        recorder = Recorder() if mode == "recorded" else None
        if recorder is not None:
            recorder.start()
        torch.compile(model)(x)
        if device == "cuda":
            torch.cuda.synchronize()
        n_calls = 0
        if recorder is not None:
            recorder.write(Path(folder) / "model")
            recorder.stop()
            n_calls = sum(len(calls) for _, _, calls in recorder.graphs)
        seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "device": device, "n_calls": n_calls}))


if __name__ == "__main__":
    main(sys.argv[1])
