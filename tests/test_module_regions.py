"""Compiled regions: as large as the choices allow, and exactly the chosen layers in them."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.advisor.module_regions import Regions, regions

EAGER, COMPILED = False, True


@pytest.mark.parametrize(
    ("choices", "to_compile", "to_disable"),
    [
        ({}, [], []),
        ({"conv": EAGER, "fc": EAGER}, [], []),
        ({"conv": COMPILED, "fc": COMPILED}, [""], []),
        ({"conv": COMPILED, "fc": EAGER}, ["conv"], []),
        # all leaves of a submodule: the submodule; of its parent too: the parent
        ({"stem": EAGER, "a.b.x": COMPILED, "a.b.y": COMPILED, "a.c": COMPILED}, ["a"], []),
        ({"stem": EAGER, "a.b.x": COMPILED, "a.b.y": COMPILED, "a.c": EAGER}, ["a.b"], []),
        # a block's own work (its addition) is compiled, one convolution in it is not
        ({"stem": EAGER, "a": COMPILED, "a.x": COMPILED, "a.y": EAGER}, ["a"], ["a.y"]),
        # its own work is eager, its layers are compiled: one by one
        ({"a": EAGER, "a.x": COMPILED, "a.y": COMPILED}, ["a.x", "a.y"], []),
        # compiled within disabled within compiled
        ({"": COMPILED, "a": EAGER, "a.x": COMPILED, "b": COMPILED}, ["", "a.x"], ["a"]),
        # everything below a container is eager: it is disabled once
        ({"a": COMPILED, "a.b.x": EAGER, "a.b.y": EAGER, "stem": EAGER}, ["a"], ["a.b"]),
        ({"": COMPILED, "a.x": EAGER, "a.y": COMPILED}, [""], ["a.x"]),
    ],
)
def test_by_hand(choices: dict[str, bool], to_compile: list[str], to_disable: list[str]) -> None:
    assert regions(choices) == Regions(to_compile, to_disable)


def told(path: str, found: Regions) -> bool:
    """Return whether torch would run the module compiled.

    The innermost region around it decides.
    """
    parts = path.split(".") if path else []
    for n in range(len(parts), -1, -1):
        around = ".".join(parts[:n])
        if around in found.to_compile or around in found.to_disable:
            return around in found.to_compile
    return EAGER


PATHS = st.lists(st.sampled_from("abc"), max_size=4).map(".".join)


@given(st.dictionaries(PATHS, st.booleans(), max_size=12))
def test_every_layer_runs_as_chosen(choices: Mapping[str, bool]) -> None:
    found = regions(choices)
    assert {path: told(path, found) for path in choices} == dict(choices)
    assert not set(found.to_compile) & set(found.to_disable)


@given(st.dictionaries(PATHS, st.just(COMPILED), min_size=1, max_size=12))
def test_a_model_that_is_compiled_throughout_is_one_region(choices: Mapping[str, bool]) -> None:
    assert regions(choices) == Regions([""], [])
