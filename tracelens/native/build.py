"""Compile the kernels ahead: python -m tracelens.native.build [--check]."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

# Before numba is imported: no instruction that some machine lacks, and no text left in a cache for this one.
os.environ |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": os.devnull}

from llvmlite import binding

from tracelens.native import ahead

_RENAMED = (
    # LLVM's newer words, which older ones cannot read and code generation does not need.
    (r" (?:captures|range|initializes|nofpclass)\([^()]*(?:\([^()]*\)[^()]*)*\)", ""),
    (r"\b(getelementptr(?: inbounds)?) nuw\b", r"\1"),
    (r"\b(zext|uitofp) nneg\b", r"\1"),
    (r"\btrunc(?: nuw)?(?: nsw)?\b", "trunc"),
    (r"\bor disjoint\b", "or"),
    (r"\bicmp samesign\b", "icmp"),
    (r" dead_on_unwind| writable", ""),
    (r"^(?:attributes #.*|target .*|source_filename .*|; .*)\n", ""),
    (r" #\d+\b", ""),
    (r"<(\d+) x (i\d+)> splat \((i\d+ -?\d+)\)", None),
)


def portable(text: str) -> str:
    """The module in words that LLVM 15 reads too."""
    for pattern, replacement in _RENAMED:
        if replacement is None:
            text = re.sub(
                pattern, lambda m: f"<{m[1]} x {m[2]}> <{', '.join([m[3]] * int(m[1]))}>", text
            )
        else:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def compiled(function: object, name: str) -> str:
    """The text of a kernel and what it calls, under its own name, without numba's door to Python."""
    (overload,) = function.overloads.values()  # type: ignore[attr-defined]
    module = binding.parse_assembly(overload.library.get_llvm_str())
    main = overload.fndesc.llvm_func_name
    for found in module.functions:
        if not found.is_declaration and found.name != main:
            found.linkage = "internal"
    machine = binding.Target.from_default_triple().create_target_machine(cpu="", features="")
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=0))
    manager = binding.create_new_module_pass_manager()
    for add in ("add_global_dead_code_eliminate_pass", "add_dead_code_elimination_pass"):
        if hasattr(manager, add):
            getattr(manager, add)()
    manager.run(module, passes)
    return portable(str(module)).replace(f'@{main}', f"@{name}").replace(f'@"{main}"', f"@{name}")
