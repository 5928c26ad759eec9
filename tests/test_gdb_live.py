"""Taking stacks from a program under gdb: their frames, and which calls are taken."""

import importlib.util
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.stand_in import FORWARDER, MAIN, NEEDS_GDB, compile_c, library, program
from tracelens.collectors import gdb
from tracelens.collectors.gdb import stops, targets
from tracelens.collectors.gdb.breakpoints import PRESETS
from tracelens.collectors.gdb.live import Limits, LiveStacks
from tracelens.schemas import TABLES

pytestmark = NEEDS_GDB

SYMBOL = "cudnnConvolutionForward"
NEEDS_PY_SPY = pytest.mark.skipif(targets.find_py_spy() is None, reason="needs py-spy")


def run(*command: str | Path, breaks: tuple[str, ...] = (SYMBOL,), **limits: object) -> LiveStacks:
    found: LiveStacks = gdb.run([str(word) for word in command], breaks, limits=Limits(**limits))  # type: ignore[arg-type]
    for table, frame in found.captures[0].tables.items():
        TABLES[table].check(frame.select(pl.lit(0, pl.Int32).alias("rank"), pl.all()))
    return found


def functions(found: LiveStacks, stack_id: int = 0) -> list[str]:
    return found.captures[0].tables["frames"].filter(stack_id=stack_id)["function"].to_list()


def counted(found: LiveStacks) -> dict[str, int]:
    return {code: n for (_, code), n in found.captures[0].diagnostics.counts.items()}


def test_a_program_with_debug_information(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = run(program(tmp_path, MAIN.replace("KEEP", ""), "-O0", "-g"))
    frames = found.captures[0].tables["frames"].filter(stack_id=0)
    names = [SYMBOL, "run_conv", "convolution", "conv2d", "forward", "step", "main"]
    assert frames["function"].to_list() == names
    assert frames["library"].to_list() == ["libstandin.so", *[None] * 6]
    assert frames["has_debug_info"].to_list() == [False, *[True] * 6]
    assert frames["file"].to_list() == [None, *["program.c"] * 6]
    assert frames["line"].to_list()[1:] == [5, 6, 7, 8, 9, 12]
    assert frames["kind"].to_list() == ["native"] * 7
    stacks = found.captures[0].tables["stacks"]
    assert stacks.select(
        "symbol", "hit", "depth", "truncated", "python_frames", "implementation"
    ).rows() == [(SYMBOL, hit, 7, False, "none", "program") for hit in (1, 2, 3)]
    assert (stacks["thread_id"] == stacks["process_id"]).all()
    assert found.exit_code == 0
    assert found.captures[0].complete
    assert found.captures[0].settings["build_kinds"]["libstandin.so"] == "release"
    assert found.captures[0].settings["build_kinds"]["program"] == "debug"
    assert capfd.readouterr().out == "sum 6\n"


def test_tail_calls_of_a_stripped_program_leave_no_frames(tmp_path: Path) -> None:
    found = run(program(tmp_path, MAIN.replace("KEEP", ""), "-O2", "-s"))
    names = functions(found)
    assert names[:2] == [SYMBOL, "??"]
    # The five functions between are gone; main has no name, so gdb goes on to what called it.
    assert any(name.startswith("__libc_start") for name in names[2:4])
    assert counted(found)["unnamed_frames"] >= 3  # main's, once a stop


def test_a_function_that_was_inlined_is_a_frame(tmp_path: Path) -> None:
    text = """
int cudnnConvolutionForward(int);
static inline __attribute__((always_inline)) int glue(int n) { return cudnnConvolutionForward(n) * 3; }
int main(void) { return glue(1) - 6; }
"""
    frames = run(program(tmp_path, text, "-O2", "-g")).captures[0].tables["frames"]
    assert frames.select("function", "kind").rows() == [
        (SYMBOL, "native"),
        ("glue", "inline"),
        ("main", "native"),
    ]


PYTHON = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])

