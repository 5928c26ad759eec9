"""Compile the levels in C++: `python compiling.py cuda`.

They use the Torch, CUDA and cuDNN that Python has.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from samples.lenet.levels import BUILD, HERE, of_device

COMPILER = ("g++", "-O2", "-g", "-shared", "-fPIC")
CUDA = ("cudart", "cublas", "cublasLt", "cudnn")
TOOLKIT = Path("/usr/local/cuda")


def package(name: str) -> Path | None:
    """Return a package's folder."""
    spec = importlib.util.find_spec(name)
    return (
        Path(next(iter(spec.submodule_search_locations)))
        if spec and spec.submodule_search_locations
        else None
    )


def folders(kind: str) -> list[Path]:
    """List CUDA's `include` or `lib` folders, Python packages before the toolkit."""
    nvidia = package("nvidia")
    of_packages = sorted(nvidia.glob(f"*/{kind}")) if nvidia else []
    toolkit = [TOOLKIT / ("lib64" if kind == "lib" else kind)]
    both = [path for path in of_packages + toolkit if path.is_dir()]
    return both + [path / "cccl" for path in both if kind == "include" and (path / "cccl").is_dir()]


def commands(device: str) -> Iterator[tuple[str, list[str]]]:
    """Return the compiler command of each C++ level for this device."""
    for name, kind in of_device(device).items():
        if not kind.file.endswith(".cpp"):
            continue
        command = [*COMPILER, str(HERE / kind.file), "-o", str(BUILD / f"{name}.so")]
        yield name, command + (_with_torch(device) if name == "libtorch" else _with_cuda(name))


def _with_torch(device: str) -> list[str]:
    root = package("torch")
    if root is None:
        raise SystemExit("libtorch needs PyTorch: pip install torch")
    libraries = [
        "torch",
        "torch_cpu",
        "c10",
        *(["torch_cuda", "c10_cuda"] if device == "cuda" else []),
    ]
    include = [f"-isystem{root / path}" for path in ("include", "include/torch/csrc/api/include")]
    # CUDA's part of torch is found at run time, when it is loaded, so the linker must not leave it
    # out.
    link = f"-Wl,--no-as-needed,--unresolved-symbols=ignore-in-shared-libs,-rpath,{root / 'lib'}"
    return [
        "-std=c++20",
        *include,
        link,
        f"-L{root / 'lib'}",
        *(f"-l{library}" for library in libraries),
    ]


def _with_cuda(name: str) -> list[str]:
    arguments = []
    for library in CUDA:
        files = [
            file for folder in folders("lib") for file in sorted(folder.glob(f"lib{library}.so*"))
        ]
        if not files:
            raise SystemExit(
                f"{name} needs lib{library}.so: pip install nvidia-cudnn-cu13 nvidia-cublas"
            )
        arguments += [str(files[0]), f"-Wl,-rpath,{files[0].parent}"]
    flags = ["-std=c++17", *(f"-isystem{folder}" for folder in folders("include"))]
    return [*flags, *(["-DWITH_GRAPH"] if name == "cudnn_graph" else []), *arguments]


def build(device: str) -> dict[str, str]:
    """Compile all levels side by side.

    Return the end of the compiler's output for each failed level.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    running = {
        name: subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, command in commands(device)
    }
    errors = {name: process.communicate()[1] for name, process in running.items()}
    return {name: errors[name][-2000:] for name, process in running.items() if process.returncode}


if __name__ == "__main__":
    failed = build(sys.argv[1])
    print("\n".join(f"{name}: {text}" for name, text in failed.items()))
    raise SystemExit(bool(failed))
