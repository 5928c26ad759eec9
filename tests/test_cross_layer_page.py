"""The cross-layer page: its numbers on hand-made captures, and which captures are on the page."""

from pathlib import Path
from typing import Any

import pytest

from samples.cross_layer import analyse
from samples.cross_layer.runs import Reuse, Run, by_key, read, reuse
from samples.kit.page import PageError
from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"


def run(
    kernels: dict[tuple[str, str], int], place: str = "x/captures/a.tracelens", **more: Any
) -> Run:
    """A capture whose kernels take so long by library and primitive.

    They are named after both, below an op.
    """
    rows = [
        {
            "name": f"{library} {primitive}",
            "library": library,
            "primitive": primitive,
            "duration_ns": ns,
            "span_id": 0,
        }
        for (library, primitive), ns in kernels.items()
    ]
    about = {"group": "vision", "model": "Net", "how": "eager"} | more
    return Run(place=place, trace=make_trace(spans=[{"kind": "op"}], kernels=rows), **about)


MOSTLY_LINEAR = {("cublas", "gemm"): 60, ("aten", "elementwise"): 30, ("aten", "layout"): 10}


def test_shares_and_pairs_of_a_capture() -> None:
    made = run(MOSTLY_LINEAR)
    assert made.share(family="linear algebra") == 0.6
    assert (made.pairs_for(0.8), made.pairs_for(0.95)) == (2, 3)
    # 60 % at twice the speed: 100 / 70; without it 100 / 40.
    primitive, twice, limit = made.best()
    assert (primitive, round(twice, 3), limit) == ("gemm", 1.429, 2.5)
    assert made.linear_twice() == pytest.approx(100 / 70)


def test_kernels_are_reused_by_name_and_by_library_and_primitive() -> None:
    eager = run(MOSTLY_LINEAR)
    bare = run({("cublas", "gemm"): 60, ("cudnn", "elementwise"): 40})
    one, other = reuse(eager.trace, bare.trace)
    assert (one.by_name, other.by_name, one.by_pair, other.by_pair) == (0.6, 0.6, 0.6, 0.6)


@pytest.mark.parametrize(
    ("made", "is_most"),
    [
        (Reuse(0.9, None, 1.0), True),
        (Reuse(0.4, None, 1.0), False),
        (Reuse(0.6, (0.4, 0.7), 1.0), None),
    ],
)
def test_most_is_more_than_half_beyond_the_quartiles(made: Reuse, *, is_most: bool | None) -> None:
    assert made.is_most is is_most


def test_two_captures_of_one_key_are_refused() -> None:
    one, same = run(MOSTLY_LINEAR), run(MOSTLY_LINEAR, "x/other/a.tracelens")
    with pytest.raises(PageError, match="key 'x/a'"):
        by_key([one, same])


def test_each_model_is_a_row_of_its_own() -> None:
    large = run(MOSTLY_LINEAR)
    small = run({("cudnn", "conv"): 60, ("aten", "layout"): 40}, "y/b.tracelens", group="profiled")
    (first, _, of_large), (second, of_small, _) = analyse.across([large, small])
    # Of the large one's time the layout's 10 % is shared, of the small one's 40 %.
    assert (first, of_large, second, of_small) == ("Net", "10.0", "Net 64²", "40.0")
    with pytest.raises(PageError, match="key 'Net'"):
        analyse.across([large, run(MOSTLY_LINEAR, "z/c.tracelens")])


def test_numbers_that_other_code_found_are_on_the_page() -> None:
    text = (ROOT / "docs/cross_layer.md").read_text()
    assert "ResNet-50 38.8 %" in text
    assert "AlexNet 78.1 %" in text
    reuse = (ROOT / "docs/cross_layer/reuse.csv").read_text()
    assert "ResNet-50 64²,PyTorch eager,torch.compile,7.4,29.1," in reuse
    across = (ROOT / "docs/cross_layer/across.csv").read_text()
    assert "\nResNet-50,82.9,33.0," in across
    n_captures = "38 captures"
    assert n_captures in text
    assert f"For {n_captures}" in " ".join((ROOT / "docs/guide.md").read_text().split())


@pytest.mark.slow
def test_every_capture_of_models_is_listed() -> None:
    listed = {made.place for made in read(SAMPLES)}
    folders = {"study": "nsys_????*", "thesis": "*_[ce]*", "cross_layer": "*_[it]*"}
    found = [
        path
        for folder, name in folders.items()
        for path in (SAMPLES / folder / "captures").glob(f"{name}.tracelens")
    ]
    others = ("_b16_", "_b32_", "timings")
    wanted = [path for path in found if not any(part in path.name for part in others)]
    assert len(wanted) == 5 + 12 + 8
    assert {str(path.relative_to(SAMPLES)) for path in wanted} <= listed
