"""ResNet-50 under torch.compile: `python compiled.py --batch 32 --size 64 --mode train`."""

import torch
from workload import main

if __name__ == "__main__":
    # A sweep compiles each of its shapes as a program of its own would, not a second one for all
    # sizes.
    main("compile", lambda model, images: torch.compile(model, dynamic=False))  # noqa: ARG005
