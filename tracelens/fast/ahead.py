"""Kernels that numba compiled ahead, as LLVM's own text, made into machine code here: a tenth of numba's time.

`python -m tests.compile_kernels` writes the text beside the kernels' source. It is for no machine in particular;
LLVM chooses instructions for the one it runs on; what it makes is kept in the user's cache, where one can be written. A
text that is not of the present source, or that this LLVM cannot
read, is not used: numba then compiles the source itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_SUFFIX = ".ll"
_OLDEST_LLVM = (20,)  # llvmlite 0.44 and before have LLVM 15, which reads another language


def text_of(source: Path) -> Path:
    """Where the text of a kernel's source stands."""
    return source.with_suffix(_SUFFIX)


def digest(sources: Sequence[Path]) -> str:
    """Of what the kernels are made of, whatever the line ends."""
    whole = b"".join(file.read_bytes().replace(b"\r\n", b"\n") for file in sources)
    return hashlib.sha256(whole).hexdigest()


def load(name: str, sources: Sequence[Path]) -> Callable[[int], int] | None:
    """The function `name` of the first source; None where the text is stale, or LLVM is not there or refuses it."""
    read = _read(sources[0])
    if read is None or read[0] != f"; {digest(sources)}":
        return None
    return _made(name, *read)


def prepare(name: str, source: Path) -> None:
    """Make the function meanwhile, in a thread, so that `load` finds it; whether the text is stale is asked there."""
    read = _read(source)
    if read is not None:
        _made(name, *read)


def _read(source: Path) -> tuple[str, str] | None:
    """The digest line of a kernel's text, and the text; None where this machine cannot have one."""
    text = text_of(source)
    if not text.exists() or sys.byteorder != "little" or sys.maxsize < 2**32:
        return None
    first, _, module = text.read_text(encoding="ascii").partition("\n")
    return first, module


def _made(name: str, first: str, module: str) -> Callable[[int], int] | None:
    """The function, made once; a thread that asks while another one makes it waits."""
    with _LOCK:
        if (name, first) not in _FUNCTIONS:
            _FUNCTIONS[name, first] = _function(name, module)
        return _FUNCTIONS[name, first]


def _function(name: str, module: str) -> Callable[[int], int] | None:
    try:
        from llvmlite import binding  # noqa: PLC0415 - comes with numba, which is optional
    except ImportError:
        return None
    if binding.llvm_version_info < _OLDEST_LLVM:
        return None
    try:
        address = _compiled(binding, module, name)
    except (RuntimeError, AttributeError, OSError):
        return None
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    return functools.partial(_call, native)


def _call(native: Any, state: int) -> int:
    """Call as numba does: results through a pointer; kernels raise nothing. The interpreter's lock is released."""
    result, error = ctypes.c_int64(), ctypes.c_void_p()
    native(ctypes.byref(result), ctypes.byref(error), state)
    return result.value


def _compiled(binding: Any, text: str, name: str) -> int:
    """The address of a function of the module."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    processor, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=processor, features=features, opt=2, codemodel="jitdefault"
    )
    made_for = f"{text}\0{processor}\0{features}\0{machine.triple}\0{binding.llvm_version_info}"
    code = _kept(hashlib.sha256(made_for.encode()).hexdigest(), lambda: _machine_code(binding, machine, text))
    module = binding.parse_assembly("")
    module.triple = machine.triple
    engine = binding.create_mcjit_compiler(module, machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    address: int = engine.get_function_address(name)
    return address


def _machine_code(binding: Any, machine: Any, text: str) -> bytes:
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def _kept(key: str, make: Callable[[], bytes]) -> bytes:
    """Machine code as the user's own cache keeps it, else made, and kept where the cache can be written."""
    file = _cache() / f"{key}.o"
    try:
        if file.stat().st_uid == os.getuid():  # code that somebody else put there is not run
            return file.read_bytes()
    except (OSError, AttributeError):
        pass
    code = make()
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as begun:
            begun.write(code)
        Path(begun.name).replace(file)
    return code


def _cache() -> Path:
    """Where numba was told to keep what it compiles, else the user's cache."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    return Path(told or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracelens"


_LOCK = threading.Lock()
_FUNCTIONS: dict[tuple[str, str], Callable[[int], int] | None] = {}
_ENGINES: list[Any] = []  # machine code lives as long as its engine
