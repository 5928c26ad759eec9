"""Attack live captures: `python tests/gpu/attack.py [--device cpu] [--only PART] FOLDER`.

Runs on a GPU by default. Attacks are kills at every stage, programs that fail, fork and hide, full
disks, hostile names and secrets. After a command that ends, one of two is right: a trace that
passes `check` and holds no secret; or no trace, and one line that says why. Nothing may be half
written or left running, and no traceback of tracelens shown. Prints one line per attack; the exit
code is 1 if one breaks this.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

import tracelens as tl
from tracelens.trace.checking import problems

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {
    "HF_TOKEN": "hf_" + "Qw8rT2yU" * 4,
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/" + "a1B2c3D4/" * 3,
    "DATABASE_URL": "postgres://alice:correct-horse-battery@db.internal/x",
    "MY_PASSWORD": "tr0ub4dor-and-three",
}
HIDDEN = (*SECRETS.values(), "correct-horse-battery", "bearer-4bd3c2a1f09e")
_AT_ONCE, _LONGEST_S = 8, 90
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

MODEL = """
import os, signal, subprocess, sys, threading, time
import torch
from torch import nn
D = os.environ["ATTACKED"]
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)).to(D)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 3, 8, 8, device=D)
def step(model=model):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
def wait():
    if D == "cuda": torch.cuda.synchronize()
"""
STEPS = MODEL + "\nfor i in range(30): step(); time.sleep(0.02)\n"
IN_STEP = MODEL + "\nfor i in range(9):\n    step()\n    if i == 4:\n        %s\n"
NAMES = """
evil = "\\x1b]52;c;aGk=\\x07 \\x1b[31m </script><img src=x onerror=alert(1)> \\u202egnp =cmd|' /C calc'!A0 \\x00"
printed = "=cmd|' /C calc'!A0 </script><img src=x onerror=alert(1)>"  # torch replaces names with control characters
token = f"load {os.environ['HF_TOKEN']} from {os.environ['DATABASE_URL']} at /home/alice/secret/train.py"
Evil = type("Evil\\x1b[31m</script>", (nn.Module,), {"forward": lambda self, x: self.inner(x)})
own = Evil()
own.add_module("inner", model)
for i in range(9):
    for name in (evil, printed, token, "Authorization: Bearer bearer-4bd3c2a1f09e", "y" * 3_000_000):
        with torch.profiler.record_function(name): torch.relu(x)
    step(own)
"""
PROGRAMS = {
    "raises in a step": IN_STEP % "raise RuntimeError('of the program \\x1b[31m')",
    "exits in a step": IN_STEP % "sys.exit(7)",
    "leaves by os._exit": IN_STEP % "os._exit(9)",
    "aborts": IN_STEP % "os.abort()",
    "crashes": IN_STEP % "import ctypes; ctypes.string_at(0)",
    "recursion": IN_STEP % "f = lambda: f(); f()",
    "out of memory on the device": IN_STEP % "torch.empty(1 << 46, device=D)",
    "device-side assert": IN_STEP % "torch.zeros(2, device=D)[torch.tensor([5], device=D)]; wait()",
    "forks in a step": (
        IN_STEP
        % "p = os.fork(); [torch.ones(3).sum(), os._exit(3)] if p == 0 else os.waitpid(p, 0)"
    ),
    "forked child goes on": (
        IN_STEP % "os.fork() or ([torch.ones(9).sum() for _ in range(99)], sys.exit(4))"
    ),
    "leaves a daemon": IN_STEP % "os.fork() or (os.setsid(), time.sleep(3), os._exit(0))",
    "starts another torch": (
        IN_STEP % "subprocess.run([sys.executable, '-c', 'import torch; torch.ones(3).sum()'])"
    ),
    "replaces itself": (
        IN_STEP % "os.execv(sys.executable, [sys.executable, '-c', 'import torch; print(1)'])"
    ),
    "steps in a thread": (
        MODEL
        + "\nt = threading.Thread(target=lambda: [step() for _ in range(9)]); t.start(); t.join()"
    ),
    "its own profiler": IN_STEP % "p = torch.profiler.profile(); p.start(); step(); p.stop()",
    "ignores signals": (
        MODEL + "\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + "for _ in range(9): step()"
    ),
    "closes its streams": IN_STEP % "os.close(0); os.close(1); os.close(2)",
    "removes the capture's folder": IN_STEP % "import shutil; shutil.rmtree(os.environ['TMPDIR'])",
    "leaves its folder": IN_STEP % "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "hostile names": MODEL + NAMES,
    "a graph captured": MODEL
    + """
