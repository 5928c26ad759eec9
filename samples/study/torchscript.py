"""ResNet-50 traced by TorchScript: `python torchscript.py --batch 32 --size 64 --mode train`.

`--save FILE --mode MODE` writes the traced model for cpp/torchscript.cpp.
"""

import sys
import warnings

import torch
from resnet import resnet50
from torch import Tensor, nn
from workload import main


def trace(model: nn.Module, images: Tensor) -> torch.jit.ScriptModule:
    """Return the model as a graph that runs without Python."""
    with warnings.catch_warnings():
        # TorchScript is deprecated from torch 2.9 on; it is the level that is studied here, so the
        # notice is known.
        warnings.filterwarnings(
            "ignore", message=r"`torch\.jit\.\w+` is (deprecated|not supported)"
        )
        return torch.jit.trace(model, images, check_trace=False)


def save(file: str, mode: str) -> None:
    """Trace the model on the CPU, in float32, and write it."""
    model = resnet50().train(mode == "train")
    trace(model, torch.zeros(2, 3, 64, 64)).save(file)


if __name__ == "__main__" and sys.argv[1:2] == ["--save"]:
    save(sys.argv[2], sys.argv[4])
elif __name__ == "__main__":
    main("torchscript", trace)
