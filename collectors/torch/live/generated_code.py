"""How code that Inductor generated shows its kernels; for what reads the code while it is made, or in a log later."""

import re

DEFINED = re.compile(r"^(\w+) = async_compile\.\w+\(")
"""A kernel is defined; the nodes that it is made from stand above."""
GENERATED = re.compile(r"^\s+(triton_\w+|cpp_fused\w*)(?:\.run)?\(")
"""A generated kernel is called."""
EXTERN = re.compile(r"^\s+(?:\w+ = )?(extern_kernels\.\w+|torch\.ops\.aten\.[\w.]+)\(")
"""A library is called."""
