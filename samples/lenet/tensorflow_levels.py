"""Run LeNet in TensorFlow 2, op by op and as a tf.function; on the CPU only."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from samples.lenet.levels import Level
from samples.lenet.net import Array, Size, channels_last


def load(level: str, size: Size, weights: dict[str, Array], batch: int, device: str) -> Level:
    """Load a TensorFlow level by its name."""
    del device
    # begin tf_ops tf_function
    p = {name: tf.Variable(values) for name, values in channels_last(weights, size).items()}
    padding = "SAME" if size.padding else "VALID"

    def lenet(x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.relu(tf.nn.conv2d(x, p["conv1.weight"], 1, padding) + p["conv1.bias"])
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.relu(tf.nn.conv2d(x, p["conv2.weight"], 1, padding) + p["conv2.bias"])
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.reshape(x, [len(x), -1])
        x = tf.nn.relu(x @ p["dense1.weight"] + p["dense1.bias"])
        return x @ p["dense2.weight"] + p["dense2.bias"]

    model: Any = lenet
    # end
    if level == "tf_function":
        # begin tf_function
        model = tf.function(lenet)
        # end

    # begin tf_ops tf_function
    def infer(x: tf.Tensor) -> tf.Tensor:
        return model(x)

    # end
    return Level(
        n_parameters=sum(int(tf.size(value)) for value in p.values()),
        send=lambda images: tf.constant(images.reshape(batch, 28, 28, 1)),
        infer=infer,
        fetch=lambda y: y.numpy(),
        synchronize=lambda _: None,  # on the CPU it returns when it is done
    )
