"""ResNet-50 in PyTorch, eager: `python eager.py --batch 32 --size 64 --mode train`."""

from workload import main

if __name__ == "__main__":
    main("eager", lambda model, images: model)  # noqa: ARG005 - the model runs unchanged