for _ in range(3): step()
if D == "cuda":
    graph, s = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph): y = torch.relu(x @ x.transpose(2, 3))
    for _ in range(9): graph.replay(); step()
else:
    for _ in range(9): step()
""",
    "spawned workers": (
        "import torch.multiprocessing as mp\ndef work(k):\n"
        + "\n".join(f"    {line}" for line in (MODEL + "for _ in range(9): step()").splitlines())
        + "\nif __name__ == '__main__': mp.spawn(work, nprocs=2)"
    ),
    "a block that raises": MODEL
    + """
import tracelens as tl
try:
    with tl.capture(os.environ["OWN"]):
        for _ in range(3): step()
        raise KeyError("of the block")
except KeyError: print("passed on")
""",
}
STAGES: dict[str, Callable[[Path], bool]] = {
    "at its start": lambda _: True,
    "python": lambda place: _reached(place, "python"),
    "torch": lambda place: _reached(place, "torch"),
    "recording": lambda place: _reached(place, "recording"),
    "exporting": lambda place: any(place.glob("tmp/*/*.part.json")),
    "exported": lambda place: any(place.glob("tmp/*/*.pt.trace.json")),
    "writing": lambda place: any(place.glob(".out.tracelens.*.part")),
}
"""What can be seen in an attack's folder, by stage."""


@dataclass
class Attack:
    """A program under `collect torch`, and an attack: a signal at a stage, or a full disk.

    The signal goes to `target`: collector, program, or both.
    """

    name: str
    code: str
    options: list[str] = field(default_factory=list)
    stage: str = ""
    sent: signal.Signals | None = None
    target: str = ""
    full: str = ""
    kib: int = 0


def attacks() -> list[Attack]:
    """Yield all attacks."""
    found = [Attack(name, code) for name, code in PROGRAMS.items()]
    more = ["--memory", "--cuda-sync", "--graph", "--compile-provenance"]
    found.append(Attack("hostile names, every recorder", MODEL + NAMES, more))
    found.append(
        Attack(
            "hostile names, no stacks",
            MODEL + NAMES,
            ["--no-stacks", "--wait", "0", "--warmup", "0"],
        )
    )
    found += [
        Attack(f"{sent.name} to {target}, {stage}", STEPS, stage=stage, sent=sent, target=target)
        for stage in STAGES
        for target in ("collector", "program", "both")
        for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
        if not (stage == "writing" and target == "program")
    ]
    found += [
        Attack(f"full {what}, {kib} KiB", STEPS, full=what, kib=kib)
        for what in ("tmp", "out")
        for kib in (16, 200)
    ]
    return found


def _reached(place: Path, stage: str) -> bool:
    return any(f'"stage": "{stage}"' in _text(file) for file in place.glob("tmp/*/*.live.json"))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def judged(attack: Attack, place: Path, device: str) -> str:
    """Return an empty text, or how the command ended and what is wrong."""
    (place / "tmp").mkdir(parents=True)
    (place / "disk").mkdir()
    out = place / "out.tracelens"
    if attack.full:
        small = place / ("tmp" if attack.full == "tmp" else "disk")
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={attack.kib}k", "none", small], check=False
        ).returncode:
            return "not tried: nothing can be mounted here"
        out = out if attack.full == "tmp" else place / "disk" / "out.tracelens"
    (place / "run.py").write_text(attack.code)
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        *attack.options,
        "--out",
        str(out),
    ]
    own = {
        "ATTACKED": device,
        "TMPDIR": str(place / "tmp"),
        "OWN": str(out),
        "OMP_NUM_THREADS": "1",
    }
    environment = (
        os.environ
        | SECRETS
        | own
        | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    )
    is_block = "tl.capture" in attack.code
    words = [sys.executable, "run.py", "--api-key=bearer-4bd3c2a1f09e"]
    process = subprocess.Popen(
        words if is_block else [*command, "--", *words],
        cwd=place,
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=(place / "err").open("wb"),
    )
    ended = _send(attack, place, process)
    wrong = [] if ended else [f"no end within {_LONGEST_S} s"]
    wrong += _left_running(process.pid)
    said = (place / "err").read_bytes().decode(errors="replace")
    wrong += _trace_wrong(out, said, process.returncode, attack)
    wrong += [
        f"{path.name} left" for path in out.parent.glob(".out*") if attack.sent != signal.SIGKILL
    ]
    how = f"exit {process.returncode}, {'a trace' if out.exists() else 'no trace'}"
    if attack.full:
        subprocess.run(["umount", "-l", small], check=False)
    return f"{how}{'' if not wrong else '; FAILED: ' + '; '.join(wrong)}"