def inner():
    return lib.cudnnConvolutionForward(1)

class Net:
    def forward(self):
        return inner()

print(list(map(lambda net: net.forward(), [Net()])))
"""


def test_python_frames_stand_inside_the_loop_that_runs_them(tmp_path: Path) -> None:
    if targets.find_py_spy() is None:
        pytest.skip("needs py-spy")
    (tmp_path / "net.py").write_text(PYTHON)
    found = run(sys.executable, tmp_path / "net.py", library(tmp_path))
    frames = found.captures[0].tables["frames"]
    python = frames.filter(kind="python")
    # Names are qualified from Python 3.11 on, by newer versions of py-spy.
    unqualified = pl.col("function").str.strip_prefix("Net.")
    assert python.select(unqualified, "file", "line").rows() == [
        ("inner", "net.py", 6),
        ("forward", "net.py", 10),
        ("<lambda>", "net.py", 12),
        ("<module>", "net.py", 12),
    ]
    assert set(python["role"]) == {"python"}
    # Two activations of the loop: map's C code calls the lambda anew. Each has its frames right
    # inside it.
    levels = dict(python.select("function", "level").iter_rows())
    loops = frames.filter(pl.col("function") == "_PyEval_EvalFrameDefault")["level"].to_list()
    assert loops == [levels["<lambda>"] + 1, levels["<module>"] + 1]
    stack = found.captures[0].tables["stacks"].row(0, named=True)
    assert (stack["python_frames"], stack["implementation"]) == ("merged", "net")
    assert stack["depth"] == frames.height
    assert frames["level"].to_list() == list(range(frames.height))
    assert found.captures[0].versions["py-spy"][0].isdigit()


def test_without_py_spy_python_frames_are_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stops, "find_py_spy", lambda: None)
    (tmp_path / "net.py").write_text(PYTHON)
    found = run(sys.executable, tmp_path / "net.py", library(tmp_path))
    assert found.captures[0].tables["stacks"]["python_frames"].to_list() == ["unavailable"]
    assert found.captures[0].tables["frames"].filter(kind="python").is_empty()
    (text,) = found.captures[0].diagnostics.frame().filter(code="python_frames_unavailable")["text"]
    assert "pip install" in text


def test_the_thread_is_the_one_that_stopped(tmp_path: Path) -> None:
    text = """
#include <pthread.h>
int cudnnConvolutionForward(int);
static void *work(void *none) { cudnnConvolutionForward(1); return none; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return cudnnConvolutionForward(2) - 3;
}
"""
    found = run(program(tmp_path, text, "-O0", "-g", "-pthread"))
    first, second = found.captures[0].tables["stacks"].iter_rows(named=True)
    assert first["thread_id"] != first["process_id"]
    assert second["thread_id"] == second["process_id"]
    assert functions(found, 0)[:2] == [SYMBOL, "work"]
    assert functions(found, 1) == [SYMBOL, "main"]


@pytest.mark.parametrize("afterwards", ["", " + 1"], ids=["jumps", "calls"])
def test_a_call_forwarded_between_libraries_counts_once(tmp_path: Path, afterwards: str) -> None:
    inner = library(tmp_path)
    text = FORWARDER.replace("AFTERWARDS", afterwards).replace("STAND_IN", f'"{inner}"')
    outer = compile_c(tmp_path, "libforwarder.so", text, "-shared", "-fPIC", "-O2")
    main = compile_c(
        tmp_path,
        "main",
        MAIN.replace("KEEP", ""),
        "-O0",
        "-g",
        f"-Wl,-rpath,{tmp_path}",
        str(outer),
        "-ldl",
    )
    found = run(main)
    # The first call opens the second library: until then the breakpoint is in one place.
    assert found.captures[0].tables["stacks"]["hit"].to_list() == [1, 2, 3]
    libraries = found.captures[0].tables["frames"].filter(level=0)["library"].to_list()
    assert libraries == ["libforwarder.so"] * 3
    assert counted(found)["doubled_stop"] == 3


def test_calls_are_skipped_and_limited_by_symbol(tmp_path: Path) -> None:
    text = """
