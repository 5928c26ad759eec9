"""LeNet in JAX, op by op and compiled as a whole."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from samples.lenet.levels import Level
from samples.lenet.net import Array, Size

jax.config.update("jax_default_matmul_precision", "highest")  # no TF32


# begin jax_ops jax_jit
def convolution(x: jax.Array, weight: jax.Array, bias: jax.Array, padding: int) -> jax.Array:
    """Apply a 5×5 convolution with bias, then ReLU."""
    y = lax.conv_general_dilated(x, weight, (1, 1), [(padding, padding)] * 2)
    return jnp.maximum(y + bias[:, None, None], 0)


def pool(x: jax.Array) -> jax.Array:
    """Take the maximum of each 2×2 block."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(p: dict[str, jax.Array], x: jax.Array, padding: int) -> jax.Array:
    """Return the logits of a batch of images."""
    x = pool(convolution(x, p["conv1.weight"], p["conv1.bias"], padding))
    x = pool(convolution(x, p["conv2.weight"], p["conv2.bias"], padding))
    x = x.reshape(len(x), -1)
    x = jnp.maximum(x @ p["dense1.weight"].T + p["dense1.bias"], 0)
    return x @ p["dense2.weight"].T + p["dense2.bias"]


# end


def load(level: str, size: Size, weights: dict[str, Array], batch: int, device: str) -> Level:
    """Load a JAX level by its name."""
    del batch
    place = jax.devices(device)[0]
    # begin jax_ops jax_jit
    p = {name: jax.device_put(values, place) for name, values in weights.items()}
    model: Any = lenet
    # end
    if level == "jax_jit":
        # begin jax_jit
        model = jax.jit(lenet, static_argnums=2)
        # end

    # begin jax_ops jax_jit
    def infer(x: jax.Array) -> jax.Array:
        return model(p, x, size.padding)

    # end
    return Level(
        n_parameters=sum(value.size for value in p.values()),
        send=lambda images: jax.device_put(images, place),
        infer=infer,
        fetch=np.asarray,
        synchronize=lambda y: y.block_until_ready(),
    )
