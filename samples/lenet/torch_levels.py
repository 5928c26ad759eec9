"""Run LeNet in PyTorch at four levels: eager, TorchScript, and torch.compile in two modes."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from samples.lenet.levels import Level
from samples.lenet.net import Array, Size

# The deprecated ways are among the levels studied here, so this warning tells nothing new.
warnings.filterwarnings("ignore", message=r".*`torch\.jit\.\w+` is (deprecated|not supported)")


# begin eager torchscript compile reduce_overhead
class LeNet(nn.Module):
    """The network."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        first, second = size.maps
        self.conv1 = nn.Conv2d(1, first, 5, padding=size.padding)
        self.conv2 = nn.Conv2d(first, second, 5, padding=size.padding)
        self.dense1 = nn.Linear(second * size.side**2, size.hidden)
        self.dense2 = nn.Linear(size.hidden, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of a batch of images."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.dense1(x.flatten(1)))
        return self.dense2(x)


def make(size: Size, weights: dict[str, Array], device: str) -> nn.Module:
    """Return the network with these weights."""
    model = LeNet(size)
    model.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    return model.to(device).eval()


# end


def load(level: str, size: Size, weights: dict[str, Array], batch: int, device: str) -> Level:
    """Load a PyTorch level by its name."""
    del batch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if level in ("compile", "reduce_overhead"):
        torch.compiler.reset()  # else a second batch would be compiled for any size
    model = make(size, weights, device)
    if level == "torchscript":
        # begin torchscript
        model = torch.jit.freeze(torch.jit.script(model))
        # end
    elif level == "compile":
        # begin compile
        model = torch.compile(model)
        # end
    elif level == "reduce_overhead":
        # begin reduce_overhead
        model = torch.compile(model, mode="reduce-overhead")
        # end

    # begin eager torchscript compile reduce_overhead
    @torch.inference_mode()
    def infer(x: Tensor) -> Tensor:
        return model(x)

    # end
    return Level(
        n_parameters=sum(value.numel() for value in make(size, weights, "cpu").parameters()),
        send=lambda images: torch.from_numpy(images).to(device),
        infer=infer,
        fetch=lambda y: y.cpu().numpy(),
        synchronize=(lambda _: torch.cuda.synchronize()) if device == "cuda" else (lambda _: None),
    )
