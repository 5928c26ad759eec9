"""One rank against one other rank: they are paired, and that is said.

Of several ranks each is paired with its own number.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import compare_copies, compare_layers, layer_oracle
from tracelens.cli.app import main
from tracelens.report import build_report
from tracelens.trace import Trace

SAID = "Rank 0 of base is compared with rank 1 of other, the only one of each."


def run(rank: int, scale: int) -> Trace:
    """A layer's kernel and a copy of one rank."""
    shape = {"grid_x": 4, "grid_y": 1, "grid_z": 1, "block_x": 32, "block_y": 1, "block_z": 1}
    return make_trace(
        layers=[{"rank": rank, "module_path": "fc", "class_name": "Linear"}],
        spans=[{"rank": rank, "module_path": "fc", "phase": "forward"}],
        kernels=[
            {
                "rank": rank,
                "span_id": 0,
                "name": "k",
                "duration_ns": 10 * scale,
                "primitive": "gemm",
                **shape,
            }
        ],
        memcpys=[{"rank": rank, "direction": "h2d", "size_bytes": 8, "duration_ns": 4 * scale}],
    )


@pytest.mark.parametrize(
    ("compare", "column"),
    [(compare_copies, "speedup"), (compare_layers, "speedup"), (layer_oracle, "base_ns")],
)
def test_the_only_ranks_of_both_are_paired(
    compare: Callable[..., pl.DataFrame], column: str
) -> None:
    found = compare(run(0, 2), run(1, 1))
    assert found["rank"].unique().to_list() == [1]
    assert found[column].drop_nulls().to_list()
    if column == "speedup":
        assert found[column].drop_nulls().unique().to_list() == [2.0]


def test_the_report_says_which_ranks_it_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = run(0, 2), run(1, 1)
    pairs = {section.analysis.name: section for section in build_report(other, base).sections}
    for name in ("compare_copies", "compare_layers", "layer_oracle"):
        assert pairs[name].notes[0] == SAID, name
    again = [
        trace.write(tmp_path / f"{at}.tracelens").path for at, trace in enumerate((base, other))
    ]
    with pytest.raises(SystemExit) as ended:
        main(["report", str(again[1]), "--against", str(again[0]), "--section", "compare_copies"])
    assert ended.value.code == 0
    assert SAID in " ".join(capsys.readouterr().out.split())


def test_ranks_of_one_number_need_no_word() -> None:
    (section,) = build_report(run(1, 1), run(1, 2), ["compare_copies"]).sections
    assert not any("only one of each" in note for note in section.notes)


def test_with_more_ranks_each_goes_with_its_like() -> None:
    rows: list[dict[str, Any]] = [
        {"rank": rank, "direction": "h2d", "duration_ns": 4} for rank in (0, 1)
    ]
    found = compare_copies(run(2, 1), make_trace(memcpys=rows))
    assert found.select("rank", "n_calls_base", "n_calls_other").rows() == [
        (0, 0, 1),
        (1, 0, 1),
        (2, 1, 0),
    ]
