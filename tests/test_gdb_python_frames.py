"""Python's frames among the native ones, where the interpreter's loop has a name and where it has none."""

import pytest

from tracelens.collectors.gdb.python_frames import PythonFrame, merge
from tracelens.derive.frame_names import PrintedFrame
from tracelens.derive.stack_tables import StackFrame

LOOP = "_PyEval_EvalFrameDefault"
# A call from f to g is made inside the loop; main was entered anew, from C.
PYTHON = [
    PythonFrame(PrintedFrame("g", None, "a.py", 1), is_entry=False),
    PythonFrame(PrintedFrame("f", None, "a.py", 2), is_entry=True),
    PythonFrame(PrintedFrame("main", None, "a.py", 3), is_entry=True),
]


def native(*names: str) -> list[StackFrame]:
    """Frames by name, `library:name` where they are not the program's own."""
    frames = []
    for level, name in enumerate(names):
        library, _, function = name.rpartition("!")
        frames.append(StackFrame(level, hex(level), PrintedFrame(function, library or None)))
    return frames


def merged(*names: str, truncated: bool = False) -> list[str] | None:
    found = merge(native(*names), PYTHON, truncated=truncated)
    if found is None:
        return None
    assert [frame.level for frame in found] == list(range(len(found)))
    return [frame.printed.raw_function for frame in found]


@pytest.mark.parametrize("library", ["", "libpython3.12.so.1.0!"], ids=["static", "shared"])
def test_frames_stand_inside_the_loop_that_runs_them(library: str) -> None:
    loop = library + LOOP
    assert merged("libx.so!call", loop, f"{library}builtin_map", loop, f"{library}Py_RunMain") == [
        "call", "g", "f", LOOP, "builtin_map", "main", LOOP, "Py_RunMain",
    ]  # fmt: skip


def test_a_loop_that_the_compiler_split_is_one_all_the_same() -> None:
    assert merged(f"{LOOP}.cold", LOOP) == ["g", "f", f"{LOOP}.cold", "main", LOOP]


def test_where_the_loop_has_no_name_each_run_of_the_interpreter_is_one() -> None:
    assert merged("libx.so!call", "??", "??", "libx.so!back", "??", "libc.so.6!start") == [
        "call", "g", "f", "??", "??", "back", "main", "??", "start",
    ]  # fmt: skip


@pytest.mark.parametrize("names", [[LOOP], [LOOP] * 3, ["libx.so!call"], ["libx.so!call", "??"]])
def test_frames_that_do_not_fit_are_not_guessed(names: list[str]) -> None:
    assert merged(*names) is None


def test_of_a_stack_that_was_cut_the_outer_frames_are_left_out() -> None:
    assert merged("libx.so!call", LOOP, truncated=True) == ["call", "g", "f", LOOP]
