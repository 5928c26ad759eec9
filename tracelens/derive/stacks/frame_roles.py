"""Classify native frames by the part of the software to which they belong."""

import re
from collections.abc import Sequence

from msgspec import Struct


class RoleRule(Struct, frozen=True):
    """Holds the role of frames that match all given patterns.

    A pattern is a regular expression. It has to match the beginning of the normalised function, or
    of the file's or library's name.
    """

    role: str
    function: str = ""
    library: str | None = None
    file: str | None = None

    def matches(
        self,
        function: str,
        library: str | None,
        file: str | None,
    ) -> bool:
        """Return whether the frame matches all patterns of the rule.

        A library or file of None matches no pattern.
        """
        pairs = (
            (self.function, function),
            (self.library, library),
            (self.file, file),
        )
        return all(
            wanted is None or (text is not None and re.match(wanted, text))
            for wanted, text in pairs
        )


_CPYTHON = (
    r"_?Py[A-Z_]|pymain_|pyrun_|run_mod$|run_eval_code_obj$|call_function$|do_call_core$|function_code_fastcall$"
    r"|cfunction_\w*call|method_vectorcall|object_vacall$|vectorcall_|slot_(tp|nb|sq|mp|am)_|type_call$|wrap_call$"
    r"|wrapper_call$|builtin_\w+$|gen_send_ex|gen_iternext$|partial_(vectorcall|call)"
)
_VENDOR_NAMES = (
    r".*(cudnn|mkldnn|onednn|miopen|cublas|hipblas|xnnpack|AlgoIterator|split_batch_dim|run_conv_plan"
    r"|run_single_conv|try_configs|try_plans)"
)

DEFAULT_RULES: tuple[RoleRule, ...] = (
    RoleRule(
        "library",
        r"cudnn[A-Z]|cuda\w*Launch|cu[A-Z]\w*Launch|cuLaunch|cublas|dnnl|nccl[A-Z]|miopen[A-Z]",
    ),
    RoleRule(
        "runtime", r"_start$|_?_libc_start|start_thread$|__GI_|_?_?clone3?$|<signal handler called>"
    ),
    RoleRule("python", _CPYTHON),
    RoleRule("python", r"main$", file=r"python\.c$"),
    RoleRule("torchscript", r"torch::jit::"),
    RoleRule(
        "binding",
        r"THP|(\w+::)*THP|pybind11::|torch::Python|ffi_call|_?ctypes_|_call_function_pointer$",
    ),
    RoleRule("binding", r"(torch|at)::", file=r"python_\w+\.(cpp|h)$"),
    RoleRule("libtorch_nn", r"torch::(nn|optim|data|detail)::"),
    RoleRule("autograd", r"torch::(autograd|TraceType|ADInplaceOrView)::"),
    RoleRule("vendor_glue", r"ideep::|cudnn_frontend::"),
    RoleRule("vendor_glue", r"at::cuda::(blas|solver|sparse)::"),
    RoleRule("vendor_glue", r"at::native::" + _VENDOR_NAMES),
    RoleRule("vendor_glue", r"at::native::", file=r"Conv(Shared|_v7|_v8)?\.cpp$"),
    RoleRule("dispatcher", r"c10::|at::(?!native::)"),
    RoleRule("aten_native", r"at::native::"),
    RoleRule("stdlib", r"(std|__gnu_cxx|__cxxabiv1)::|operator (new|delete)"),
    # The following rules classify by library or file the functions whose name matches no rule.
    RoleRule(
        "library",
        library=(
            r"lib(cudnn|cublas|cuda|cufft|cusparse|cusolver|nvrtc|nccl|dnnl|mkl|MIOpen|hip|roc)"
        ),
    ),
    RoleRule("runtime", library=r"lib(c|m|pthread|dl|rt)[.-]|ld-linux|libgcc_s"),
    RoleRule("python", library=r"libpython"),
    RoleRule("binding", library=r"libtorch_python|_ctypes|libffi"),
    RoleRule("dispatcher", library=r"libc10"),
    RoleRule("stdlib", library=r"lib(std)?c\+\+"),
    # The remaining functions are unknown if they have no name, or no debug information in a
    # library. All others are the user's.
    RoleRule("unknown", r"\?\?"),
    RoleRule("user", file=r""),
    RoleRule("unknown", library=r""),
    RoleRule("user"),
)
"""Rules on function names, then rules on libraries; the first match wins.

The rules were made from stacks of PyTorch 1.8 and 2.11.
"""


ROLE_WORDS = {
    "library": "library",
    "runtime": "start of the process",
    "python": "Python",
    "torchscript": "TorchScript",
    "binding": "binding",
    "libtorch_nn": "torch::nn in C++",
    "autograd": "autograd",
    "vendor_glue": "glue to the library",
    "dispatcher": "dispatcher",
    "aten_native": "ATen",
    "stdlib": "C++ standard library",
    "user": "the program itself",
    "unknown": "unnamed or unknown",
}
"""The word for each role in answers, tables and pages."""


def frame_role(
    function: str,
    library: str | None = None,
    file: str | None = None,
    rules: Sequence[RoleRule] = DEFAULT_RULES,
) -> str:
    """Return the role of the first rule that matches the normalised function and the file names.

    The role is "unknown" if no rule matches.
    """
    return next(
        (rule.role for rule in rules if rule.matches(function, library, file)),
        "unknown",
    )
