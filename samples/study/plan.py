"""List what is captured and measured for the study, each with its command.

Commands run from the repository's root.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LEVELS = {
    "eager": ("python", "samples/study/eager.py"),
    "compile": ("python", "samples/study/compiled.py"),
    "torchscript": ("python", "samples/study/torchscript.py"),
    "libtorch": ("build/study/libtorch",),
    "cudnn": ("build/study/cudnn",),
}
"""Command that starts each level."""

BUILD = (
    ("cmake", "-S", "samples/study/cpp", "-B", "build/study", "-G", "Ninja"),
    ("cmake", "--build", "build/study"),
)

CPP = ("libtorch", "cudnn")
"""Levels that must be built first, and that torch.profiler cannot record."""

TORCHSCRIPT_CPP = "torchscript_cpp"
"""TorchScript as the paper ran it: the traced model, loaded and called by C++. Only swept."""

OLD_API = {"TORCH_CUDNN_V8_API_DISABLED": "1"}
"""Setting that sends torch's convolutions through cudnnConvolutionForward.

The paper stopped at that function; today torch calls cudnnBackendExecute.
"""

CONVOLUTIONS = 53
"""Convolutions in one forward pass of ResNet-50.

This many hits are the first pass, in which algorithms are chosen.
"""


@dataclass(frozen=True)
class Job:
    """One command; for a capture, also the file that it writes."""

    name: str
    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    timeout_s: int = 150


def capture(
    name: str,
    tool: tuple[str, ...],
    command: tuple[str, ...],
    variables: dict[str, str] | None = None,
) -> Job:
    """Return a command of `tracelens collect`."""
    words = (
        "tracelens",
        "collect",
        *tool,
        "--out",
        f"{{out}}/{name}.tracelens",
        "--force",
        "--",
        *command,
    )
    return Job(name, words, variables or {})


def work(
    level: str, *options: str, batch: int = 32, size: int = 64, iterations: int = 8
) -> tuple[str, ...]:
    """Return a level's program.

    It is ResNet-50 at the paper's batch of 32 and 64×64 unless other values are given.
    """
    shape = ("--batch", str(batch), "--size", str(size), "--iterations", str(iterations))
    return (*LEVELS[level], *shape, *options)


def stacks(gdb: str) -> list[Job]:
    """Take call stacks at the convolution, by cuDNN's older API like the paper, and by today's.

    The first pass is skipped.
    """
    jobs = []
    for level in LEVELS:
        command = work(level, iterations=1, batch=4)
        # A traced model and a compiled one run convolutions before their first pass.
        # TorchScript is stopped where its interpreter runs, not where Python traces.
        where = {"torchscript": ("--where-frame", "InterpreterStateImpl::.*")}.get(level, ())
        tool = (
            "gdb",
            "--gdb",
            gdb,
            "--skip",
            str(CONVOLUTIONS),
            "--hits",
            "1",
            "--timeout",
            "120",
            *where,
        )
        old = (*tool, "--break", "cudnnConvolutionForward")
        jobs.append(
            capture(
                f"stack_{level}_old",
                old,
                command,
                OLD_API if level != "cudnn" else {},
            )
        )
        if level != "cudnn":
            jobs.append(
                capture(f"stack_{level}", (*tool, "--break", "cudnnBackendExecute"), command)
            )
    return jobs


STEPS = ("torch", "--wait", "6", "--warmup", "1", "--active", "3")
"""Steps recorded of a program, after its own five of warm-up."""


def traces() -> list[Job]:
    """Record the three Python levels with torch.profiler, and copies of a batch."""
    jobs = []
    for level in ("eager", "compile", "torchscript"):
        # A scripted model has no modules that Python would call.
        tool = (*STEPS, "--no-modules") if level == "torchscript" else STEPS
        jobs += [
            capture(
                f"{level}_{mode}",
                tool,
                work(level, "--mode", mode),
            )
            for mode in ("infer", "train")
        ]
    for name, batch, options in COPIES:
        tool = (*STEPS, "--no-stacks", "--no-modules")
        jobs.append(
            capture(
                f"copy_{name}",
                tool,
                work("eager", *options, batch=batch, size=256),
            )
        )
    return jobs


COPIES = (
    ("b16_f64_pageable", 16, ("--input-dtype", "float64")),
    ("b16_f64_pinned", 16, ("--input-dtype", "float64", "--pinned")),
    ("b16_f32_pageable", 16, ()),
    ("b16_f32_pinned", 16, ("--pinned",)),
    ("b32_f32_pageable", 32, ()),
    ("b32_f32_pinned", 32, ("--pinned",)),
    ("b32_f16_pageable", 32, ("--dtype", "float16")),
    ("b32_f64_pageable", 32, ("--input-dtype", "float64")),
    ("b32_f64_pinned", 32, ("--input-dtype", "float64", "--pinned")),
    ("b16_f64_model", 16, ("--dtype", "float64")),
)
"""Sizes of copied batches of 256×256.

