"""Build a stand-in for cuDNN, in C: libraries that export its names and compute nothing.

There are also programs that call them. A stack ends in these libraries, as it would in cuDNN; gdb,
its stops and its frames are real.
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

COMPILER = shutil.which("cc")
DEBUGGER = shutil.which("gdb")

NEEDS_GDB = pytest.mark.skipif(
    COMPILER is None or DEBUGGER is None,
    reason="needs a C compiler, for the stand-in library, and gdb",
)

LIBRARY = """
int cudnnConvolutionForward(int n) { return n + 1; }
int cudnnBackendExecute(int n) { return n + 2; }
"""

# Exports the name too, and hands each call on to the library above: as libcudnn.so.9 does to its
# parts.
FORWARDER = """
#include <dlfcn.h>
int cudnnConvolutionForward(int n) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(dlopen(STAND_IN, RTLD_NOW | RTLD_LOCAL), "cudnnConvolutionForward");
    return real(n)AFTERWARDS;
}
"""

# Seven functions deep: main, step, forward, conv2d, convolution, run_conv, and the library's.
MAIN = """
#include <stdio.h>
int cudnnConvolutionForward(int);
#define DEEPER __attribute__((noinline)) int
DEEPER run_conv(int n) { return cudnnConvolutionForward(n)KEEP; }
DEEPER convolution(int n) { return run_conv(n)KEEP; }
DEEPER conv2d(int n) { return convolution(n)KEEP; }
DEEPER forward(int n) { return conv2d(n)KEEP; }
DEEPER step(int n) { return forward(n)KEEP; }
int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += step(i);
    printf("sum %d\\n", sum);
    return 0;
}
"""


def compile_c(folder: Path, name: str, text: str, *options: str) -> Path:
    """Compile a program or library from C source."""
    assert COMPILER is not None
    source, made = folder / f"{name}.c", folder / name
    source.write_text(text)
    libraries = [option for option in options if option.startswith("-l") or option.endswith(".so")]
    others = [option for option in options if option not in libraries]
    subprocess.run([COMPILER, *others, "-o", str(made), str(source), *libraries], check=True)
    return made


def library(folder: Path) -> Path:
    """Write the stand-in library, without debug information."""
    made = folder / "libstandin.so"
    made.write_bytes(_library())
    made.chmod(0o755)
    return made


@cache
def _library() -> bytes:
    with TemporaryDirectory() as folder:
        return compile_c(
            Path(folder), "libstandin.so", LIBRARY, "-shared", "-fPIC", "-O1"
        ).read_bytes()


def program(folder: Path, text: str, *options: str) -> Path:
    """Compile a program that is linked to the stand-in library."""
    made = library(folder)
    return compile_c(folder, "program", text, *options, f"-Wl,-rpath,{folder}", str(made))
