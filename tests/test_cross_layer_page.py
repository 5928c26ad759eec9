"""The cross-layer page: its rules on hand-made captures, and the page of the samples."""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
MODULES = ("analyse", "gains", "page", "review", "runs", "shared", "spread")

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of the page, whose files stand beside each other as scripts do."""
    monkeypatch.syspath_prepend(str(SAMPLES / "study"))
    monkeypatch.syspath_prepend(str(SAMPLES / "cross_layer"))
    for name in MODULES:
        sys.modules.pop(name, None)
    return importlib.import_module


def run(
    load: Load, kernels: dict[tuple[str, str], int], place: str = "x/a.tracelens", **more: Any
) -> Any:
    """A capture whose kernels take so long by library and primitive, all named after both, below an op."""
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
    return load("runs").Run(
        place=place, trace=make_trace(spans=[{"kind": "op"}], kernels=rows), **about
    )


MOSTLY_LINEAR = {("cublas", "gemm"): 60, ("aten", "elementwise"): 30, ("aten", "layout"): 10}
LITTLE_LINEAR = {("cublas", "gemm"): 40, ("aten", "elementwise"): 50, ("aten", "layout"): 10}


def test_linear_algebra_takes_most_where_it_does_in_every_capture(load: Load) -> None:
    both = [run(load, MOSTLY_LINEAR), run(load, LITTLE_LINEAR)]
    (finding,) = load("spread").families(both[:1]).findings
    assert finding.holds is True
    (finding,) = load("spread").families(both).findings
    assert finding.holds is False
    assert "take 40.0 to 60.0 % of kernel time" in finding.now
    assert "less than half, beyond the quartiles, in 1 of 2 captures" in finding.now
    assert "with everything elementwise it is 90.0 to 90.0 %" in finding.now
    assert "rows `aten` elementwise 50.0 %; `aten` layout 10.0 % (`x/a.tracelens`)" in finding.why


def test_few_are_as_many_pairs_as_make_up_most_of_the_time(load: Load) -> None:
    assert run(load, MOSTLY_LINEAR).pairs_for(0.8) == 2
    (finding,) = load("spread").few([run(load, MOSTLY_LINEAR)]).findings
    assert finding.holds is True
    # Six that take as long each: five make up 83 %; of eight it takes seven.
    words = ("gemm", "conv", "layout", "memory", "loss", "softmax", "pooling", "rng")
    assert (
        load("spread")
        .few([run(load, {("aten", word): 10 for word in words[:6]})])
        .findings[0]
        .holds
        is True
    )
    assert (
        load("spread").few([run(load, {("aten", word): 10 for word in words})]).findings[0].holds
        is False
    )


def test_what_if_is_in_part_where_no_one_operation_gains_most_everywhere(load: Load) -> None:
    other = {("cudnn", "conv"): 90, ("aten", "layout"): 10}
    (finding,) = load("gains").what_if([run(load, MOSTLY_LINEAR)]).findings
    assert finding.holds is True
    section = load("gains").what_if([run(load, MOSTLY_LINEAR), run(load, other)])
    assert section.findings[0].holds is None
    # 60 % at twice the speed: 100 / 70; without it 100 / 40; and 90 %: 100 / 55.
    assert "| Net, eager | gemm | 1.429 | 2.500 | 1.429 |" in section.blocks[1]
    assert "1.43 to 1.82 times as fast" in section.findings[0].now


def test_kernels_are_the_same_where_most_of_both_sides_is(load: Load) -> None:
    shared = load("shared")
    level = {"group": "levels", "model": "ResNet-50"}
    eager = run(load, MOSTLY_LINEAR, "study/captures/nsys_eager.tracelens", **level)
    bare = run(
        load,
        {("cublas", "gemm"): 60, ("cudnn", "elementwise"): 40},
        "study/captures/nsys_cudnn.tracelens",
        **level,
    )
    compiled = run(
        load,
        {("triton", "fused"): 70, ("aten", "layout"): 30},
        "study/captures/nsys_compile.tracelens",
        **level,
    )
    plain, generated = shared.shared([eager, bare, compiled]).findings
    assert (plain.holds, generated.holds) == (True, False)
    assert "60.0 to 60.0 %" in plain.now
    assert generated.now.startswith(
        "30.0 % of its kernel time is in kernels that eager runs too, and 10.0 % of eager's"
    )
    assert "`triton` fused 70.0 %" in generated.why
    one_sided = [shared.Reuse(0.9, None, 1.0), shared.Reuse(0.6, (0.4, 0.7), 1.0)]
    assert shared._is_most(*one_sided) is None
    assert shared._is_most(shared.Reuse(0.4, (0.3, 0.6), 1.0)) is None


def test_the_answer_comes_first_with_three_claims() -> None:
    text = (ROOT / "docs/cross_layer.md").read_text()
    answer = text[: text.index("Hamid Tabani")]
    assert [line[:2] for line in answer.splitlines() if line[:1].isdigit()] == ["1.", "2.", "3."]
    assert re.findall(r"- (.+?): (\*\*no\*\*|yes|in part)\.", answer) == [
        ("Linear algebra operations", "**no**"),
        ("Few operations", "yes"),
        ("Among PyTorch eager, LibTorch, TorchScript and a program on cuDNN", "yes"),
        ("With torch.compile", "**no**"),
        ("One operation for all", "in part"),
    ]
    # Found by other code than ours, of the same captures.
    assert "38.8 % of eager ResNet-50" in answer
    assert "78.1 % of AlexNet" in answer
    assert "88.3 (88.3 to 88.3) and 90.7" in answer
    assert (
        "29.1 (29.0 to 29.1) % of its kernel time is in kernels that eager runs too, and 7.4"
        in answer
    )
    assert not re.search(r"\b(nan|None|inf)\b", text)
    assert "What was not measured" in text
    n_captures = len(re.findall(r"` \|$", text, re.MULTILINE))
    assert f"in 12 of {n_captures} captures" in answer
    assert f"makes of {n_captures} captures" in " ".join(
        (ROOT / "docs/guide.md").read_text().split()
    )


@pytest.mark.slow
def test_the_page_is_that_of_the_captures(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "cross_layer.md"
    monkeypatch.setattr(sys, "argv", ["analyse.py", "--page", str(page)])
    load("analyse").main()
    assert page.read_text() == (ROOT / "docs/cross_layer.md").read_text()
    charts = re.findall(r"\]\((cross_layer/\w+\.svg)\)", page.read_text())
    assert sorted(charts) == sorted(
        f"cross_layer/{file.name}" for file in (ROOT / "docs/cross_layer").iterdir()
    )
    assert all((tmp_path / chart).read_text().startswith("<svg") for chart in charts)


def test_every_capture_of_models_is_on_the_page() -> None:
    text = (ROOT / "docs/cross_layer.md").read_text()
    folders = {"study": "nsys_????*", "thesis": "*_[ce]*", "cross_layer": "*"}
    found = [
        path
        for folder, name in folders.items()
        for path in (SAMPLES / folder / "captures").glob(f"{name}.tracelens")
    ]
    wanted = [path for path in found if "_b16_" not in path.name and "timings" not in path.name]
    assert len(wanted) == 5 + 12 + 8
    assert [path.name for path in wanted if f"/{path.name}`" not in text] == []
