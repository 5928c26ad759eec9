"""The thesis's claims on layers by subtraction, and on custom configurations made by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from figures import Speedup, agree, is_faster
from page import Finding, listed
from there import CUSTOM, NAMES

if TYPE_CHECKING:
    from subtracted import Model, Span

WHERE = "section 5.5.4"
FIRE = (3, 4, 6, 7, 9, 10, 11, 12)
"""SqueezeNet's Fire modules, counted from 0."""
IMPROVED = (0, 3, 4, 5, 7, 8, 10, 12)
"""Layers in which the thesis's custom configuration was better than the compiled one, counted
from 0."""
RESIDUALS = range(1, 18)
"""MobileNetV2's inverted residuals, counted from 0."""
LARGE = {3: "5×5", 6: "3×3", 8: "3×3"}
"""AlexNet's convolutions that the thesis found slower compiled: layers four, seven and nine,
counted from 1."""
INCEPTION = range(8, 13)
"""GoogLeNet's layers nine to thirteen, counted from 1: the blocks inception4a to inception4e."""


def verdict(one: Span, two: Span) -> str:
    """Whether the second is surely faster or slower than the first."""
    return "faster" if two.high < one.low else "slower" if two.low > one.high else "unclear"


def sides(model: Model) -> tuple[int, int]:
    """How many layers are surely faster compiled, and how many surely slower."""
    found = outcomes(model, range(len(model.layers)))
    return found.count("faster"), found.count("slower")


def outcomes(
    model: Model, which: Sequence[int], ways: tuple[str, str] = ("eager", "compiled")
) -> list[str]:
    """Of these layers, whether each is faster, slower or unclear in the second way; unclear where the turns differ.

    The custom one has its own turn only.
    """
    turns = [model.beside] if "custom" in ways else [model.chosen, model.beside]
    words = [[verdict(times[ways[0]][at], times[ways[1]][at]) for at in which] for times in turns]
    return [found[0] if len(set(found)) == 1 else "unclear" for found in zip(*words, strict=True)]


def best(model: Model) -> float:
    """Microseconds of the sum of each layer's lesser median, eager or compiled, beside the custom configuration."""
    pairs = zip(model.beside["eager"], model.beside["compiled"], strict=True)
    return sum(min(one.middle, two.middle) for one, two in pairs)


def findings(models: Mapping[str, Model]) -> list[Finding]:
    """Section 5.5.4, model by model."""
    said = [_beats_eager(name, models[name]) for name in CUSTOM if name in models]
    said += [_below_whole(models), _some_layers(models)]
    by_name = {
        "alexnet": _alexnet,
        "densenet121": _densenet,
        "googlenet": _googlenet,
        "mobilenet_v2": _mobilenet,
        "squeezenet1_1": _squeezenet,
    }
    for name, made in by_name.items():
        if name in models:
            said += made(models[name])
    return said


def _beats_eager(name: str, model: Model) -> Finding:
    found = model.whole["eager"].over(model.whole["custom"])
    return Finding(
        f"{NAMES[name]}'s custom configuration, chosen by layer subtraction, beats eager",
        f"{WHERE}, Appendix Fig. 4",
        f"{CUSTOM[name]:.2f}",
        str(found),
        is_faster(found),
        f"rows `custom` of `{name}_subtraction.parquet`: {len(model.compiled)} of"
        f" {len(model.layers)} layers compiled, each called by the host as a region of its own",
    )


def _below_whole(models: Mapping[str, Model]) -> Finding:
    ratios: dict[str, Speedup] = {
        n: m.whole["compiled"].over(m.whole["custom"]) for n, m in models.items()
    }
    return Finding(
        "Custom configurations stay below whole-model compilation",
        WHERE,
        "all",
        "; ".join(f"{NAMES[name]} {ratio}" for name, ratio in ratios.items()),
        agree(None if (up := is_faster(ratio)) is None else not up for ratio in ratios.values()),
        "the thesis names data movement; here it is what each compiled layer loses alone, the table"
        ' of "Layer subtraction": rows `custom` of `MODEL_subtraction.parquet`',
    )


def _some_layers(models: Mapping[str, Model]) -> Finding:
    better = {
        name: _names(model, ("compiled", "custom"), "faster") for name, model in models.items()
    }
    return Finding(
        "In every model some layers are better in the custom configuration than in the compiled"
        " model",
        f"{WHERE} and 5.6.3, Fig. 5.10",
        "all six",
        "; ".join(
            f"{NAMES[name]} {len(layers)} of {len(models[name].layers)}"
            for name, layers in better.items()
        ),
        all(better.values()) or None,
        "by subtraction, so noise of a layer before it counts too: rows `custom` and `compiled`",
    )


