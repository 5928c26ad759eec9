"""Describe the levels: how each is made, its source file, and what Python calls of it."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samples.lenet.net import CLASSES, Array, Size

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/lenet"
PROFILED = 10
"""Inferences in a trace."""


@dataclass(frozen=True)
class Level:
    """A network ready to run: functions that send images, infer, fetch logits, and synchronize.

    If `copies_itself`, `infer` takes images in host memory and returns logits there.
    """

    n_parameters: int
    send: Callable[[Array], Any]
    infer: Callable[[Any], Any]
    fetch: Callable[[Any], Array]
    synchronize: Callable[[Any], Any]
    copies_itself: bool = False


@dataclass(frozen=True)
class Kind:
    """One level: its name on the page, its file, and the framework that it needs.

    `part` is the name in its file's markers; `devices` are where it is measured.
    """

    label: str
    file: str
    part: str
    needs: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cuda", "cpu")
    variables: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()


def _keras(backend: str, way: str, *devices: str) -> Kind:
    label = f"Keras on {LABELS[backend]}, {'model(x)' if way == 'call' else 'predict'}"
    return Kind(
        label, "keras_levels.py", way, ("keras", backend), devices, (("KERAS_BACKEND", backend),)
    )


DYNAMO = ("torch._dynamo",)
"""Modules that take seconds to import; that time is not part of a first inference."""
LABELS = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow"}
KINDS = {
    "cudnn": Kind("cuDNN", "cpp/cudnn_plain.cpp", "cudnn", devices=("cuda",)),
    "cudnn_fused": Kind(
        "cuDNN, fused calls", "cpp/cudnn_fused.cpp", "cudnn_fused", devices=("cuda",)
    ),
    "cudnn_graph": Kind(
        "cuDNN, CUDA graph", "cpp/cudnn_fused.cpp", "cudnn_graph", devices=("cuda",)
    ),
    "libtorch": Kind("LibTorch", "cpp/libtorch.cpp", "libtorch", ("torch",)),
    "torchscript": Kind("TorchScript", "torch_levels.py", "torchscript", ("torch",)),
    "eager": Kind("PyTorch eager", "torch_levels.py", "eager", ("torch",)),
    "compile": Kind("torch.compile", "torch_levels.py", "compile", ("torch",), imports=DYNAMO),
    "reduce_overhead": Kind(
        "torch.compile, reduce-overhead",
        "torch_levels.py",
        "reduce_overhead",
        ("torch",),
        ("cuda",),
        imports=DYNAMO,
    ),
    "jax_ops": Kind("JAX op by op", "jax_levels.py", "jax_ops", ("jax",)),
    "jax_jit": Kind("JAX jit", "jax_levels.py", "jax_jit", ("jax",)),
    "tf_ops": Kind(
        "TensorFlow op by op", "tensorflow_levels.py", "tf_ops", ("tensorflow",), ("cpu",)
    ),
    "tf_function": Kind(
        "TensorFlow tf.function", "tensorflow_levels.py", "tf_function", ("tensorflow",), ("cpu",)
    ),
    "keras_torch_call": _keras("torch", "call", "cuda", "cpu"),
    "keras_torch_predict": _keras("torch", "predict", "cuda", "cpu"),
    "keras_jax_call": _keras("jax", "call", "cuda", "cpu"),
    "keras_jax_predict": _keras("jax", "predict", "cuda", "cpu"),
    "keras_tensorflow_call": _keras("tensorflow", "call", "cpu"),
    "keras_tensorflow_predict": _keras("tensorflow", "predict", "cpu"),
}
"""All levels, from the lowest to the highest, in the order of the source's ladder."""


def of_device(device: str) -> dict[str, Kind]:
    """Return the levels that are measured on the device."""
    return {name: kind for name, kind in KINDS.items() if device in kind.devices}


def environment(name: str, device: str) -> dict[str, str]:
    """Return the environment variables of the level's process."""
    variables = dict(KINDS[name].variables)
    if device == "cpu":
        variables |= {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    return variables | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"}


def loader(name: str) -> Callable[[Size, dict[str, Array], int, str], Level]:
    """Import what the level needs; return a function that makes it.

    The function takes size, weights, batch and device.
    """
    kind = KINDS[name]
    if kind.file.endswith(".cpp"):
        library = Library(BUILD / f"{name}.so")
        return library.load
    module_name = f"samples.lenet.{Path(kind.file).stem}"
    module, *_ = (importlib.import_module(needed) for needed in (module_name, *kind.imports))
    return lambda *arguments: module.load(name, *arguments)


class Library:
    """A level in C++, called through the functions that lenet.hpp exports."""

    def __init__(self, path: Path) -> None:
        self.functions = ctypes.CDLL(str(path), mode=os.RTLD_NOW)
        self.functions.lenet_error.restype = ctypes.c_char_p
        self.functions.lenet_parameters.restype = ctypes.c_int64

    def load(self, size: Size, weights: dict[str, Array], batch: int, device: str) -> Level:
        """Load the network for one batch size."""
        values = np.concatenate([value.ravel() for value in weights.values()])
        net = ctypes.c_void_p()
        self._call(
            "lenet_load",
            ctypes.byref(net),
            values.ctypes,
            size.name == "large",
            batch,
            device == "cuda",
        )
        logits = np.empty((batch, CLASSES), np.float32)
        # What a call needs is made before it is timed.
        infer_function, sync_function, send_function, fetch_function = (
            getattr(self.functions, f"lenet_{name}")
            for name in ("infer", "synchronize", "send", "fetch")
        )
        out = logits.ctypes.data_as(ctypes.c_void_p)

        def checked(status: int) -> None:
            if status:
                raise RuntimeError(self.functions.lenet_error().decode())

        def fetch(_: object) -> Array:
            checked(fetch_function(net, out))
            return logits

        return Level(
            n_parameters=self.functions.lenet_parameters(net),
            send=lambda images: checked(send_function(net, images.ctypes)),
            infer=lambda _: checked(infer_function(net)),
            fetch=fetch,
            synchronize=lambda _: checked(sync_function(net)),
        )

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self.functions, name)(*arguments):
            raise RuntimeError(self.functions.lenet_error().decode())
