"""The fast path of the torch reader gives, cell by cell, what the slow path gives, and stays inside its buffers."""

import gzip
import json
import os
import subprocess
import sys
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the fast path needs numpy")

from tests.conftest import examples
from tests.fast_and_slow import changed, plain, same_of_bytes, same_of_file, traces
from tests.torch_files import CAPTURES
from tracelens.capture import Diagnostics
from tracelens.collectors.torch.events import Args
from tracelens.collectors.torch.fast import fields, native
from tracelens.collectors.torch.fast.reader import read_fast
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.fast import MODE, ahead

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "samples" / "torch").glob("*.json.gz")) + sorted(CAPTURES.glob("**/*.json.gz"))
SMALL = gzip.decompress((ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz").read_bytes())
EXAMPLES = int(os.environ.get("TRACELENS_EXAMPLES", "0"))
"""How many examples to look for, the same each time unless they are a thousand; 150 or 75 where nothing is said."""
settings.register_profile("fast", deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES < 1000)

pytestmark = [
    pytest.mark.skipif(native.parser() is None, reason="numba is not installed, so there is no fast path"),
]
whole_only = pytest.mark.skipif(MODE == "checked", reason="takes hours with every access checked")


# --- real traces ---


@whole_only
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.parent.name + "-" + p.name.split(".")[0])
def test_every_cell_of_real_traces(path: Path) -> None:
    same_of_file(path)
    content = gzip.decompress(path.read_bytes())
    same_of_bytes(content, 100_003, block_bytes=1 << 18)
    same_of_bytes(content, 1 << 20, n_workers=1)


@whole_only
@pytest.mark.parametrize("block_bytes", [1, 1000, 5000, 70_000])
def test_blocks_may_end_anywhere(block_bytes: int) -> None:
    same_of_bytes(SMALL[:250_000], 997, block_bytes=block_bytes)


@whole_only
@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"separators": (",", ":")}])
def test_other_layouts(layout: dict[str, Any]) -> None:
    same_of_bytes(json.dumps(json.loads(SMALL), **layout).encode(), 50_000, block_bytes=100_000)


def number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def as_ns(value: Any) -> int | None:
    return int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN)) if number(value) else None


@whole_only
@pytest.mark.parametrize("path", FILES[:1] + FILES[5::3], ids=lambda p: p.name.split(".")[0])
def test_against_the_standard_library(path: Path) -> None:
    found = read_fast(Text(ByteSource(path, said := Diagnostics()).blocks(1 << 20)), said)
    assert found is not None
    listed = json.loads(gzip.decompress(path.read_bytes()), strict=False, parse_float=Decimal)["traceEvents"]
    assert found.n_events == len(listed)
    for name, table in fields.TABLES.items():
        if name == "unplaced":
            continue
        events = [e for e in listed if fields.table_of(e.get("ph"), e.get("cat"), e.get("name")) == name]
        events = [
            e for e in events if number(e.get("ts")) and (number(e.get("dur")) or name in {"allocations", "counters"})
        ]
        frame = plain(found.frames[name]) if name in found.frames else None
        assert (0 if frame is None else frame.height) == len(events)
        for column in table:
            if frame is not None and column.name in frame.columns:
                assert frame[column.name].to_list() == [expected(e, column) for e in events], (name, column.name)


def expected(event: dict[str, Any], column: fields.Column) -> Any:  # noqa: PLR0911 - one for each sort of column
    """The cell as plain JSON says it."""
    args = event.get("args") or {}
    values = [event.get(key) if key in fields.EVENT_KEYS else args.get(key) for key in (column.key, column.second)]
    if column.how == fields.UNLESS_ZERO:
        return None if values[1] == 0 else values[0]
    value = values[1] if values[0] is None or (values[0] == "" and values[1]) else values[0]
    if column.name.startswith(("grid_", "block_")) and column.key in {"grid", "block"}:
        return value[column.axis] if value else None
    if column.how == fields.SHAPE:
        return None if value is None else json.dumps(value, default=str, ensure_ascii=False)
    if column.key in {"ts", "dur"}:
        return as_ns(value)
    if column.name in fields.FLOATS:
        return None if value is None else float(value)
    if isinstance(value, str) and column.how == fields.TAKE:
        return int("".join(c for c in value if c.isdigit()) or -1) if any(c.isdigit() for c in value) else None
    return ("" if column.how == fields.NAME else None) if value is None else value


