"""Reading gdb's backtraces, from logs as terminals leave them."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.selection import every
from tests.sources import MORE
from tracelens.collectors import gdb
from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples" / "stacks"
PAPER = MORE / "abstraction_paper" / "stack_traces"

SIMPLE = """\
#0  0x00007f01 in cudnnBackendExecute () from /opt/lib/libcudnn.so.9
#1  0x00007f02 in at::native::run_conv_plan(at::Tensor const&) () from /opt/lib/libtorch_cuda.so
#2  0x00007f03 in main (argc=1, argv=0x7ffe) at /home/ann/main.cpp:12
"""


def read(tmp_path: Path, text: str | bytes, name: str = "stacks.txt") -> Capture:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (capture,) = gdb.read(path)
    for table, frame in capture.tables.items():
        TABLES[table].check(frame.select(pl.lit(0, pl.Int32).alias("rank"), pl.all()))
    return capture


def functions(capture: Capture, stack_id: int = 0) -> list[str]:
    return capture.tables["frames"].filter(stack_id=stack_id)["function"].to_list()


def found(capture: Capture) -> dict[str, int]:
    return {code: n for (_, code), n in capture.diagnostics.counts.items()}


def test_a_backtrace(tmp_path: Path) -> None:
    capture = read(tmp_path, SIMPLE)
    assert capture.tables["stacks"].to_dicts() == [
        {
            "stack_id": 0,
            "symbol": "cudnnBackendExecute",
            "hit": 1,
            "process_id": None,
            "thread_id": None,
            "implementation": "stacks",
            "depth": 3,
            "truncated": False,
            "python_frames": "none",
            "build_kind": "release",
        }
    ]
    assert capture.tables["frames"].select(
        "level", "function", "library", "file", "line", "role"
    ).rows() == [
        (0, "cudnnBackendExecute", "libcudnn.so.9", None, None, "library"),
        (1, "at::native::run_conv_plan", "libtorch_cuda.so", None, None, "vendor_glue"),
        (2, "main", None, "main.cpp", 12, "user"),
    ]
    assert capture.tables["frames"]["has_debug_info"].to_list() == [False, False, True]
    assert capture.complete
    assert capture.diagnostics.frame().is_empty()


def test_the_label_is_the_users_where_given(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SIMPLE)
    (capture,) = gdb.read(tmp_path / "a.txt", implementation="LibTorch")
    assert capture.tables["stacks"]["implementation"].to_list() == ["LibTorch"]


def test_argument_values_and_folders_are_not_kept(tmp_path: Path) -> None:
    text = '#0  login (user="ann", key=0x7f "s3cret (x) at /k/y.c:1") at /home/ann/src/login.c:4\n'
    kept = read(tmp_path, text + "#1  0x02 in main () at m.c:1\n").tables
    assert kept["frames"].row(0, named=True)["raw_function"] == "login"
    everything = str([frame.rows() for frame in kept.values()])
    assert not [secret for secret in ("s3cret", "ann", "/", "0x7f") if secret in everything]


WRAPPED = """\
#0  0x00007f01 in cudnnConvolutionForward ()
   from ./libcudnn.so.9
#1  0x00007f02 in net::(anonymous namespace)::glue
    (depth=3,
    text=0x55 "a (3:1")
    at main.cpp:3
#2  net::(anonymous namespace)::forward<int> (
    text=0x55 "a (3:1", depth=3) at main.cpp:4
