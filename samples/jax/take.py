"""Take a trace of a small JAX program: `python samples/jax/take.py FOLDER`, with jax installed.

Four steps of a perceptron with two named layers, after one that compiles. The last step waits.
"""

import sys
import time

import jax
import jax.numpy as jnp


def loss(weights: jax.Array, batch: jax.Array) -> jax.Array:
    """Return the loss of a batch of 256 features as one number."""
    with jax.named_scope("layer1"):
        hidden = jnp.tanh(batch @ weights)
    with jax.named_scope("layer2"):
        return jnp.mean((hidden @ weights) ** 2)


def main() -> None:
    """Compile, then record four steps."""
    gradient = jax.jit(jax.grad(loss))
    weights = jnp.full((256, 256), 0.01)
    batch = jnp.ones((512, 256))
    gradient(weights, batch).block_until_ready()
    with jax.profiler.trace(sys.argv[1]):
        for step in range(4):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                gradient(weights, batch).block_until_ready()
                if step == 3:
                    with jax.profiler.TraceAnnotation("sleeping"):
                        time.sleep(0.005)


if __name__ == "__main__":
    main()
