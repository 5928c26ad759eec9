"""Compile the kernels ahead: python -m tests.compile_kernels."""

from __future__ import annotations

import os
import re
from typing import Any

# Before numba is imported: no instruction that some machine lacks.
os.environ |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}

from llvmlite import binding
from numba import njit, types

from tracelens.collectors.torch.fast import kernels
from tracelens.collectors.torch.fast.native import SOURCES as PARSE_SOURCES
from tracelens.fast import ahead

# What is of the compiling machine, or of numba's doors to Python.
_NOT_CARRIED = (r"^@_ZN08NumbaEnv.*\n", r"^(?:attributes #.*|target .*|source_filename .*|; .*)\n", r" #\d+\b")


def compiled(function: Any, name: str) -> str:
    """The text of a kernel and what it calls, under the given name, without numba's doors to Python."""
    dispatcher = njit(types.int64(types.int64), nogil=True, error_model="numpy")(function.py_func)
    (overload,) = dispatcher.overloads.values()
    module = binding.parse_assembly(overload.library.get_llvm_str())
    main = overload.fndesc.llvm_func_name
    for found in module.functions:
        if not found.is_declaration and found.name != main:
            found.linkage = "internal"
    machine = binding.Target.from_default_triple().create_target_machine()
    manager = binding.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_strip_dead_prototype_pass()
    manager.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))
    text = str(module)
    for pattern in _NOT_CARRIED:
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    names = re.findall(r'^define [^@]*@("?)(.*?)\1\(', text, flags=re.MULTILINE)
    for number, (_, long) in enumerate(names):
        short = name if long == main else f"f{number}"
        text = text.replace(f'@"{long}"', f"@{short}").replace(f"@{long}(", f"@{short}(")
    return text


def main() -> None:
    """Write the texts beside their sources."""
    for function, name, sources in ((kernels.parse, "parse", PARSE_SOURCES),):
        text = compiled(function, name)
        ahead.text_of(sources[0]).write_text(f"; {ahead.digest(sources)}\n{text}", encoding="ascii")


if __name__ == "__main__":
    main()
