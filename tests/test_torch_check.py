"""`tracelens check` shows every kind of damage of a trace, on both readers alike."""

import json
from pathlib import Path

import pytest

from tests.torch_files import span, write
from tracelens.cli.app import main

GOOD = [json.dumps(span(name, ts, 1)) for name, ts in (("first", 1), ("last", 99))]
# Kinds of damage, each with the code it is counted under.
DAMAGE = {
    "event_repaired": json.dumps(span("inf", 2, 1))[:-1] + ', "args": {"x": inf}}',
    "event_damaged": '{"ph": "X", "name": "lost", "args": {"x": 1}',
    "args_damaged": json.dumps(span("args", 3, 1, args=[1])),
    "event_without_time": json.dumps(span("no time", 4, 1) | {"ts": None}),
    "counter_without_value": json.dumps({"ph": "C", "name": "c", "ts": 5, "args": {"a": "x"}}),
    "size_unknown": json.dumps(span("copy", 6, 1, cat="gpu_memcpy")),
    "event_too_deep": json.dumps(span("deep", 7, 1))[:-1]
    + ', "args": {"x": '
    + "[" * 20_000
    + "]" * 20_000
    + "}}",
    "event_too_long": json.dumps(span("long", 8, 1))[:-1]
    + ', "args": {"x": "'
    + "x" * (17 << 20)
    + '"}}',
    "category_mtia": json.dumps(span("odd", 9, 1, cat="mtia")),
    "device_unknown": json.dumps(span("kernel", 10, 1, cat="kernel", args={"device": 5})),
    "metadata_damaged": "",
    "text_after_trace": "",
}


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.mark.parametrize("fast", [True, False])
def test_each_loss_is_shown_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fast: bool
) -> None:
    if not fast:
        monkeypatch.setattr("tracelens.collectors.torch.reading.read_native", lambda *_: None)
    events = [GOOD[0], *filter(None, DAMAGE.values()), GOOD[1]]
    content = (
        '{"distributedInfo": {bad, "traceEvents": ['
        + ",\n".join(events)
        + '], "traceName": "x"}\ngarbage'
    )
    path, out = write(tmp_path / "t.json", content), str(tmp_path / "t.tracelens")
    assert exit_code("collect", "torch", str(path), "--out", out) == 0
    capsys.readouterr()
    assert exit_code("check", out) == 1
    shown = capsys.readouterr().out
    for code in DAMAGE:
        (line,) = [line.split() for line in shown.splitlines() if f" {code} " in line]
        assert line[3] == "1", line
