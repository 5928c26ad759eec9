"""Counters from NVML. The GPU is a stand-in: a module that answers as nvidia-ml-py does."""

import sys
import threading
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

import tracelens.collectors  # noqa: F401  # they say which of them are profilers
from tracelens.running.nvml import Sampler, visible_indices
from tracelens.trace.capture import Capture, SourceFile
from tracelens.trace.combine import combine

UUIDS = ["GPU-aaaa-1", "GPU-abbb-2", "GPU-cccc-3"]


class StandIn(ModuleType):
    """Answers for GPUs as nvidia-ml-py does; `taken` is set once every device was asked twice."""

    class NVMLError(Exception):
        """What nvidia-ml-py raises."""

    def __init__(self, *names: str) -> None:
        super().__init__("pynvml")
        self.open = 0
        self.asked = 0
        self.taken = threading.Event()
        self.silent: set[str] = set()
        self.nvmlInit = lambda: self._count(1)
        self.nvmlShutdown = lambda: self._count(-1)
        self.nvmlDeviceGetCount = lambda: len(names)
        self.nvmlDeviceGetHandleByIndex = int
        self.nvmlDeviceGetUUID = lambda handle: UUIDS[handle].encode()
        self.nvmlDeviceGetName = names.__getitem__
        self.nvmlDeviceGetUtilizationRates = lambda handle: self._answer(
            "utilization", gpu=10 * handle
        )
        self.nvmlDeviceGetMemoryInfo = lambda handle: self._answer("memory", used=handle + 2**33)
        self.enough = 4 * len(names)

    def _count(self, more: int) -> None:
        self.open += more

    def _answer(self, what: str, **values: int) -> SimpleNamespace:
        self.asked += 1
        if self.asked >= self.enough:
            self.taken.set()
        if what in self.silent:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(**values)


SAME = ("H200", "H200", "H200")


def sampled(
    monkeypatch: pytest.MonkeyPatch, nvml: StandIn | None, environment: dict[str, str]
) -> Capture:
    """A capture of at least two rounds from the stand-in."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with Sampler(environment, hertz=1000) as sampler:
        if nvml is not None and sampler._thread is not None:
            assert nvml.taken.wait(60)
    assert nvml is None or nvml.open == 0
    return sampler.capture()


def test_every_device_is_sampled_with_its_units(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = sampled(monkeypatch, StandIn(*SAME), {})
    rows = (
        capture.tables["counters"]
        .unique(["name", "device_id"], keep="first")
        .sort("name", "device_id")
    )
    assert rows.select("name", "unit", "value", "device_id").rows() == [
        *(("gpu_memory_used", "bytes", 2.0**33 + device, device) for device in range(3)),
        *(("gpu_utilization", "percent", 10.0 * device, device) for device in range(3)),
    ]
    assert capture.tables["counters"]["time_ns"].is_sorted()
    assert capture.tables["counters"]["time_ns"].min() > 1_600_000_000 * 10**9  # type: ignore[operator]


def test_device_ids_are_the_programs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = sampled(monkeypatch, StandIn(*SAME), {"CUDA_VISIBLE_DEVICES": "2,GPU-aa"}).tables[
        "counters"
    ]
    use = (
        counters.filter(pl.col("name") == "gpu_utilization")
        .select("device_id", "value")
        .unique()
        .sort("device_id")
    )
    assert use.rows() == [(0, 20.0), (1, 0.0)]


@pytest.mark.parametrize(
    ("said", "indices"),
    [
        ("", []),
        ("-1", []),
        ("1", [1]),
        ("2, 0", [2, 0]),
        ("0,7,1", [0]),
        ("0,0", [0]),
        ("GPU-a", []),
        ("GPU-ab,GPU-cccc-3", [1, 2]),
        ("MIG-GPU-aaaa", []),
        ("NoDevFiles", []),
    ],
)
def test_cuda_visible_devices_is_read_as_cuda_does(said: str, indices: list[int]) -> None:
    assert visible_indices(said, UUIDS) == indices


def test_a_counter_that_fails_is_noted_and_the_other_is_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nvml = StandIn(*SAME)
    nvml.silent.add("utilization")
    capture = sampled(monkeypatch, nvml, {})
    assert capture.tables["counters"]["name"].unique().to_list() == ["gpu_memory_used"]
    assert capture.diagnostics.frame().rows() == [
        (
            "info",
            "gpu_utilization_absent",
            3,
            "gpu_utilization is not sampled from here on: Not Supported",
        )
    ]


def test_gpus_of_several_models_warn_of_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = StandIn("H200", "T4", "T4")
    codes = sampled(monkeypatch, mixed, {}).diagnostics.frame()["code"].to_list()
    assert codes == ["device_order_assumed"]
    mixed = StandIn("H200", "T4", "T4")
    assert (
        not sampled(monkeypatch, mixed, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        .diagnostics.frame()
        .height
    )


@pytest.mark.parametrize(
    ("nvml", "environment", "why"),
    [
        (None, {}, "nvidia-ml-py is absent"),
        (StandIn(), {}, "NVML finds no GPU"),
        (
            StandIn(*SAME),
            {"CUDA_VISIBLE_DEVICES": ""},
            "CUDA_VISIBLE_DEVICES shows the program no whole GPU",
        ),
    ],
)
def test_without_a_gpu_the_reason_stands_in_the_manifest(
    monkeypatch: pytest.MonkeyPatch, nvml: StandIn | None, environment: dict[str, str], why: str
) -> None:
    counters = sampled(monkeypatch, nvml, environment)
    trace = combine([_profile(), counters])
    assert not trace.counters.height
    assert why in trace.manifest.empty_tables["counters"]
    assert trace.manifest.empty_tables["kernels"] == "the trace holds no kernel"
    assert [source["name"] for source in trace.manifest.sources] == ["a.json"]


def test_no_driver_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = StandIn(*SAME)

    def refuse() -> None:
        raise nvml.NVMLError("NVML Shared Library Not Found")

    monkeypatch.setattr(nvml, "nvmlInit", refuse)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    with Sampler({}) as sampler:
        pass
    assert "Not Found" in sampler.capture().reasons["counters"]


def test_counters_join_the_profilers_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = combine([_profile(), sampled(monkeypatch, StandIn(*SAME), {})], ranks=[4])
    assert trace.counters["rank"].unique().to_list() == [4]
    assert trace.manifest.ranks == [4]
    assert [source["kind"] for source in trace.manifest.sources] == ["torch", "nvml"]
    assert trace.manifest.time_base == "trace_start"  # the profiler's, whose events the trace keeps


def _profile() -> Capture:
    reasons = {"kernels": "the trace holds no kernel"}
    return Capture(
        "torch", SourceFile("a.json", "torch", 1, ""), {}, "torch.profiler", reasons=reasons
    )


def test_stacks_have_no_times_so_the_counters_say_since_when(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stacks = Capture("gdb", SourceFile("a.txt", "gdb", 1, ""), {}, "gdb")
    assert (
        combine([stacks, sampled(monkeypatch, StandIn(*SAME), {})]).manifest.time_base
        == "unix_epoch"
    )
