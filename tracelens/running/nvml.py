"""Sample GPU utilisation and used memory with NVML (nvidia-ml-py) while a program is captured."""

import importlib
import os
import threading
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Self

import polars as pl
from msgspec import Struct, field

from tracelens.trace.capture import Capture, Diagnostics, SourceFile

KIND = "nvml"
UTILIZATION, MEMORY = "gpu_utilization", "gpu_memory_used"
_UNITS = {UTILIZATION: "percent", MEMORY: "bytes"}
_HERTZ = 10.0
_NOT = "GPU utilisation was not sampled"


class Sampler(Struct):
    """Samples every device that a program with this environment can see.

    A thread samples from `start` to `stop`. If nothing can be sampled, `capture` returns a Capture
    with the reason, for example that nvidia-ml-py is absent.

    - `gpu_utilization`: percentage of time in which a kernel of any process ran, over the driver's
      last period of 1/6 to 1 s.
    - `gpu_memory_used`: bytes that all processes have allocated on the device.
    - `device_id`: the position in CUDA_VISIBLE_DEVICES if that is set, else NVML's index.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    hertz: float = _HERTZ
    _nvml: ModuleType | None = None
    _devices: list[Any] = field(default_factory=list)
    _rows: list[tuple[str, int, float, int]] = field(default_factory=list)
    _diagnostics: Diagnostics = field(default_factory=Diagnostics)
    _reason: str = "NVML was not sampled"
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _cpu_s: float = 0.0
    _wall_s: float = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Find the devices, and start the thread that samples them."""
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            self._reason = f"{_NOT}: nvidia-ml-py is absent; pip install nvidia-ml-py"
            return
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            self._reason = f"{_NOT}: no NVIDIA driver answers ({error})"
            return
        self._nvml = nvml
        try:
            self._devices = self._visible(nvml)
        except nvml.NVMLError as error:
            self._reason = f"{_NOT}: {error}"
        if self._devices:
            self._thread = threading.Thread(
                target=self._run,
                args=(nvml,),
                name="tracelens-nvml",
                daemon=True,
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop sampling; a second call does nothing."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None

    def capture(self, rank: int | None = None) -> Capture:
        """Stop sampling, and return the samples as the table `counters` of a Capture."""
        self.stop()
        tables = {}
        if self._rows:
            columns = {
                "name": pl.String,
                "time_ns": pl.Int64,
                "value": pl.Float64,
                "device_id": pl.Int32,
            }
            rows = pl.DataFrame(self._rows, schema=columns, orient="row").sort(
                "time_ns", maintain_order=True
            )
            rows = rows.with_columns(
                unit=pl.col("name").replace_strict(_UNITS, return_dtype=pl.String)
            )
            tables["counters"] = rows
        settings: dict[str, Any] = {"hertz": self.hertz, "n_devices": len(self._devices)}
        if self._wall_s:
            settings["cpu_frac"] = round(self._cpu_s / self._wall_s, 5)
        return Capture(
            kind=KIND,
            source=SourceFile("NVML", KIND, 0, ""),
            tables=tables,
            producer="NVML",
            rank=rank,
            time_base="unix_epoch",
            settings=settings,
            reasons={} if self._rows else {"counters": self._reason},
            diagnostics=self._diagnostics,
        )

    def _visible(self, nvml: ModuleType) -> list[Any]:
        """Return NVML's handles of the devices that the program can see, in CUDA's order."""
        # NVML counts in PCI order. So does CUDA if all GPUs are the same, or with
        # CUDA_DEVICE_ORDER=PCI_BUS_ID.
        handles = [
            nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())
        ]
        visible = self.environment.get("CUDA_VISIBLE_DEVICES")
        chosen = handles
        if visible is not None:
            uuids = [_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
            chosen = [handles[index] for index in visible_indices(visible, uuids)]
        if not chosen:
            why = (
                "CUDA_VISIBLE_DEVICES shows the program no whole GPU"
                if handles
                else "NVML finds no GPU"
            )
            self._reason = f"{_NOT}: {why}"
        names = {_text(nvml.nvmlDeviceGetName(handle)) for handle in handles}
        if len(names) > 1 and self.environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
            self._diagnostics.add(
                "warning",
                "device_order_assumed",
                "GPUs of several models: device_id of the counters counts in PCI order, which CUDA"
                " follows only with CUDA_DEVICE_ORDER=PCI_BUS_ID",
            )
        return chosen

    def _run(self, nvml: ModuleType) -> None:
        """Sample at a fixed rate until `stop` is called; late samples are skipped."""
        began, period = time.monotonic(), 1 / self.hertz
        working = [(ordinal, name) for ordinal in range(len(self._devices)) for name in _UNITS]
        while working:
            for ordinal, name in list(working):
                try:
                    value = _sample(nvml, self._devices[ordinal], name)
                except nvml.NVMLError as error:
                    working.remove((ordinal, name))
                    self._reason = f"{name} cannot be read: {error}"
                    self._diagnostics.add(
                        "info", f"{name}_absent", f"{name} is not sampled from here on: {error}"
                    )
                    continue
                self._rows.append((name, time.time_ns(), value, ordinal))
            if self._stopping.wait(period - (time.monotonic() - began) % period):
                break
        self._cpu_s, self._wall_s = time.thread_time(), time.monotonic() - began


def _sample(nvml: ModuleType, device: Any, name: str) -> float:
    """Return a device's utilization in percent, or its used memory in bytes."""
    if name == UTILIZATION:
        return float(nvml.nvmlDeviceGetUtilizationRates(device).gpu)
    return float(nvml.nvmlDeviceGetMemoryInfo(device).used)


def visible_indices(visible: str, uuids: list[str]) -> list[int]:
    """Return NVML's indices of the devices in CUDA_VISIBLE_DEVICES, in the same order.

    An entry is an index or the beginning of one UUID. Entries from the first invalid entry on are
    ignored, as CUDA does. A MIG device is taken as invalid, because NVML does not state its
    utilisation.
    """
    indices: list[int] = []
    for word in visible.split(","):
        entry = word.strip()
        if entry.isdecimal():
            matches = [int(entry)] if int(entry) < len(uuids) else []
        else:
            matches = [
                i
                for i, uuid in enumerate(uuids)
                if entry.startswith("GPU-") and uuid.startswith(entry)
            ]
        if len(matches) != 1 or matches[0] in indices:
            break
        indices += matches
    return indices


def _text(value: str | bytes) -> str:
    """Return a text of NVML as str; older versions of nvidia-ml-py return bytes."""
    return value.decode() if isinstance(value, bytes) else value