def _names(model: Model, ways: tuple[str, str], outcome: str) -> list[str]:
    found = outcomes(model, range(len(model.layers)), ways)
    return [layer for layer, word in zip(model.layers, found, strict=True) if word == outcome]


def _told(words: Sequence[str], wanted: str) -> bool | None:
    """Whether all are as wanted; null where some are unclear or the answers differ."""
    return (
        True
        if set(words) == {wanted}
        else False
        if wanted not in words and "unclear" not in words
        else None
    )


def _said(model: Model, which: Sequence[int]) -> str:
    return "; ".join(
        f"`{model.layers[at]}` {model.beside['eager'][at]} and {model.beside['compiled'][at]}"
        for at in which
    )


def _alexnet(model: Model) -> list[Finding]:
    words = outcomes(model, [*LARGE])
    return [
        Finding(
            "AlexNet's large convolutions (layers four, seven and nine) are slower compiled",
            WHERE,
            "slower",
            f"{_said(model, [*LARGE])} µs, eager and compiled",
            _told(words, "slower"),
            "`alexnet_subtraction.parquet`; cause not established",
        )
    ]


def _densenet(model: Model) -> list[Finding]:
    which = [at for at, layer in enumerate(model.layers) if "denseblock" in layer]
    words = outcomes(model, which)
    return [
        Finding(
            "DenseNet is slower compiled at each of its dense blocks",
            WHERE,
            "consistent, not severe slowdowns",
            f"{_said(model, which)} µs, eager and compiled; surely faster {words.count('faster')},"
            f" slower {words.count('slower')}",
            False if "faster" in words else _told(words, "slower"),
            "`densenet121_subtraction.parquet`; by kernels compiling saves in it as in the others,"
            ' "Where the time went"; why not in each block is not established',
        )
    ]


def _googlenet(model: Model) -> list[Finding]:
    ratios = [
        model.stretch("eager", *INCEPTION[:: len(INCEPTION) - 1], turn).over(
            model.stretch("compiled", *INCEPTION[:: len(INCEPTION) - 1], turn)
        )
        for turn in (0, 1)
    ]
    words = outcomes(model, INCEPTION)
    return [
        Finding(
            "GoogLeNet gains in its inception blocks, layers nine to thirteen",
            WHERE,
            "a speedup of 1.1",
            f"{ratios[0]}, in the later turn {ratios[1]}, over the five together; by itself surely"
            f" faster {words.count('faster')}, slower {words.count('slower')}",
            agree(map(is_faster, ratios)),
            "`googlenet_subtraction.parquet`, `inception4a` to `inception4e`",
        )
    ]


def _mobilenet(model: Model) -> list[Finding]:
    words = outcomes(model, RESIDUALS)
    return [
        Finding(
            "Each of MobileNetV2's inverted residuals gains from compiling",
            WHERE,
            "each performs well",
            f"{words.count('faster')} of {len(words)} surely faster, {words.count('slower')}"
            " slower",
            True if words.count("faster") == len(words) else False if "slower" in words else None,
            f"`mobilenet_v2_subtraction.parquet`, slower: {_slow(model, RESIDUALS)}; cause not"
            " established",
        )
    ]


def _slow(model: Model, which: Sequence[int]) -> str:
    found = [
        f"`{model.layers[at]}`"
        for at, word in zip(which, outcomes(model, which), strict=True)
        if word == "slower"
    ]
    return listed(found) if found else "none"


def _squeezenet(model: Model) -> list[Finding]:
    fire = outcomes(model, FIRE)
    custom = outcomes(model, IMPROVED, ("compiled", "custom"))
    return [
        Finding(
            "SqueezeNet's Fire modules are slightly slower compiled",
            WHERE,
            "marginal slowdowns",
            f"{fire.count('faster')} of {len(fire)} surely faster, {fire.count('slower')} slower",
            _told(fire, "slower") if "faster" not in fire else None,
            f"`squeezenet1_1_subtraction.parquet`, slower: {_slow(model, FIRE)}; cause not"
            " established",
        ),
        Finding(
            "SqueezeNet's custom configuration beats the compiled one in layers 0, 3, 4, 5, 7, 8,"
            " 10 and 12",
            f"{WHERE} and 5.6.3, Fig. 5.10",
            "small benefits in these, read as SqueezeNet's, counted from 0",
            f"of these {custom.count('faster')} surely better, {custom.count('slower')} worse",
            _told(custom, "faster"),
            "each compiled layer pays for its own region: `squeezenet1_1_subtraction.parquet`",
        ),
    ]