int cudnnConvolutionForward(int), cudnnBackendExecute(int);
int one(int n) { return cudnnConvolutionForward(n); }
int two(int n) { return cudnnConvolutionForward(n) + cudnnBackendExecute(n); }
int main(void) { for (int i = 0; i < 6; i++) i % 2 ? one(i) : two(i); return 0; }
"""
    made = program(tmp_path, text, "-O0", "-g")
    both = (SYMBOL, "cudnnBackendExecute")

    def hits(**limits: object) -> list[tuple[object, ...]]:
        return (
            run(made, breaks=both, **limits)
            .captures[0]
            .tables["stacks"]
            .select("symbol", "hit")
            .rows()
        )

    # Calls in order: forward 1 and execute 1 (by two), forward 2 (by one), forward 3 and execute 2,
    # …
    assert hits(skip=2, hits=2) == [(SYMBOL, 3), (SYMBOL, 4), ("cudnnBackendExecute", 3)]
    assert hits(where_frame="one") == [(SYMBOL, 2), (SYMBOL, 4), (SYMBOL, 6)]
    assert hits(where_frame="one", skip=1, hits=1) == [(SYMBOL, 4)]


def test_16000_frames_are_counted_and_a_thousand_listed(tmp_path: Path) -> None:
    text = """
int cudnnConvolutionForward(int);
int descend(int n) { return n ? descend(n - 1) + 1 : cudnnConvolutionForward(n); }
int main(void) { return descend(15997) < 0; }
"""
    found = run(program(tmp_path, text, "-O0", "-g"))
    stack = found.captures[0].tables["stacks"].row(0, named=True)
    # main, descend for 15,997 down to 0, the library's
    assert (stack["depth"], stack["truncated"]) == (16_000, True)
    assert found.captures[0].tables["frames"].height == 1000
    assert counted(found)["frames_cut"] == 1
    assert not found.captures[0].complete


TORCH = """
import torch
conv = torch.nn.Conv2d(3, 8, 3)
x = torch.randn(2, 3, 16, 16)
with torch.no_grad():
    for _ in range(4):
        conv(x)
"""


@pytest.mark.exhaustive  # gdb reads torch's symbols for 9 s; the programs above have such frames
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch, on the CPU")
def test_convolutions_of_torch_on_the_cpu(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TORCH)
    found = run(
        sys.executable,
        tmp_path / "net.py",
        breaks=PRESETS["cpu"],
        where_frame="ideep::convolution_forward::do_compute",
    )
    frames = found.captures[0].tables["frames"].sort("stack_id", "level")
    second = frames.filter(level=2).filter(
        pl.col("function") == "ideep::convolution_forward::do_compute"
    )
    assert second.height == 4  # each convolution computes once, whatever it reorders before
    stack = frames.filter(stack_id=second["stack_id"][0])
    names = stack["function"].to_list()
    assert names[:3] == [
        "dnnl_primitive_execute",
        "dnnl::primitive::execute",
        "ideep::convolution_forward::do_compute",
    ]
    order = [
        "at::_ops::conv2d::call",
        "torch::autograd::THPVariable_conv2d",
        "_PyEval_EvalFrameDefault",
    ]
    assert [names.index(name) for name in order] == sorted(names.index(name) for name in order)
    assert set(found.captures[0].tables["stacks"]["build_kind"]) == {"release"}
    assert found.captures[0].settings["build_kinds"]["libtorch_cpu.so"] == "release"
    if targets.find_py_spy() is not None:
        # As torch.nn.Module calls its forward.
        assert stack.filter(kind="python")["function"].to_list() == [
            "Conv2d._conv_forward",
            "Conv2d.forward",
            "Module._call_impl",
            "Module._wrapped_call_impl",
            "<module>",
        ]
    assert found.exit_code == 0
