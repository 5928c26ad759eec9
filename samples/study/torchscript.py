"""ResNet-50 traced by TorchScript: `python torchscript.py --batch 32 --size 64 --mode train`."""

import warnings

import torch
from torch import Tensor, nn
from workload import main


def trace(model: nn.Module, images: Tensor) -> torch.jit.ScriptModule:
    """The model as a graph that runs without Python."""
    with warnings.catch_warnings():
        # TorchScript is deprecated from torch 2.9 on; it is the level that is studied here, so the
        # notice is known.
        warnings.filterwarnings(
            "ignore", message=r"`torch\.jit\.\w+` is (deprecated|not supported)"
        )
        return torch.jit.trace(model, images, check_trace=False)


if __name__ == "__main__":
    main("torchscript", trace)
