"""The native library; all else is said in pyproject.toml.

Without a compiler everything works by its Python twin.
"""

import os
import sys
import sysconfig

from setuptools import Extension, setup

# One wheel a platform serves every Python from 3.11 on. Those without the interpreter's lock have
# an ABI of their own.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
SANITIZED = os.environ.get("TRACELENS_SANITIZE", "")  # such as address,undefined: for tests
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else ["-O3", "-std=c11", "-Wall", "-Wextra", "-Werror=implicit"]
)
SANITIZE = (
    [f"-fsanitize={SANITIZED}", "-fno-sanitize-recover=all", "-g", "-O1"] if SANITIZED else []
)

setup(
    ext_modules=[
        Extension(
            "tracelens.native._library",
            [
                f"tracelens/native/{name}.c"
                for name in ("module", "nest", "chains", "json", "kineto", "idle", "replay")
            ],
            depends=["tracelens/native/native.h"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")] if STABLE else [],
            py_limited_api=STABLE,
            extra_compile_args=FLAGS + SANITIZE,
            extra_link_args=SANITIZE[:1],
            optional=not SANITIZED,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
