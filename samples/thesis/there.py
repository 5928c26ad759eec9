"""List the thesis's figures that the page sets beside today's."""

from __future__ import annotations

NAMES = {
    "alexnet": "AlexNet",
    "densenet121": "DenseNet-121",
    "googlenet": "GoogLeNet",
    "mobilenet_v2": "MobileNetV2",
    "resnet50": "ResNet-50",
    "squeezenet1_1": "SqueezeNet 1.1",
}
OUT_OF_THE_BOX = {"resnet50": 1.61, "googlenet": 1.43, "mobilenet_v2": 1.63}
"""Speedup of whole-model compilation over eager."""
SLOWER = ("alexnet",)
ORACLE = dict(zip(NAMES, (1.043, 1.037, 1.021, 1.045, 1.032, 1.046), strict=True))
"""Table 5.1: theoretical speedup of the oracle, the models in the order of their names."""
CUSTOM = {"resnet50": 1.23, "googlenet": 1.15, "mobilenet_v2": 1.19}
"""Measured speedup over eager of the custom configuration.

It stayed below whole-model compilation.
"""
BLOCKS = 0.95
"""Speedup to which blocks of convolutions nearly converged."""
PROFILING = 2.0
"""Time of a profiled step over that of a plain step, about."""
