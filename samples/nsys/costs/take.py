"""Time programs of samples/whatif with and without nsys, turn by turn.

    python samples/nsys/costs/take.py OUT.json [--only WORD,WORD] [-- nsys profile …]

Two processes build every program: one that never records, and one under the command that follows
`--`. They take turns, so that both run while the host has the same speed. Every program is timed in
both, outside of the recorded range. Then the range of cudaProfilerStart and cudaProfilerStop
begins, and some steps of each program are recorded between two turns of the process that never
records. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "whatif"))

N_WARM_UP, N_BLOCKS, BLOCK_S, N_LEAST, MOST_STEPS = 8, 3, 0.06, 4, 60
N_SETTLE, N_RECORDED, CYCLE = 4, 8, 24
KEY = b"turns"
OWN = ("calls", "events", "copies", "marks")
NAMES = (
    "gpt_train_small",
    "gpt_decode",
    "gpt_decode.cuda_graph",
    "conv_infer",
    "conv_infer.cuda_graph",
    "conv_train",
    "mlp_train",
    "mlp_train_wide",
    "sync_item",
    "sync_device",
    "sync_loss_narrow",
    "copy_small",
    "copy_double",
    "repeat_mixed",
    "vit_infer",
    "input_main",
    "resnet50_infer",
    "resnet50_train",
    "bert_infer",
    "gpt2_train_small",
    "cached_decode",
    "cross_infer",
    "denoise",
    "gan_train",
    "graph_train",
    "norm_train",
    "strided_train",
    "pictures_copy",
    "unet_infer",
    "lstm_train",
    "encoder_train_small",
    "depthwise_infer_small",
    "depthwise_infer_small.cuda_graph",
)


class Programs:
    """The programs of one process, and what can be asked of each."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - not in the process that only says whose turn it is
        from held_out_hosts import HELD_OUT  # noqa: PLC0415
        from programs import DEVICE, ON_GPU, PROGRAMS  # noqa: PLC0415

        self.torch, self.device, self.is_on_gpu = torch, DEVICE, ON_GPU
        self.known = {**PROGRAMS, **HELD_OUT}
        with suppress(ImportError):
            from networks import NETWORKS  # noqa: PLC0415 - needs torchvision and transformers

            self.known |= NETWORKS
        self.running: dict[str, Any] = {}

    def build(self, name: str) -> None:
        """Build a program, and let it warm up."""
        if name in OWN:
            self.running[name] = getattr(self, name)()
        else:
            program, _, option = name.partition(".")
            entry = self.known[program]
            self.running[name] = entry.steps(option or None, **entry.settings)
        for _ in islice(self.running[name], N_WARM_UP if self.is_on_gpu else 1):
            pass

    def time(self, name: str) -> list[float]:
        """Time blocks of steps; returns each block's mean step in ms."""
        if name.startswith("input"):
            return [self._block_ms(name, CYCLE)]
        once = max(self._block_ms(name, 3), 1e-3)
        n = max(N_LEAST, min(MOST_STEPS, round(BLOCK_S * 1e3 / once)))
        return [self._block_ms(name, n) for _ in range(N_BLOCKS)]

    def start(self, _: str) -> None:
        """Begin the recorded range."""
        if self.is_on_gpu:
            self.torch.cuda.cudart().cudaProfilerStart()

    def stop(self, _: str) -> None:
        """End the recorded range."""
        if self.is_on_gpu:
            self.torch.cuda.cudart().cudaProfilerStop()

    def record(self, name: str) -> list[float]:
        """Record some steps, marked for the recording; returns their mean time in ms."""
        for _ in islice(self.running[name], N_SETTLE):
            pass
        self._synchronize()
        self._push(f"program {name}")
        took = self._block_ms(name, N_RECORDED)
        self._pop()
        return [took]

    def calls(self) -> Any:
        """Launch kernels that do next to nothing."""
        x = self.torch.zeros(16, device=self.device)
        return self._repeated(lambda: x.add_(1), 300)

    def events(self) -> Any:
        """Record CUDA events."""
        event = self.torch.cuda.Event() if self.is_on_gpu else None
        return self._repeated(lambda: event and event.record(), 300)

    def copies(self) -> Any:
        """Copy 64 bytes at a time."""
        x, y = (self.torch.zeros(16, device=self.device) for _ in range(2))
        return self._repeated(lambda: x.copy_(y), 200)

    def marks(self) -> Any:
        """Push and pop pairs of nested NVTX ranges."""

        def two() -> None:
            self._push("outer")
            self._push("inner")
            self._pop()
            self._pop()

        return self._repeated(two, 250)

    def _repeated(self, call: Callable[[], object], n: int) -> Any:
        while True:
            for _ in range(n):
                call()
            self._synchronize()
            yield

    def _block_ms(self, name: str, n: int) -> float:
        """Return the mean time of n steps between two waits for the device."""
        steps = self.running[name]
        self._synchronize()
        began = time.perf_counter_ns()
        for i in range(n):
            self._push(f"step {i}")
            next(steps)
            self._pop()
        self._synchronize()
        return round((time.perf_counter_ns() - began) / n / 1e6, 4)

    def _synchronize(self) -> None:
        if self.is_on_gpu:
            self.torch.cuda.synchronize()

    def _push(self, text: str) -> None:
        if self.is_on_gpu:
            self.torch.cuda.nvtx.range_push(text)

    def _pop(self) -> None:
        if self.is_on_gpu:
            self.torch.cuda.nvtx.range_pop()