16 in float64 have the paper's larger number of bytes, and so have 32 in float32.
"""


def timelines(nsys: str) -> list[Job]:
    """Record all five levels with Nsight Systems, as it also sees the levels in C++."""
    tool = ("nsys", "--nsys", nsys)
    jobs = [
        capture(
            f"nsys_{level}",
            tool,
            work(level),
        )
        for level in LEVELS
    ]
    for level in CPP:
        for batch in (16, 32):
            for name, options in (("f64", ("--input-dtype", "float64")), ("f32", ())):
                command = work(level, *options, batch=batch, size=256)
                jobs.append(capture(f"nsys_{level}_b{batch}_{name}", tool, command))
    return jobs


POINTS = (
    "8x16,8x64,8x256,16x64,32x16,32x32,32x64,32x128,32x256,32x512,64x64,"
    "128x64,128x256,256x64,512x64,512x128,1024x64"
)
"""Batch and resolution of each point.

They include the paper's two sweeps (64×64, and batch 32) and more of the grid.
"""
COMPILED_POINTS = {
    "infer": "8x64,32x64,32x256,128x64,512x64,1024x64",
    "train": "32x64,32x256,128x64,512x64",
}
"""Points for compiled levels: fewer, as each point is compiled."""


def sweeps() -> list[Job]:
    """Time over batch size and resolution; memory and utilisation are sampled meanwhile."""
    jobs = []
    for level, program in LEVELS.items():
        for mode in ("infer", "train") if level != "cudnn" else ("infer",):
            points = COMPILED_POINTS[mode] if level == "compile" else POINTS
            command = (*program, "--mode", mode, "--seconds", "0.6", "--sweep", points)
            jobs.append(Job(f"sweep_{level}_{mode}", command, timeout_s=180))
    for mode in ("infer", "train"):
        file = f"build/study/resnet50_{mode}.pt"
        save = (*LEVELS["torchscript"], "--save", file, "--mode", mode)
        jobs.append(Job(f"save_{TORCHSCRIPT_CPP}_{mode}", save))
        command = ("build/study/torchscript", "--model", file, "--mode", mode)
        command += ("--seconds", "0.6", "--sweep", POINTS)
        jobs.append(Job(f"sweep_{TORCHSCRIPT_CPP}_{mode}", command, timeout_s=180))
    return jobs


def warming() -> list[Job]:
    """Fill the compiler's cache, so that no capture waits for it."""
    return [
        Job(
            f"warm_{mode}",
            (
                *LEVELS["compile"],
                "--mode",
                mode,
                "--warmup",
                "1",
                "--iterations",
                "1",
                "--sweep",
                text,
            ),
        )
        for mode, text in COMPILED_POINTS.items()
    ]


def quick() -> list[Job]:
    """Return a tiny job of each kind that needs no GPU, to try the driver out."""
    tiny = ("--device", "cpu", "--warmup", "1")
    command = work(
        "eager",
        *tiny,
        batch=2,
        size=32,
        iterations=4,
    )
    tool = ("gdb", "--preset", "cpu", "--hits", "1", "--timeout", "120")
    return [
        capture("eager_infer", ("torch",), command),
        capture("stack_eager", tool, work("eager", *tiny, batch=2, iterations=1)),
        Job(
            "sweep_eager_infer",
            (*LEVELS["eager"], *tiny, "--iterations", "2", "--sweep", "1x32,2x32"),
        ),
    ]
