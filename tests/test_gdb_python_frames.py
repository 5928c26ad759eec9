"""Python's frames among native ones: recorded stacks of several interpreters and compilers.

data/python_frames/NAME.json is one stop of net.py there, at the stand-in library: the native frames
as gdb listed them, [library, function], and the Python frames as py-spy told them, [function, file,
line, is_entry, is_shim_entry].
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tracelens.collectors.gdb.python_frames import (
    Placing,
    PythonFrame,
    find_loops,
    merge,
    place,
    read_threads,
)
from tracelens.derive.stacks.frame_names import PrintedFrame
from tracelens.derive.stacks.stack_tables import StackFrame, Stop, stack_tables

LOOP = "_PyEval_EvalFrameDefault"
DATA = Path(__file__).parent / "data" / "python_frames"
RECORDED = sorted(path.stem for path in DATA.glob("*.json"))
NAMED = [name for name in RECORDED if name != "3.14-stripped"]

# What calls what in net.py; py-spy tells the class of a method from Python 3.11 on.
CHAIN = [
    "leaf",
    "Plain.__init__",
    "key",
    "Sorting.__init__",
    "Meta.__call__",
    "inner",
    "outer",
    "Module.forward",
    "Module._call_impl",
    "Module.__call__",
    "step",
    "<lambda>",
    "<module>",
]

# The C function that stands between a function and the one inside it, by what net.py does.
BETWEEN = {
    ("key", "Sorting.__init__"): "list_sort",
    ("Sorting.__init__", "Meta.__call__"): "slot_tp_init",
    ("Meta.__call__", "inner"): "slot_tp_call",
    ("step", "<lambda>"): "partial_vectorcall",
    ("<lambda>", "<module>"): "map_next",
}


def recorded(name: str) -> tuple[list[StackFrame], list[PythonFrame]]:
    stop = json.loads((DATA / f"{name}.json").read_text())
    natives = [
        StackFrame(level, hex(level), PrintedFrame(function, library))
        for level, (library, function) in enumerate(stop["native"])
    ]
    fields = ("name", "filename", "line", "is_entry", "is_shim_entry")
    frames: list[dict[str, Any]] = [
        dict(zip(fields, frame, strict=True)) for frame in stop["python"]
    ]
    return natives, read_threads([{"os_thread_id": 7, "frames": frames}])[7]


def names_of(frames: list[StackFrame]) -> list[str]:
    assert [frame.level for frame in frames] == list(range(len(frames)))
    return [frame.printed.raw_function for frame in frames]


@pytest.mark.parametrize("name", NAMED)
def test_recorded_stacks_are_merged_exactly(name: str) -> None:
    natives, python = recorded(name)
    placing = place(find_loops(natives), python, truncated=False)
    assert placing is not None
    assert placing.is_exact
    frames = merge(natives, placing)
    names = names_of(frames)
    own = [frame.level for frame in frames if frame.is_python]
    chain = CHAIN if name != "3.10" else [function.rpartition(".")[2] for function in CHAIN]
    assert [names[level] for level in own] == chain
    # Python's frames stand in runs, each right inside a loop, and every loop has one.
    assert [i for i, function in enumerate(names) if function == LOOP] == [
        level + 1 for level in own if level + 1 not in own
    ]
    if "stripped" in name:
        return
    for (inside, outside), between in BETWEEN.items():
        at = dict(zip(CHAIN, own, strict=True))
        assert between in names[at[inside] : at[outside]]


@pytest.mark.parametrize("name", NAMED)
def test_frames_of_a_loop_without_a_name_lie_in_their_range(name: str) -> None:
    natives, python = recorded(name)
    placing = place(find_loops(natives), python, truncated=False)
    assert placing is not None
    for level in placing.least:
        hidden = [
            (
                StackFrame(level, frame.address, PrintedFrame("??", frame.printed.library))
                if frame.level == level
                else frame
            )
            for frame in natives
        ]
        found = place(find_loops(hidden), python, truncated=False)
        assert found is not None
        assert [len(group) for group in found.groups] == [len(group) for group in placing.groups]
        for least, is_at, most in zip(found.least, placing.least, found.most, strict=True):
            assert least <= is_at <= most
        if len(find_loops(hidden).unnamed) == 1:
            assert found.is_exact


def test_brackets_of_python_names_are_kept() -> None:
    printed = [
        PrintedFrame("conv<float>(int)"),
        PrintedFrame("make.<locals>.inner"),
        PrintedFrame("<lambda>"),
    ]
    frames = [StackFrame(at, None, text, is_python=at > 0) for at, text in enumerate(printed)]
    assert stack_tables([Stop(frames)], "x")["frames"]["function"].to_list() == [
        "conv",
        "make.<locals>.inner",
        "<lambda>",
    ]


def test_an_interpreter_without_any_names_gives_a_range() -> None:
    natives, python = recorded("3.14-stripped")
    placing = place(find_loops(natives), python, truncated=False)
    assert placing is not None
    assert not placing.is_exact
    # The interpreter's unnamed frames are 6, 7, 8, 10, … 38, 39, 41 to 44. forward runs in the
    # fourth of nine loops: in the fourth of them at the innermost, in the sixth from the outside at
    # the outermost; seven Python frames, the first of CHAIN, stand further in.
    assert placing.calls_above(".forward") == ("Module.forward", 10 + 7, 38 + 7)
    assert placing.calls_above("no_such_function") is None


def native(*names: str) -> list[StackFrame]:
    """Make frames by name. `library!name` is a frame outside of the program."""
    frames = []
    for level, name in enumerate(names):
        library, _, function = name.rpartition("!")
        frames.append(StackFrame(level, hex(level), PrintedFrame(function, library or None)))
    return frames


# A call from f to g is made inside the loop; main was entered anew, from C.
PYTHON = [
    PythonFrame(PrintedFrame("g", None, "a.py", 1), is_entry=False),
    PythonFrame(PrintedFrame("f", None, "a.py", 2), is_entry=True),
    PythonFrame(PrintedFrame("main", None, "a.py", 3), is_entry=True),
]


def placed(*names: str, truncated: bool = False) -> Placing | None:
    return place(find_loops(native(*names)), PYTHON, truncated=truncated)


def merged(*names: str, truncated: bool = False) -> list[str] | None:
    placing = placed(*names, truncated=truncated)
    return names_of(merge(native(*names), placing)) if placing and placing.is_exact else None


@pytest.mark.parametrize("library", ["", "libpython3.12.so.1.0!"], ids=["static", "shared"])
def test_frames_stand_inside_the_loop_that_runs_them(library: str) -> None:
    loop = library + LOOP
    assert merged("libx.so!call", loop, f"{library}builtin_map", loop, f"{library}Py_RunMain") == [
        "call",
        "g",
        "f",
        LOOP,
        "builtin_map",
        "main",
        LOOP,
        "Py_RunMain",
    ]


@pytest.mark.parametrize(
    "mark", [".cold", ".cold.0", ".constprop.0", ".lto_priv.0", ".isra.0", " [clone .cold]"]
)
def test_a_loop_split_by_the_compiler_is_one(mark: str) -> None:
    assert merged(LOOP + mark, LOOP) == ["g", "f", LOOP + mark, "main", LOOP]


def test_a_part_that_the_loop_calls_is_not_another_loop() -> None:
    part = f"{LOOP}.part.0"
    assert merged(part, LOOP, "map_next", LOOP) == ["g", "f", part, LOOP, "map_next", "main", LOOP]


def test_tail_calls_have_the_instruction_inside_the_loop() -> None:
    """CPython 3.14 built with --with-tail-call-interp.

    Python/ceval.c ends in a call of _TAIL_CALL_start_frame.
    """
    handler = "_TAIL_CALL_CALL.llvm.1"
    assert merged(handler, LOOP, "map_next", handler, LOOP) == [
        "g",
        "f",
        handler,
        LOOP,
        "map_next",
        "main",
        handler,
        LOOP,
    ]
    assert merged(handler, "??", "map_next", handler, LOOP) == [
        "g",
        "f",
        handler,
        "??",
        "map_next",
        "main",
        handler,
        LOOP,
    ]


def test_frames_without_a_name_are_loops_where_no_others_can_be() -> None:
    assert merged("libx.so!call", "??", "map_next", LOOP) == [
        "call",
        "g",
        "f",
        "??",
        "map_next",
        "main",
        LOOP,
    ]
    assert merged("libx.so!call", "??", "libx.so!back", "??") == [
        "call",
        "g",
        "f",
        "??",
        "back",
        "main",
        "??",
    ]


def test_one_of_several_frames_without_a_name_is_not_guessed() -> None:
    names = ("libx.so!call", "??", "??", "libx.so!back", "??", "libc.so.6!start")
    assert merged(*names) is None
    placing = placed(*names)
    assert placing is not None
    # f and g run in frame 1 or 2; main in frame 2 or 4, two Python frames further out.
    assert (placing.calls_above("g"), placing.calls_above("main")) == (("g", 1, 2), ("main", 4, 6))


@pytest.mark.parametrize("names", [[LOOP], [LOOP] * 3, ["libx.so!call"], ["libx.so!call", "??"]])
def test_frames_that_do_not_fit_are_not_guessed(names: list[str]) -> None:
    assert placed(*names) is None


def test_of_a_stack_that_was_cut_the_outer_frames_are_left_out() -> None:
    assert merged("libx.so!call", LOOP, truncated=True) == ["call", "g", "f", LOOP]
    assert placed("libx.so!call", "??", LOOP, "??", truncated=True) is None


def test_a_thread_without_python_frames_has_none() -> None:
    assert place(find_loops(native("libx.so!call", "Py_RunMain")), [], truncated=False) == Placing(
        (), (), ()
    )


def test_threads_are_told_apart_by_the_systems_id_or_pthreads() -> None:
    frame = {
        "name": "f",
        "filename": "/home/me/a.py",
        "line": 0,
        "is_entry": False,
        "is_shim_entry": True,
    }
    threads = read_threads(
        [
            {"os_thread_id": 7, "thread_id": 0x7F00, "frames": [frame]},
            {"os_thread_id": None, "thread_id": 0x7F01, "frames": []},
            {"os_thread_id": 9, "thread_id": 0x7F02, "frames": [frame], "error": True},
        ]
    )
    assert threads == {
        7: [PythonFrame(PrintedFrame("f", None, "a.py", None), is_entry=True)],
        0x7F01: [],
    }