def work(address: str) -> None:
    """Serve requests of the process at this address until it closes the connection."""
    programs = Programs()
    with Client(address, authkey=KEY) as asker:
        while True:
            try:
                what, name = asker.recv()
            except EOFError:
                return
            try:
                answer = getattr(programs, what)(name)
            except Exception as error:  # noqa: BLE001 - the other programs go on
                answer = f"{type(error).__name__}: {error}"[:300]
            asker.send(answer)


def asked(worker: Connection, what: str, name: str) -> Any:
    """Ask a worker, and return its answer: times, or None.

    Raises RuntimeError if the worker failed.
    """
    worker.send((what, name))
    answer = worker.recv()
    if isinstance(answer, str):
        raise RuntimeError(f"{what} {name}: {answer}")  # noqa: TRY004 - an error that was sent
    return answer


def take(bare: Connection, recorder: Connection, names: list[str], until: float) -> dict[str, Any]:
    """Time every program: bare, and under the recorder outside and inside of its range."""
    times: dict[str, Any] = {}
    for name in names:
        if time.monotonic() > until:
            break
        try:
            for worker in (bare, recorder):
                asked(worker, "build", name)
            first = asked(bare, "time", name)
            outside = asked(recorder, "time", name)
            again = asked(bare, "time", name)
            times[name] = {"bare": [first, again], "outside": [outside]}
        except RuntimeError as error:
            print(name, error, flush=True)
    asked(recorder, "start", "")
    for name, row in times.items():
        before = asked(bare, "time", name)
        row["inside"] = asked(recorder, "record", name)
        row["beside"] = [before, asked(bare, "time", name)]
        print(name, row, flush=True)
    asked(recorder, "stop", "")
    return times


def main() -> None:
    """Start both processes, let them take turns, and write the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="programs with these words, joined by commas")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600,
        help="to build and time programs",
    )
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:place])
    until = time.monotonic() + given.seconds
    names = [n for n in (*OWN, *NAMES) if any(word in n for word in given.only.split(","))]
    with tempfile.TemporaryDirectory() as folder, Listener(f"{folder}/turns", authkey=KEY) as door:
        worker = [sys.executable, str(Path(__file__).resolve()), "--work", str(door.address)]
        environment = {**os.environ, "OMP_NUM_THREADS": "4"}
        bare_process = subprocess.Popen(worker, env=environment)
        bare = door.accept()
        recorder_process = subprocess.Popen([*words[place + 1 :], *worker], env=environment)
        recorder = door.accept()
        times = take(bare, recorder, names, until)
        given.out.write_text(json.dumps(times, indent=1))
        for end in (bare, recorder):
            end.close()
        bare_process.wait()
        recorder_process.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(sys.argv[2])
    else:
        main()
