"""LeNet in Keras 3, on the framework of KERAS_BACKEND: `model(x)` and `model.predict(x)`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import layers

from samples.lenet.levels import Level
from samples.lenet.net import Array, Size, channels_last


# begin call predict
def lenet(size: Size) -> keras.Model:
    """Build the network in Keras's layout, channels last."""
    first, second = size.maps
    padding = "same" if size.padding else "valid"
    return keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(first, 5, padding=padding, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(second, 5, padding=padding, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(size.hidden, activation="relu"),
            layers.Dense(10),
        ]
    )


# end


def load(level: str, size: Size, weights: dict[str, Array], batch: int, device: str) -> Level:
    """Load a Keras level, `…_call` or `…_predict`."""
    del device  # the one that the backend takes by default; run.py sees to it
    synchronize = _prepare(keras.backend.backend())
    # begin call predict
    model = lenet(size)
    model.set_weights(list(channels_last(weights, size).values()))
    # end
    shape = (batch, 28, 28, 1)
    if level.endswith("_call"):
        # begin call
        def infer(x: Any) -> Any:
            return model(x, training=False)

        # end
        send, fetch = (
            (lambda x: keras.ops.convert_to_tensor(x.reshape(shape))),
            keras.ops.convert_to_numpy,
        )
    else:
        # begin predict
        def infer(x: Any) -> Any:
            return model.predict(x, batch_size=batch, verbose=0)

        # end
        # It takes images in the host's memory, and returns logits there.
        send, fetch = (lambda x: x.reshape(shape)), np.asarray
    return Level(
        model.count_params(),
        send,
        infer,
        fetch,
        synchronize,
        copies_itself=level.endswith("_predict"),
    )


def _prepare(backend: str) -> Any:
    """Turn TF32 off; return a function that waits for the device, given a result."""
    if backend == "torch":
        import torch  # noqa: PLC0415 - one backend is imported, and the others may be absent

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        return (
            (lambda _: torch.cuda.synchronize()) if torch.cuda.is_available() else (lambda _: None)
        )
    if backend == "jax":
        import jax  # noqa: PLC0415

        jax.config.update("jax_default_matmul_precision", "highest")
        return lambda y: y.block_until_ready() if hasattr(y, "block_until_ready") else None
    return lambda _: None  # TensorFlow on the CPU returns when it is done
