"""Lines of Python frames: without samples, those of definitions are said to be so."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tests.never_compiled import NEVER_COMPILED
from tests.programs import span
from tracelens.answers.words import frame_text
from tracelens.derive.time.frame_lines import frames_entered_earlier, mark_lines

SCRIPT = """import sys, time, torch
def load():
    time.sleep(0.02)
def train():
    weights = torch.ones(64, 64)
    with torch.profiler.profile(with_stack=True) as prof:
        for _ in range(3):
            weights @ weights
            load()
            prof.step()
    prof.export_chrome_trace(sys.argv[1])
train()
"""


def test_frames_that_were_open_when_recording_began() -> None:
    """Thread 0 is in main > train; thread 1 begins later, so its frames were all called."""
    spans = pl.DataFrame(
        [
            span("python", "/code/train.py(90): <module>", 0, 9_000),
            span("python", "/code/train.py(70): train", 2, 8_999),
            span("python", "/code/load.py(3): load", 100, 200),
            span("python", "/code/load.py(9): decode", 300, 400),
            span("python", "/code/work.py(5): run", 5_000, 6_000, thread_id=1),
            span("op", "aten::mm", 1, 9_000),
        ],
        schema_overrides={"thread_id": pl.Int64},
    ).with_columns(pl.col("thread_id").fill_null(0), process_id=0)
    # load may have been open, too: nothing tells, so it has no line either.
    assert frames_entered_earlier(spans) == {
        "train.py(90): <module>",
        "train.py(70): train",
        "load.py(3): load",
    }


@pytest.mark.parametrize(
    ("place", "marked", "said"),
    [
        ("train.py(90): <module>", "train.py: <module>", "train.py <module>"),
        ("load.py(9): decode", "load.py(defined at 9): decode", "decode (defined at load.py:9)"),
        (
            "cuda/__init__.py(8): sync",
            "cuda/__init__.py(defined at 8): sync",
            "sync (defined at cuda/__init__.py:8)",
        ),
        ("aten::mm", "aten::mm", "aten::mm"),
        ("between a and b", "between a and b", "between a and b"),
        (
            "Call CompiledFxGraph fk4ccwjxrxdvj6qppsdjk4yr",
            "Call CompiledFxGraph fk4ccwjxrxdvj6qppsdjk4yr",
            "Call CompiledFxGraph fk4ccw…",
        ),
        (
            "load.py(defined at 9): decode",
            "load.py(defined at 9): decode",
            "decode (defined at load.py:9)",
        ),
    ],
)
def test_a_line_is_left_out_or_called_the_definition(place: str, marked: str, said: str) -> None:
    path = f"train.py(90): <module> > {place} > sleep"
    found = mark_lines(pl.Series([place, None, path]), {"train.py(90): <module>"})
    assert found.to_list() == [marked, None, f"train.py: <module> > {marked} > sleep"]
    assert frame_text(marked) == said


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
def test_a_trace_without_samples_names_definitions(tmp_path: Path) -> None:
    """A trace of torch.profiler's own: `load` begins in line 2; `train` had been entered before."""
    script, file = tmp_path / "train.py", tmp_path / "run.json"
    script.write_text(SCRIPT)
    light = f"{NEVER_COMPILED}import runpy\nrunpy.run_path(sys.argv.pop(1), run_name='__main__')"
    command = [sys.executable, "-c", light, str(script), str(file)]
    subprocess.run(command, check=True, capture_output=True)
    places = tl.analyses.idle_gaps(tl.collect(file))["what"].drop_nulls().to_list()
    assert "train.py(defined at 2): load > sleep" in " ".join(places)
    assert not any("train.py(" in place.replace("train.py(defined at 2)", "") for place in places)