#3  0x00007f04 in main () at main.cpp:6
"""


@pytest.mark.parametrize(
    "text",
    [
        WRAPPED,
        WRAPPED.replace("\n", "\r\n"),
        WRAPPED.replace("#", "2026-01-05 10:11:12 [rank3]: #"),
        "".join(f"[1,{i}]<stdout>: {line}\n" for i, line in enumerate(WRAPPED.splitlines())),
        WRAPPED.replace(
            "main.cpp:3\n",
            "main.cpp:3\n--Type <RET> for more, q to quit, c to continue without paging--c\n",
        ),
        WRAPPED.replace(
            "(depth=3,\n", "(depth=3,\n---Type <return> to continue, or q <return> to quit---\n"
        ),
        WRAPPED.replace("#2", "--Type <RET> for more, q to quit, c to continue without paging--#2"),
        WRAPPED.replace("main ()", "\x1b[33mmain\x1b[m ()").replace(
            "#0  ", "\x1b[?2004l\r#0  \x1b[34m"
        ),
        "(gdb) " + WRAPPED + "(gdb) quit\n",
        "step (1) of #2\n\n" + WRAPPED + "A debugging session is active.\n",
    ],
    ids=[
        "plain",
        "crlf",
        "prefix",
        "prefix each line",
        "pager",
        "old pager",
        "glued",
        "colour",
        "prompt",
        "prose",
    ],
)
def test_frames_as_terminals_leave_them(tmp_path: Path, text: str) -> None:
    capture = read(tmp_path, text)
    frames = capture.tables["frames"]
    assert functions(capture) == ["cudnnConvolutionForward", "net::glue", "net::forward", "main"]
    assert frames["library"].to_list() == ["libcudnn.so.9", None, None, None]
    assert frames["line"].to_list() == [None, 3, 4, 6]
    assert frames["kind"].to_list() == [
        "native",
        "inline",
        "native",
        "native",
    ]  # 2 has no address: 1 was inlined
    assert frames["raw_function"].to_list()[2] == "net::(anonymous namespace)::forward<int>"
    assert found(capture) == {}


def test_locals_of_bt_full_are_not_frames(tmp_path: Path) -> None:
    text = (
        '#0  f () at a.c:1\n        password = 0x1 "#1  g () at /x:2"\n        at = 3\nNo locals.\n'
    )
    capture = read(tmp_path, text + "#1  0x2 in main () at a.c:9\n")
    assert capture.tables["frames"].select("function", "line").rows() == [("f", 1), ("main", 9)]


def test_each_frame_0_begins_a_stop(tmp_path: Path) -> None:
    header = 'Thread 2 "worker" hit Breakpoint 1.1, cudnnBackendExecute () from libcudnn.so.9\n'
    second = SIMPLE.replace("0x00007f03", "0x00007f99").replace(
        "cudnnBackendExecute", "cudnnConvolutionForward"
    )
    capture = read(tmp_path, f"[Switching to Thread 0x7f (LWP 4711)]\n{header}{SIMPLE}\n{second}")
    assert capture.tables["stacks"].select("symbol", "hit", "thread_id", "depth").rows() == [
        ("cudnnBackendExecute", 1, 4711, 3),
        ("cudnnConvolutionForward", 2, 4711, 3),
    ]


def test_the_second_export_of_a_symbol_is_not_a_second_call(tmp_path: Path) -> None:
    forwarded = SIMPLE.replace("libcudnn.so.9", "libcudnn_graph.so.9").replace(
        "0x00007f01", "0x00007e55"
    )
    capture = read(tmp_path, SIMPLE + forwarded + SIMPLE + forwarded)
    assert capture.tables["stacks"]["hit"].to_list() == [1, 2]
    assert capture.tables["frames"].filter(level=0)["library"].to_list() == ["libcudnn.so.9"] * 2
    assert capture.diagnostics.counts["info", "doubled_stop"] == 2


def test_the_same_call_twice_counts_twice(tmp_path: Path) -> None:
    assert read(tmp_path, SIMPLE + SIMPLE).tables["stacks"].height == 2


@pytest.mark.parametrize(
    ("text", "depth", "code"),
    [
        (SIMPLE + "(More stack frames follow...)\n", 3, "frames_cut"),
        (
            SIMPLE + "Backtrace stopped: previous frame identical to this frame (corrupt stack?)\n",
            3,
            "backtrace_stopped",
        ),
        (
            SIMPLE + "--Type <RET> for more, q to quit, c to continue without paging--q\nQuit\n",
            3,
            "pager_quit",
        ),
        (SIMPLE.replace("#2 ", "#7 "), 8, "missing_frames"),
        (
            SIMPLE.replace("#0 ", "#4 ").replace("#1 ", "#5 ").replace("#2 ", "#6 "),
            7,
            "missing_frames",
        ),
    ],
)
def test_a_cut_stack_says_so(tmp_path: Path, text: str, depth: int, code: str) -> None:
    capture = read(tmp_path, text)
    assert capture.tables["stacks"].select("depth", "truncated").rows() == [(depth, True)]
    assert code in found(capture)
    assert not capture.complete


def test_a_gap_is_counted_frame_by_frame_and_levels_stay_gdbs(tmp_path: Path) -> None:
    capture = read(tmp_path, SIMPLE.replace("#2 ", "#7 "))
    assert capture.tables["frames"]["level"].to_list() == [0, 1, 7]
    assert capture.diagnostics.counts["warning", "missing_frames"] == 5  # 2 to 6


def test_frames_printed_alone_are_not_backtraces(tmp_path: Path) -> None:
    lines = SIMPLE.splitlines(keepends=True)
    capture = read(
        tmp_path, lines[0] + SIMPLE + lines[1] + "12\t  run();\n" + lines[2] + "9\tmain();\n"
    )
    assert functions(capture) == ["cudnnBackendExecute", "at::native::run_conv_plan", "main"]
    assert capture.tables["stacks"].height == 1
    assert capture.diagnostics.counts["info", "single_frame"] == 3


def test_bytes_that_are_not_text_are_counted(tmp_path: Path) -> None:
    capture = read(tmp_path, b"\xff\xfe\n" + SIMPLE.encode())
    assert capture.diagnostics.counts["warning", "undecodable_bytes"] == 2
    assert len(functions(capture)) == 3


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ("at::native::f () at f.cpp:1|c10::g () at g.cpp:2", "debug"),
        ("at::native::f () from libtorch_cpu.so|c10::g () from libtorch_cpu.so", "release"),
        ("at::native::f () from libtorch_cpu.so|c10::g () at g.cpp:2", "mixed"),
        ("at::native::f () at f.cpp:1|_PyEval_EvalFrameDefault () from libpython3.so", "debug"),
        (
            (
                "at::native::f () from libtorch_cpu.so|torch::nn::Conv2dImpl::forward () at"
                " c.h:1|c10::g () at g.cpp:2"
            ),
            "release",
        ),
        ("helper () at h.cpp:1", "unknown"),
    ],
    ids=[
        "debug",
        "release",
        "mixed",
        "interpreter aside",
        "inside the entry only",
        "user code only",
    ],
)
def test_build_kind(tmp_path: Path, middle: str, expected: str) -> None:
    names = [
        "cudnnBackendExecute () from libcudnn.so.9",
        *middle.split("|"),
        "main () at main.cpp:1",
    ]
    text = "".join(f"#{level:<2} 0x{level + 1:x} in {name}\n" for level, name in enumerate(names))
    assert read(tmp_path, text).tables["stacks"]["build_kind"].item() == expected


def test_an_interpreter_without_its_python_frames(tmp_path: Path) -> None:
    capture = read(
        tmp_path,
        SIMPLE.replace("at::native::run_conv_plan(at::Tensor const&)", "_PyEval_EvalFrameDefault"),
    )
    assert capture.tables["stacks"]["python_frames"].item() == "unavailable"


MI = '1^done\n*stopped,reason="breakpoint-hit",thread-id="1"\n3^done,stack=[frame={level="0",func="main"}]\n'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "found none in 1 lines"),
        ("hello\nworld\n", "expected frames such as '#0"),
        ("Breakpoint 1 (cudnnConvolutionForward) pending.\n[Inferior 1 exited]\n", "still pending"),
        (MI, "expected what bt prints, found 1 stops"),
    ],
)
def test_a_file_without_a_frame_is_refused(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(SourceError, match=match):
        read(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing\.txt.*cannot be read"):
        gdb.read(tmp_path / "nothing.txt")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (SIMPLE.encode(), True),
        (b"\xff\xfe[rank0]: #0  0x00007f01 in f () from libf.so\n", True),
        (b"#0  0x00007f01 in \xff", True),
        (b"GNU gdb (Debian 13.1-3) 13.1\n", True),
        (
            (
                b'Thread 1 "python3" hit Breakpoint 1.2, 0x01 in cudnnBackendExecute () from'
                b" libcudnn.so.9\n"
            ),
            True,
        ),
        (MI.encode(), True),
        (b"", False),
        (b'{"traceEvents": [{"name": "#0  0x1 in f ()"}]}', False),
        (b"SQLite format 3\x00#0  0x1 in f ()", False),
        (b"\x1f\x8b\x08\x00", False),
        (b"# A heading\n#1 issue (fixed)\n", False),
        (b"#include <stdio.h>\nint main (void) { return 0; }\n", False),
        (b"==1==ERROR: AddressSanitizer\n    #0 0x4f in f /x/f.c:3:4\n", False),
    ],
)
def test_sniff(head: bytes, expected: bool) -> None:
    assert gdb.sniff(Path("any"), head) is expected


def test_16000_frames_of_recursion(tmp_path: Path) -> None:
    lines = (
        f"#{n:<2} 0x0000555555555131 in fib<std::vector<int> > (n={n}) at /src/fib.cpp:4\n"
        for n in range(16_000)
    )
    capture = read(tmp_path, "".join(lines))
    assert capture.tables["frames"]["level"].to_list() == list(range(16_000))
    assert capture.tables["stacks"]["depth"].item() == 16_000


@pytest.mark.parametrize(
    "unit",
    every(
        3, ["<", "(", "<(", '\\"', "operator<", ".cold", "[clone ", " at ", "--Type <RET>", "#1 "]
    ),
)
def test_a_line_of_300_kilobytes_is_read(tmp_path: Path, unit: str) -> None:
    long = unit * (300_000 // len(unit))
    capture = read(tmp_path, f"#0  0x1 in f {long}\n#1  0x2 in main () at m.c:1\n")
    assert functions(capture)[-1] == "main"


_FRAGMENTS = st.sampled_from(
    (
        "#0  ",
        "#1  ",
        "#9 ",
        "0x7f in ",
        "f",
        "ns::g<int>",
        " (",
        ")",
        "a=1",
        '"',
        "'",
        "\\",
        "\n",
        "\r\n",
        "    ",
        " at x.c:3",
        " from /l/lib.so",
        "??",
        "<signal handler called>",
        "--Type <RET> for more--",
        "3\tsource",
        "Quit",
        "(More stack frames follow...)",
        '^done,stack=[frame={level="0",func="f"}',
        "*stopped,",
        "Thread 1 (LWP 2)",
        "\x00",
        "\ufffd",
        "[",
        "]",
        "}",
    )
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(150),
)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(_FRAGMENTS, max_size=40).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    gdb.sniff(Path("any"), data)
    try:
        capture = read(tmp_path, data)
    except SourceError:
        return
    frames, stacks = capture.tables["frames"], capture.tables["stacks"]
    assert set(frames["stack_id"]) == set(stacks["stack_id"])
    for stack in stacks.iter_rows(named=True):
        levels = frames.filter(stack_id=stack["stack_id"])["level"].to_list()
        assert levels == sorted(set(levels))
        assert stack["depth"] > levels[-1]
        if not stack["truncated"]:
            assert levels == list(range(stack["depth"]))


@pytest.mark.parametrize(
    ("name", "symbol", "depth"),
    [("v7", "cudnnConvolutionForward", 43), ("v8", "cudnnBackendExecute", 44)],
)
def test_samples_of_an_h200(name: str, symbol: str, depth: int) -> None:
    path = SAMPLES / f"h200_torch211_cudnn_{name}.txt"
    assert gdb.sniff(path, path.read_bytes()[: 1 << 16])
    (capture,) = gdb.read(path)
    row = capture.tables["stacks"].row(0, named=True)
    assert (row["symbol"], row["depth"], row["build_kind"], row["python_frames"]) == (
        symbol,
        depth,
        "release",
        "unavailable",
    )
    assert capture.tables["frames"]["level"].to_list() == list(range(depth))
    assert functions(capture)[-1] == "_start"
    assert found(capture) == {"unnamed_frames": 7}  # counted in the file


def test_samples_name_no_one() -> None:
    for path in SAMPLES.iterdir():
        assert not [
            word
            for word in ("/home", "/root", "/Users", "HOME=", "USER=", "TOKEN")
            if word in path.read_text()
        ]


@pytest.mark.skipif(
    not PAPER.is_dir(),
    reason="the abstraction paper's stacks may not be copied here and are not beside",
)
@pytest.mark.parametrize(
    ("name", "depth", "build_kind", "python_frames"),
    [
        ("pytorch", 106, "debug", "unavailable"),
        ("libtorch", 68, "debug", "none"),
        ("torchscript", 25, "release", "none"),
        ("cudnn", 5, "unknown", "none"),
    ],
)
def test_the_papers_stacks(name: str, depth: int, build_kind: str, python_frames: str) -> None:
    (capture,) = gdb.read(PAPER / f"{name}_stacktrace.txt")
    row = capture.tables["stacks"].row(0, named=True)
    assert (row["depth"], row["build_kind"], row["python_frames"]) == (
        depth,
        build_kind,
        python_frames,
    )
    assert capture.tables["frames"]["level"].to_list() == list(range(depth))
    assert not capture.tables["frames"]["raw_function"].str.contains(r"[a-z_]+=").any()


@pytest.mark.skipif(not (shutil.which("gdb") and shutil.which("gcc")), reason="needs gdb and gcc")
def test_a_log_of_the_gdb_that_is_installed(tmp_path: Path) -> None:
    library = "int cudnnConvolutionForward(int n) { return n + 1; }\n"  # a stand-in, not cuDNN
    main = (
        "int cudnnConvolutionForward(int);\n"
        "static int layer(const char *key, int n) { return cudnnConvolutionForward(n) + key[0]; }\n"
        'int main(void) { return layer("s3cret (", 3) == 0; }\n'
    )
    (tmp_path / "lib.c").write_text(library)
    (tmp_path / "main.c").write_text(main)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", "libcudnn.so.9", "lib.c"], cwd=tmp_path, check=True
    )
    subprocess.run(
        ["gcc", "-g", "-O0", "-o", "prog", "main.c", "./libcudnn.so.9"], cwd=tmp_path, check=True
    )
    command = [
        "gdb",
        "-nx",
        "-batch",
        "-ex",
        "break cudnnConvolutionForward",
        "-ex",
        "run",
        "-ex",
        "bt",
        "./prog",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    if b"#0 " not in done.stdout:
        pytest.skip(f"gdb may not trace programs here: {done.stderr[-200:]!r}")
    capture = read(tmp_path, done.stdout)
    assert capture.tables["frames"].select("function", "library", "file", "line").rows() == [
        ("cudnnConvolutionForward", "libcudnn.so.9", None, None),
        ("layer", None, "main.c", 2),
        ("main", None, "main.c", 3),
    ]
