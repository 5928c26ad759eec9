"""What a trace carries and must not be kept: environments, tokens, host and user names, paths."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.torch_files import rows, span, write
from tracelens.collectors import collect
from tracelens.collectors.torch.document import read_facts
from tracelens.schemas import TABLES
from tracelens.trace.capture import Diagnostics

TOKEN = "thisIsATokenThatNobodyMayKeep"  # noqa: S105
ENVIRONMENT = {
    "env": {"GITHUB_TOKEN": TOKEN, "HOME": "/home/alice.secret", "USER": "alice.secret"},
    "environ": json.dumps({"GITHUB_TOKEN": TOKEN, "traceEvents": [{"ph": "X", "name": TOKEN}]}),
    "argv": [{"name": TOKEN, "cat": TOKEN}, {"id": TOKEN, "pid": TOKEN}],
    "host_name": "alice.secret-laptop",
    "cuda_runtime_version": 12040,
}
PYTHON_CALLS = (
    "/home/alice.secret/my project (v2)/train.py(10): main",
    (
        "/home/alice.secret/.venv/lib/python3.12/site-packages/torch/nn/modules/module.py(1783):"
        " _call_impl"
    ),
    r"C:\Users\alice.secret\work\train.py(3): step",
    "<built-in method run of alice object at 0x7fb2c14fb510>",
    "<module 'x' from '/home/alice.secret/x.py'>",
    "//home//alice.secret//deep/x.py(1): <lambda>",
    "torch/nn/functional.py(20): relu",
    "/home/alice.secret/.pyenv/versions/3.12/lib/python3.12/json/encoder.py(3): encode",
    r"C:\Users\alice.secret\Python312\Lib\json\encoder.py(3): encode",
)


def test_around_the_events_only_known_keys_are_read() -> None:
    head = json.dumps({"schemaVersion": 1, **ENVIRONMENT})[:-1].encode() + b', "traceEvents": '
    known = (
        "cuda_runtime_version",
        "host_name",
    )  # the latter to tell hosts apart; it is never written, see below
    expected = {"schemaVersion": 1, **{name: ENVIRONMENT[name] for name in known}}
    assert read_facts(head, b"}", Diagnostics()) == expected


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_metadata_and_paths_are_not_kept(tmp_path: Path, last: bool, damaged: bool) -> None:
    events = [span(name, 1 + i, 1, cat="python_function") for i, name in enumerate(PYTHON_CALLS)]
    events[0]["args"] = {"Call stack": f"/home/alice.secret/x.py(1): f {TOKEN}"}
    content = json.dumps(
        {"traceEvents": events, **ENVIRONMENT} if last else {**ENVIRONMENT, "traceEvents": events}
    )
    if damaged:
        content = content.replace('"ts": 3', '"x": nan, "ts": 3').replace('"USER"', 'nan: "USER"')
    path = write(tmp_path / "t.json", content)
    trace = collect(path).write(tmp_path / "t.tracelens")
    assert rows(trace, "spans", "name") == [
        ("train.py(10): main",),
        ("torch/nn/modules/module.py(1783): _call_impl",),
        ("train.py(3): step",),
        ("<built-in method run of alice object>",),
        ("<module 'x' from 'x.py'>",),
        ("x.py(1): <lambda>",),
        ("torch/nn/functional.py(20): relu",),
        ("json/encoder.py(3): encode",),
        (r"json\encoder.py(3): encode",),
    ]
    assert trace.manifest.sources[0]["versions"] == {"cuda_runtime_version": "12040"}
    written = (tmp_path / "t.tracelens" / "manifest.json").read_text()
    for name in TABLES:
        written += trace.scan(name).select(pl.selectors.string()).collect().write_csv()
    assert "train.py(10)" in written
    for secret in (TOKEN, "alice.secret", "/home", "Users"):
        assert secret not in written