def _send(attack: Attack, place: Path, process: subprocess.Popen[bytes]) -> bool:
    """Wait for the stage, send the signal, and wait for the end. Returns whether the stage came."""
    until = time.monotonic() + _LONGEST_S
    if attack.sent is not None:
        if attack.stage == "at its start":
            time.sleep(0.3)
        while (
            process.poll() is None and not STAGES[attack.stage](place) and time.monotonic() < until
        ):
            time.sleep(0.002)
        to = [process.pid] if attack.target == "collector" else []
        if attack.target == "program":
            to = [
                json.loads(_text(file) or "{}").get("process_id")
                for file in place.glob("tmp/*/*.live.json")
            ]
        if attack.target == "both":
            os.killpg(process.pid, attack.sent) if process.poll() is None else None
        for one in filter(None, to):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, attack.sent)
    try:
        process.wait(max(1.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def _left_running(group: int) -> list[str]:
    """Processes of the group that do not end within ten seconds: they are ended here."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return []
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return ["a process was left running"]


def _trace_wrong(out: Path, said: str, code: int, attack: Attack) -> list[str]:
    """Return what is wrong with the trace, or with the message on its absence."""
    own = [f"/{part}/" for part in ("tracelens", "collectors")]
    found = []
    blocks = [
        block
        for block in said.split("Traceback (most recent call last)")[1:]
        if any(w in block for w in own)
    ]
    blocks = [
        b
        for b in blocks
        if "KeyboardInterrupt" not in b and "of the program" not in b and "/run.py" not in b
    ]
    if blocks:
        found.append(f"a traceback of tracelens: {' / '.join(blocks[0].splitlines()[-3:])[:300]}")
    if not out.exists():
        is_told = re.search(r"^(error: |interrupted)", said, re.MULTILINE)
        if (
            not is_told
            and code not in (-signal.SIGKILL, -signal.SIGTERM, 143)
            and "os._exit" not in attack.code
        ):
            found.append(f"no trace and no word why: {said.strip().splitlines()[-1:]}")
        return found
    try:
        trace = tl.open(out)
        found += list(problems(trace))[:2]
        found += _secrets_in(trace)
        found += _views_wrong(out) if "hostile" in attack.name else []
    except Exception as error:  # noqa: BLE001 - what is looked for
        found.append(f"{type(error).__name__}: {str(error)[:200]}")
    return found


def _secrets_in(trace: tl.Trace) -> list[str]:
    """Secrets found in any text column or in the manifest."""
    assert trace.path is not None
    texts = [(trace.path / "manifest.json").read_text()]
    for file in trace.path.rglob("*.parquet"):
        frame = pl.read_parquet(file, glob=False)
        texts += [
            "\n".join(frame[name].unique().drop_nulls())
            for name in frame.select(pl.selectors.string()).columns
        ]
    everything = "\n".join(texts)
    return [f"a secret is in the trace: {word[:12]}…" for word in HIDDEN if word in everything]


def _views_wrong(out: Path) -> list[str]:
    """Return control characters, and markup in names, that people would see."""
    found = []
    for form in ("text", "html", "markdown", "csv"):
        section = ["--section", "top_ops"] if form == "csv" else []
        target = out.parent / f"report.{form}"
        command = [
            sys.executable,
            "-m",
            "tracelens",
            "report",
            str(out),
            "--format",
            form,
            "--out",
            str(target),
        ]
        done = subprocess.run([*command, *section], capture_output=True, text=True, check=False)
        text = target.read_text() if target.exists() else ""
        if done.returncode:
            found.append(f"report {form}: {done.stderr[-200:]}")
        if _CONTROL.search(text):
            found.append(f"control characters in {form}")
        if form == "html" and "<img src=x" in text:
            found.append("markup of a name in html")
        found += [f"a secret in {form}" for word in HIDDEN if word in text]
    return found


def main() -> None:
    """Try all, several at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=_AT_ONCE)
    given = parser.parse_args()
    chosen = [attack for attack in attacks() if given.only in attack.name]
    shutil.rmtree(given.folder, ignore_errors=True)

    def one(number: int) -> tuple[str, str]:
        try:
            return chosen[number].name, judged(
                chosen[number], given.folder / str(number), given.device
            )
        except Exception as error:  # noqa: BLE001 - one that fails shall not end the others
            return chosen[number].name, f"FAILED to judge: {error!r}"

    n_failed = 0
    with ThreadPoolExecutor(given.at_once) as pool:
        for number, (name, ended) in enumerate(pool.map(one, range(len(chosen)))):
            n_failed += "FAILED" in ended
            sys.stdout.write(f"{number} {name}: {ended}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} attacks, {n_failed} failed\n")
    sys.exit(int(n_failed > 0))


if __name__ == "__main__":
    main()