# --- damage ---


@settings(settings.get_profile("fast"), max_examples=EXAMPLES or examples(150))
@given(traces(), st.integers(1, 400), st.sampled_from([1, 100, 1 << 16]))
def test_odd_values_and_damage(content: bytes, piece_bytes: int, block_bytes: int) -> None:
    same_of_bytes(content, piece_bytes, block_bytes=block_bytes, n_workers=1)


@settings(settings.get_profile("fast"), max_examples=EXAMPLES // 3 or examples(50))
@given(st.data())
def test_a_real_trace_changed_here_and_there(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, 200_000))
    size = data.draw(st.integers(1, 3000 if MODE == "checked" else 30_000))
    content = b'{"traceEvents": [' + SMALL[SMALL.index(b'{\n    "ph"', begin) :][:size]
    content = data.draw(st.composite(changed)(content, 6))
    same_of_bytes(content, data.draw(st.integers(200, 9000)), block_bytes=4000, n_workers=1)


@whole_only
@settings(settings.get_profile("fast"), max_examples=examples(30))
@given(st.integers(1, 60_000), st.integers(0, 255), st.booleans())
def test_gzip_cut_or_damaged(tmp_path_factory: pytest.TempPathFactory, at: int, value: int, is_cut: bool) -> None:
    content = bytearray((ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz").read_bytes())
    at %= len(content)
    content[at] = value
    path = tmp_path_factory.getbasetemp() / "t.json.gz"
    path.write_bytes(content[: at + 1] if is_cut else content)
    same_of_file(path, {"block_bytes": 100_000})


@whole_only
def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(b"".join(gzip.compress(SMALL[i : i + 100_000]) for i in range(0, len(SMALL), 100_000)) + b"\0\0")
    same_of_file(path)


@whole_only
def test_the_traces_that_other_tests_write() -> None:
    """Each trace read in the tests of formats, damage and times is read by the fast path too, and compared."""
    names = [f"tests/test_torch_{name}.py" for name in ("formats", "devices", "damage", "times", "private", "refused")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fast_beside_slow", "-p", "no:cacheprovider", *names]
    skipped = "not linear and not any_bytes and not here_and_there and not standard_input"
    done = subprocess.run([*command, "-k", skipped], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_many_refused_events_among_others() -> None:
    """Rows that the slow path reads stand where the file has them."""
    listed = [
        json.dumps({
            "ph": "X", "cat": ("cpu_op", "kernel", "cuda_runtime")[i % 3], "name": f"\u00e9{i}" if i % 7 else i,
            "pid": i % 2 or "Spans", "tid": f"stream {i % 5}" if i % 4 else 3.0, "ts": i if i % 11 else None,
            "dur": i % 13,
            "args": {"External id": str(i), "correlation": float(i)} if i % 3 else {},
        })
        for i in range(6000)
    ]  # fmt: skip
    n = 300 if MODE == "checked" else 6000
    content = ('{"traceEvents": [' + ",\n".join(listed[:n]) + "]}").encode()
    same_of_bytes(content, 100_000, block_bytes=200_000)


@whole_only
@pytest.mark.parametrize("event", [b"{}", b'{"ph":"X","cat":"cpu_op","name":1,"ts":1,"dur":1}'])
def test_nothing_but_refused_events(event: bytes) -> None:
    same_of_bytes(b"[" + b",".join([event] * 70_000) + b"]", 1 << 20)


@whole_only
def test_strings_of_all_sizes_and_numbers() -> None:
    """Tables of strings grow in the middle of an event."""
    listed = [
        json.dumps({
            "ph": "X", "cat": "cpu_op", "name": "n" * (i % 300) * (i % 7) + str(i), "pid": f"p{i}", "tid": i, "ts": i,
            "dur": 1, "args": {"Input Dims": [i], "Input type": ["t" * (i * i % 90_000)], "kernel_backend": str(i)},
        })
        for i in range(3000)
    ]  # fmt: skip
    same_of_bytes(("[" + ",\n".join(listed) + "]").encode(), 1 << 20)


# --- memory ---


@pytest.mark.skipif(MODE == "checked", reason="this is the checked run")
def test_no_access_outside_the_buffers() -> None:
    """The same kernels in Python, each load and store checked, over odd and damaged traces."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(Path(__file__)),
        "-k",
        "odd or changed or many",
    ]
    environment = os.environ | {"TRACELENS_KERNELS": "checked", "TRACELENS_EXAMPLES": "60"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout


@whole_only
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="guard pages are set with Linux's mprotect")
def test_no_access_behind_a_guard_page() -> None:
    """Machine code over texts that end right before memory nobody may touch: a step too far kills the process."""
    command = [sys.executable, "-m", "tests.fast_guarded"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])


# --- what is shipped ---


def test_the_fast_path_knows_every_key_of_the_slow_one() -> None:
    renamed = {getattr(Args, "__struct_encode_fields__")}  # noqa: B009 - not in msgspec's types
    assert set(*renamed) == set(fields.ARG_KEYS)


def test_kernels_are_compiled_ahead_from_the_present_source() -> None:
    for sources in (native.SOURCES,):
        first = ahead.text_of(sources[0]).read_text().split("\n", 1)[0]
        assert first == f"; {ahead.digest(sources)}", "run: python -m tests.compile_kernels"


@whole_only
@pytest.mark.parametrize("mode", ["", "numba", "off"])
def test_which_path_ran_is_said(tmp_path: Path, mode: str) -> None:
    program = (
        "import sys; from pathlib import Path; from tracelens.capture import Diagnostics\n"
        "from tracelens.collectors.torch.stream import ByteSource\n"
        "from tracelens.collectors.torch.fast.reader import read_fast\n"
        "from tracelens.collectors.torch.text import Text\n"
        "d = Diagnostics(); r = read_fast(Text(ByteSource(Path(sys.argv[1]), d).blocks(1 << 20)), d)\n"
        "print(r and r.path)\n"
    )
    path = str(ROOT / "samples" / "torch" / "alexnet_eager.pt.trace.json.gz")
    environment = os.environ | {"TRACELENS_KERNELS": mode, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", program, path], capture_output=True, text=True, check=True, env=environment
        )
        for _ in range(2 if mode == "numba" else 1)
    ]
    words = {"": ["numba (compiled ahead)"], "numba": ["numba (compiled this run)", "numba"], "off": ["None"]}
    assert [one.stdout.strip() for one in said] == words[mode]


MADE = """
import sys
from pathlib import Path
from tracelens.fast import ahead

def compiled(*_):
    print("compiled")
    return emitted(*_)

emitted, ahead._machine_code = ahead._machine_code, compiled
ahead.prepare("parse", Path(sys.argv[1]))
print(sum(function is not None for function in ahead._FUNCTIONS.values()))
"""


@pytest.mark.skipif(not ahead.text_of(native.SOURCES[0]).exists(), reason="no kernel is compiled ahead")
def test_machine_code_is_made_once_where_it_can_be_kept(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite", reason="kernels need numba")
    source = ROOT / "collectors" / "torch" / "fast" / "kernels.py"

    def made(cache: Path) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", MADE, str(source)], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        )  # fmt: skip
        return done.stdout.split()

    assert [made(tmp_path / "cache") for _ in range(2)] == [["compiled", "1"], ["1"]]
    (kept,) = (tmp_path / "cache" / "tracelens").iterdir()
    assert (kept.suffix, kept.stat().st_mode & 0o077) == (".o", 0)
    (tmp_path / "file").touch()  # no folder can be made in it
    assert [made(tmp_path / "file") for _ in range(2)] == [["compiled", "1"]] * 2
