"""What a change would give."""

from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tests.command_line import command_line
from tests.step_traces import StepTrace, after
from tracelens.analyses.verdict import notes, verdict
from tracelens.answers import make_answer
from tracelens.derive.replay.advised import advised_changes
from tracelens.errors import UsageError
from tracelens.trace import Trace

COLLECTIVE = {"is_communication": True}


def waiting_steps() -> StepTrace:
    """Four equal steps of 400 µs: Python, a kernel of 100 µs that is waited for, Python again."""
    made = StepTrace()
    for start in range(0, 1600, 400):
        made.step(start, start + 400)
        made.span("aten::mm", start + 10, start + 40)
        made.launch("gemm", start + 20, start + 35, start + 135)
        made.call("cudaDeviceSynchronize", "sync", start + 80, start + 140)
    return made


@pytest.fixture(scope="module")
def waiting() -> Trace:
    """The trace of those steps."""
    return waiting_steps().trace("trace_log")


def test_without_waits_the_host_and_the_device_overlap() -> None:
    row = tl.whatif(waiting_steps().trace("trace_log"), "no_sync").row(0, named=True)
    assert row["before_ns"] == 400_000
    # The wait returned at 140; the host is at 80 then, and goes on: 60 µs less a step.
    assert row["after_ns"] == 340_000
    assert row["low_ns"] < 340_000 < row["high_ns"]


def test_a_change_keeps_the_device_work_of_a_slow_host() -> None:
    """Kernels take 900 of 1000 µs, and a further 1000 of the host lengthen the last step."""
    made = StepTrace()
    for start, end in [(0, 1000), (1000, 2000), (2000, 4000)]:
        made.step(start, end)
        made.launch("gemm", start + 10, start + 20, start + 920)
        made.call("cudaDeviceSynchronize", "sync", start + 30, start + 930)
    trace = made.trace("trace_log")
    times = dict.fromkeys(("mean", "median", "min", "max"), 1_000_000)
    settings = {"unprofiled_step_ns": times, "profiled_step_ns": {"mean": 1_333_333}}
    trace.manifest.sources = [{"kind": "torch", "rank": 0, "settings": settings}]
    row = tl.whatif(trace, "no_sync").row(0, named=True)
    assert row["before_ns"] == 1_000_000
    assert row["after_ns"] >= row["low_ns"] >= 0.95 * 900_000


def test_a_faster_kernel_that_is_waited_for_shortens_the_step() -> None:
    trace = waiting_steps().trace("trace_log")
    # gemm takes 10 µs and is done at 45, before the host comes to wait at 80: then 4 µs for the
    # call.
    assert after(trace, "faster gemm by 10") == 400_000 - 140_000 + 84_000
    assert after(trace, "faster gemm by 2") == 350_000


def test_a_percentage_is_the_saving_of_the_table() -> None:
    """An op of 100 µs on the device, one of 60 whose name begins alike, and Python between them."""
    made = StepTrace()
    for start in range(0, 1600, 400):
        made.step(start, start + 400)
        made.span("aten::add", start + 10, start + 20)
        made.launch("sum", start + 12, start + 20, start + 120)
        made.span("aten::addmm", start + 30, start + 40)
        made.launch("gemm", start + 32, start + 120, start + 180)
        made.call("cudaDeviceSynchronize", "sync", start + 50, start + 185)
    trace = made.trace("trace_log")
    # A tenth of the 2 µs before the launch, which the launched kernel follows, and of the kernel.
    assert 400_000 - after(trace, "faster aten::add by 10%") == 10_200
    rows = tl.analyses.sensitivity(trace).filter(pl.col("what") == "aten::add")
    assert rows["saved_ns"].to_list() == [10_200]
    # No op is called so, thus all whose names contain it are meant: 6 µs more of aten::addmm.
    assert 400_000 - after(trace, "faster ten::add by 10%") == 16_200


def test_threads_beside_the_main_one_have_no_cause() -> None:
    """A thread that polls twice in 800 µs sleeps between; the main one allocates for 100 µs."""
    made = waiting_steps()
    for start in range(0, 1600, 400):
        made.call("cudaMalloc", "memory", start + 200, start + 300)
        made.call("cudaEventQuery", "other", start + 210, start + 290, thread=2)
    rows = tl.analyses.sensitivity(made.trace("trace_log")).filter(pl.col("what") == "allocation")
    assert rows["total_ns"].to_list() == [100_000]
    assert rows["saved_ns"].to_list() == [10_000]


def test_no_rank_makes_a_collective_faster() -> None:
    made = StepTrace()
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.launch("ncclDevKernel_AllReduce", start + 10, start + 20, start + 320, **COLLECTIVE)
        made.call("cudaDeviceSynchronize", "sync", start + 30, start + 330)
    with pytest.raises(UsageError, match="lasts until the last rank comes; network=X2"):
        tl.whatif(made.trace("trace_log"), "faster nccl by 2")


def test_a_graph_ends_where_the_host_waits() -> None:
    made = waiting_steps()
    whole = tl.whatif(made.trace("trace_log"), "cuda_graph")
    for start in range(0, 1600, 400):
        made.launch("relu", start + 150, start + 160, start + 170)
        made.call("cudaDeviceSynchronize", "sync", start + 165, start + 175)
    trace = made.trace("trace_log")
    parts = tl.whatif(trace, "cuda_graph")
    assert whole["note"].item() is None
    assert "waits for the device, 2 times a step" in parts["note"].item()
    assert tl.whatif(trace, "cuda_graph", "no_sync")["note"].item() is None


def test_a_faster_kernel_that_nothing_waits_for_saves_nothing() -> None:
    made = StepTrace()
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.launch("gemm", start + 10, start + 20, start + 120)
    assert after(made.trace("trace_log"), "faster gemm by 2") == 400_000


def test_changes_combine_by_replay_not_by_adding() -> None:
    trace = waiting_steps().trace("trace_log")
    alone = [400_000 - after(trace, change) for change in ("no_sync", "faster gemm by 2")]
    assert alone == [60_000, 50_000]
    assert after(trace, "no_sync", "faster gemm by 2") == 340_000


def test_a_graph_takes_the_time_of_launches() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        for i in range(10):
            begin = start + 100 * i
            made.span("aten::relu", begin + 1, begin + 90)
            made.launch("relu", begin + 50, begin + 60, begin + 80)
    # Ten kernels of 20 µs, 0.1 µs apart, are longer than the launch of 15 µs and what is left of
    # the host: 1 µs and ten times 10 µs of Python between ops.
    assert after(made.trace("trace_log"), "cuda_graph") == pytest.approx(201_000, abs=2_000)


def test_a_graph_leaves_what_the_host_itself_does() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("aten::relu", start + 1, start + 90)
        made.launch("relu", start + 50, start + 60, start + 80)
        made.call("cudaHostAlloc", "memory", start + 200, start + 800)
    # 600 of the 1,000 µs allocate pinned memory for the input of the graph.
    assert after(made.trace("trace_log"), "cuda_graph") > 600_000


def test_a_graph_needs_an_adam_that_counts_on_the_device() -> None:
    def optimized(name: str) -> StepTrace:
        made = StepTrace()
        for start in (0, 1000, 2000):
            made.step(start, start + 1000)
            made.span(f"Optimizer.step#{name}.step", start + 10, start + 900)
            for begin in range(start + 20, start + 820, 80):
                made.launch("small", begin, begin + 5, begin + 6)
                made.launch("addcdiv", begin + 40, begin + 45, begin + 75)
        return made

    plain = after(optimized("SGD").trace("trace_log"), "cuda_graph")
    capturable = after(optimized("AdamW").trace("trace_log"), "cuda_graph")
    # Of each of ten parameters, 12 kernels as small as the smallest, of 1 µs, 0.1 µs apart.
    assert capturable - plain == 10 * 12 * 1_100


def loaded_steps(waited_us: int) -> StepTrace:
    """Four steps that wait for a loader, then run ops of 1,000 and 4,000 µs."""
    made = StepTrace()
    for start in range(0, 4 * (waited_us + 5_000), waited_us + 5_000):
        made.step(start, start + waited_us + 5_000)
        loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        made.span(loader, start, start + waited_us, kind="annotation")
        made.span("aten::mm", start + waited_us, start + waited_us + 1_000)
        made.span("aten::mul", start + waited_us + 1_000, start + waited_us + 5_000)
    return made


@pytest.mark.parametrize(
    # Of 5,000 µs, those that begin within 3 ms of a long wait take half as long: both ops do.
    ("waited_us", "after_us"),
    [(10_000, 2_500), (1_000, 5_000)],
)
def test_a_host_that_waited_long_was_cold(waited_us: int, after_us: int) -> None:
    assert after(loaded_steps(waited_us).trace("trace_log"), "input_ready") == after_us * 1_000


def test_a_host_that_waited_long_may_stay_cold() -> None:
    row = tl.whatif(loaded_steps(10_000).trace("trace_log"), "input_ready").row(0, named=True)
    assert row["low_ns"] < 2_500_000
    assert row["high_ns"] > 5_000_000


def test_workers_that_are_waited_for_must_be_counted() -> None:
    trace = loaded_steps(45_000).trace("trace_log")
    with pytest.raises(UsageError, match="OLD:NEW"):
        tl.whatif(trace, "workers=4")
    # Two workers make a batch in 50 ms, as a step takes; four make it in 25.
    assert after(trace, "workers=2:4") == 25_000_000
    # Twenty make it in 5 ms: more than the 2.5 that the rest takes once nothing is waited for.
    assert after(trace, "workers=2:20") == 5_000_000


def test_a_late_first_kernel_waits_for_no_unseen_work() -> None:
    def step_ns(late_us: float) -> int:
        made = StepTrace()
        for start in (0, 82_000, 164_000):
            made.step(start, start + 82_000)
            loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            made.span(loader, start, start + 80_000, kind="annotation")
            for called, late in ((start + 80_010, late_us), (start + 81_000, 0)):
                made.launch("gemm", called, called + 10 + late, called + 30 + late)
        return after(made.trace("trace_log"), "input_ready")

    # From the first call on the host takes 1,990 µs, half as long where its caches are warm. The
    # kernels take 40 µs.
    assert step_ns(0) == step_ns(45) == 995_000


def test_pinned_memory_copies_at_the_speed_of_pinned_copies() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        call = made.call("cudaMemcpyAsync", "memcpy", start + 10, start + 610)
        made.copy(start + 20, start + 600, call, size_bytes=1 << 21)
        made.launch("gemm", start + 620, start + 630, start + 650)
    call = made.call("cudaMemcpyAsync", "memcpy", 2700, 2705)
    made.copy(2710, 2810, call, size_bytes=1 << 21, source_memory="pinned")
    # The call returned at 610 once the copy was done; now it takes 5 µs as the pinned one does, and
    # the host goes on.
    assert after(made.trace("trace_log"), "pinned") == pytest.approx(405_000, abs=1_000)


def test_pinned_memory_needs_no_synchronisation_after_the_copy() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("aten::copy_", start + 5, start + 640)
        call = made.call("cudaMemcpyAsync", "memcpy", start + 10, start + 30)
        made.copy(start + 40, start + 600, call, size_bytes=1 << 21)
        made.call("cudaStreamSynchronize", "sync", start + 30, start + 610)
        made.launch("gemm", start + 650, start + 680, start + 700)
    call = made.call("cudaMemcpyAsync", "memcpy", 2900, 2905)
    made.copy(2910, 3010, call, size_bytes=1 << 21, source_memory="pinned")
    # The copy's call takes 8 instead of 20 µs; the synchronisation, 30 to 610, is not made.
    assert after(made.trace("trace_log"), "pinned") == 1_000_000 - 12_000 - 580_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("cuda_grph", "near: cuda_graph"),
        ("input_ready", "record with stacks"),
        ("pinned", "no copy in these steps comes from pageable memory"),
        ("batch=64", "one batch size says nothing of another"),
        ("batch=16,16:64", "one batch size says nothing of another"),
        ("batch=16,32:64", "trace of the second batch size is not given"),
        ("sdpa", "no product, softmax and product"),
        ("faster softmax by 2", "no op, layer or kernel"),
        ("faster", "expected faster OP"),
        ("dtype=int3", "say one of"),
        ("faster gemm by 1.2.3", "1.2.3 is not a factor"),
        ("faster gemm by .", "is not a factor"),
        ("faster gemm by -2", "is not a factor"),
        ("faster gemm by 100%", "nor a percentage below 100"),
        ("faster gemm 2", 'expected .*, as "faster aten::linear by 2"'),
        ("cuda_graph=0.mlp", "the trace names no layers; tracelens collect torch"),
        ("no_sync=train.py", "at 'train.py' .* there is, for example, cudaDeviceSynchronize"),
        ("NO_SYNC", "near: no_sync"),
        ("faster gemm by 0." + "0" * 30 + "1", "is not a factor"),  # 2^63 ns hold no such time
        ("workers=" + "9" * 5_000, "say how many"),
        ("pinned=1", "pinned=1: expected pinned"),
        ("cuda_graph=", "expected cuda_graph"),
        ("straggler_fixed", "one rank was captured"),
        ("network=X2", "one rank was captured"),
        ("network", "expected network=X2"),
        ("network=0", "expected network=X2"),
        ("straggler_fixed=3", "expected straggler_fixed"),
    ],
)
def test_what_cannot_be_answered_says_why(waiting: Trace, change: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tl.whatif(waiting, change)


def batches_of(gemm_us: int, copy_us: int = 20, second: str = "aten::relu") -> StepTrace:
    """Steps of 1 ms: a copy, a product and another op of 40 µs; the host waits for them."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        call = made.call("cudaMemcpyAsync", "memcpy", start + 10, start + 15)
        made.copy(start + 20, start + 20 + copy_us, call, source_memory="pinned")
        end = start + 20 + copy_us
        made.span("aten::mm", start + 16, start + 26)
        made.launch(f"gemm_{gemm_us}", start + 18, end, end + gemm_us)
        made.span(second, start + 28, start + 38)
        made.launch("other", start + 30, end + gemm_us, end + gemm_us + 40)
        made.call("cudaDeviceSynchronize", "sync", start + 50, end + gemm_us + 50)
    return made


def test_another_batch_size_lies_on_the_line_through_two() -> None:
    """From 16 to 32 rows a product takes 50 µs more and a copy 10; to 64, 150 and 30 more."""
    trace, other = (batches_of(*us).trace("trace_log") for us in ((100, 20), (150, 30)))
    row = tl.whatif(trace, "batch=16,32:64", other=other).row(0, named=True)
    assert row["after_ns"] - row["before_ns"] == 180_000
    fewer = tl.whatif(trace, "batch=16,32:8", other=other).row(0, named=True)
    assert fewer["before_ns"] - fewer["after_ns"] == 30_000
    same = tl.whatif(trace, "batch=16,32:16", other=other).row(0, named=True)
    assert same["after_ns"] == same["before_ns"]


def test_two_batch_sizes_of_other_programs_say_nothing() -> None:
    trace = batches_of(100).trace("trace_log")
    other = batches_of(150, second="aten::conv2d").trace("trace_log")
    with pytest.raises(
        UsageError, match=r"the two traces do different work: only one has 'aten::(relu|conv2d)'"
    ):
        tl.whatif(trace, "batch=16,32:64", other=other)


def test_sensitivity_is_zero_off_the_path() -> None:
    made = waiting_steps()
    for start in range(0, 1600, 400):
        made.launch("side", start + 50, start + 60, start + 70, stream_id=9)
    rows = tl.analyses.sensitivity(made.trace("trace_log"))
    saved = dict(rows.filter(pl.col("kind") == "op").select("what", "saved_ns").iter_rows())
    # A tenth of aten::mm before its launch (1 µs) and of its kernel (10); no op is launched faster.
    assert saved == {"aten::mm": 11_000}
    causes = dict(rows.filter(pl.col("kind") == "cause").select("what", "saved_ns").iter_rows())
    assert causes["kernels"] == 10_000


def test_the_command_says_before_after_and_range(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.tracelens"
    waiting_steps().trace("trace_log").write(path)
    quoted, unquoted = (
        command_line(capsys, "whatif", path, "no_sync", *words)
        for words in (["faster gemm by 2"], ["faster", "gemm", "BY", "2"])
    )
    assert quoted.code == 0
    assert unquoted.out.replace("BY", "by") == quoted.out
    result = command_line(capsys, "whatif", path, "no_sync")
    assert result.out.startswith("a step takes 400 µs, with no_sync: 340 µs (")
    assert "replay misses the recorded step by 0.0%" in result.out
    assert result.err.endswith(f"report CHANGED --against {path}    when CHANGED is captured\n")
    # What the profiler of these traces costs is not known.
    assert "as recorded, the profiler's cost included" in result.out
    slower = command_line(capsys, "whatif", path, "faster", "gemm", "by", "0.5")
    assert "with faster gemm by 0.5: 500 µs, longer (" in slower.out
    job = command_line(capsys, "whatif", path, "network", "X2")
    assert "one rank was captured" in job.err
    absent = command_line(capsys, "whatif", path, "no_sync", "--rank", 5)
    assert (absent.code, "the trace has no rank 5" in absent.err) == (2, True)


def test_a_program_without_a_gpu_cannot_record_a_graph() -> None:
    made = StepTrace()
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.span("aten::mm", start + 10, start + 390)
    with pytest.raises(UsageError, match="cuda_graph: nothing was launched on a GPU"):
        tl.whatif(made.trace("trace_log"), "cuda_graph")


def test_a_fused_optimizer_keeps_a_share_of_its_step() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("Optimizer.step#AdamW.step", start + 200, start + 800, kind="annotation")
        made.launch("elementwise", start + 400, start + 410, start + 420)
    # Of the host's 600 µs a twentieth is left.
    assert after(made.trace("trace_log"), "fused_optimizer") == pytest.approx(430_000, abs=10_000)


def test_fusing_an_optimizer_of_joined_parameters_is_a_range() -> None:
    """Of the host's 600 µs a fifth is left, or a twentieth to two fifths."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("Optimizer.step#SGD.step", start + 200, start + 800, kind="annotation")
        made.launch("multi_tensor_apply_kernel", start + 400, start + 410, start + 420)
    row = tl.whatif(made.trace("trace_log"), "fused_optimizer").row(0, named=True)
    assert row["after_ns"] == pytest.approx(520_000, abs=10_000)
    # The error to expect is a tenth of what is gained, and 0.02 + 0.05 of the step.
    margin = 2.2 * (0.1 * 480_000 + 0.07 * 520_000)
    assert row["low_ns"] == pytest.approx(430_000 - margin, rel=0.05)
    assert row["high_ns"] == pytest.approx(640_000 + margin, rel=0.05)


@pytest.mark.parametrize(
    ("mark", "saved_us", "least_us"),
    [
        # Of 200 µs of an op 0.66 stay, and of the fused kernel's 100 µs 0.35.
        ("forward", 68 + 65, 0.74 * 200 + 25),
        # Of steps that train, 1.03 and 0.55.
        ("Optimizer.step#SGD.step", -6 + 45, 0.99 * 200 + 19),
    ],
)
def test_a_compiled_program_is_shorter_by_what_pairs_say(
    mark: str, saved_us: int, least_us: float
) -> None:
    made = StepTrace()
    made.span(mark, 320, 330, kind="annotation")
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("aten::mm", start + 100, start + 300)
        made.launch("gemm", start + 300 - 5, start + 300, start + 500, primitive="gemm")
        made.launch("relu", start + 300 - 4, start + 501, start + 601, primitive="elementwise")
        made.span("aten::relu", start + 294, start + 300)
        made.call("cudaDeviceSynchronize", "sync", start + 310, start + 605)
    row = tl.whatif(made.trace("trace_log"), "compile").row(0, named=True)
    assert row["before_ns"] - row["after_ns"] == pytest.approx(saved_us * 1000, abs=9_000)
    # The range ends no lower than the least share of both kernels.
    assert 950 * least_us <= row["low_ns"] < row["after_ns"] < row["high_ns"]


def test_compiling_steps_of_a_host_that_trains_has_no_number() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("autograd::engine::evaluate_function: MmBackward0", start + 10, start + 900)
        made.launch("gemm", start + 880, start + 890, start + 900, primitive="gemm")
    with pytest.raises(UsageError, match="51 % less to 16 % more; cuda_graph"):
        tl.whatif(made.trace("trace_log"), "compile")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Torch-Compiled Region: 0/0", "compiled already"),
        ("triton_poi_fused_0", "compiled already"),
    ],
)
def test_of_some_steps_compiling_gives_no_number(name: str, words: str) -> None:
    made = waiting_steps()
    made.span(name, 200, 300)
    with pytest.raises(UsageError, match=words):
        tl.whatif(made.trace("trace_log"), "compile")


def test_more_workers_may_be_no_faster_at_ops() -> None:
    """A main process that loads for 40 ms, 30 of them in torch's ops, which a worker does alone."""
    highs = []
    for ops_us in (0, 30_000):
        made = StepTrace()
        for start in range(0, 180_000, 45_000):
            made.step(start, start + 45_000)
            loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            made.span(loader, start, start + 40_000, kind="annotation")
            made.span("train.py(9): __getitem__", start, start + 40_000, kind="python")
            if ops_us:
                made.span("aten::flip", start + 5_000, start + 5_000 + ops_us)
            made.span("aten::mm", start + 40_000, start + 45_000)
        row = tl.whatif(made.trace("trace_log"), "workers=4").row(0, named=True)
        highs.append(row["high_ns"])
    # 30 ms and a quarter of 10, in place of a quarter of 40; 2.5 ms of both are hidden.
    assert highs[1] - highs[0] == pytest.approx(22_500_000, rel=0.01)


@pytest.mark.parametrize(("n_names", "is_sure"), [(7, True), (1, False)])
def test_several_passes_over_parameters_are_sure_to_shrink(n_names: int, is_sure: bool) -> None:
    """Seven kernels take 100 µs each.

    Seven passes read and write 14 lists or more, a fused kernel 7; one pass may stay as it is.
    """
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("Optimizer.step#Adam.step", start + 200, start + 240, kind="annotation")
        for at in range(7):
            name = f"multi_tensor_apply_kernel<{at % n_names}>"
            call = start + 200 + 5 * at
            made.launch(name, call, start + 250 + 100 * at, start + 350 + 100 * at)
        made.call("cudaDeviceSynchronize", "sync", start + 245, start + 960)
    row = tl.whatif(made.trace("trace_log"), "fused_optimizer").row(0, named=True)
    assert (row["high_ns"] < row["before_ns"]) == is_sure


@pytest.mark.parametrize(
    ("optimizer", "kernel", "why"),
    [
        ("RMSprop", "multi_tensor_apply_kernel", "a fused form of Adam, AdamW and SGD only"),
        ("AdamW", "multi_tensor_apply_kernel<FusedAdamMathFunctor>", "is fused already"),
    ],
)
def test_an_optimizer_that_cannot_be_fused_gives_no_number(
    optimizer: str, kernel: str, why: str
) -> None:
    made = StepTrace()
    made.step(0, 1000)
    made.span(f"Optimizer.step#{optimizer}.step", 200, 800, kind="annotation")
    made.launch(kernel, 400, 410, 420)
    with pytest.raises(UsageError, match=why):
        tl.whatif(made.trace("trace_log"), "fused_optimizer")


def launching_steps() -> tl.Trace:
    """Three steps of 1 ms, each of ten ops of 90 µs that launch a kernel of 20 µs."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        for begin in range(start, start + 1000, 100):
            made.span("aten::relu", begin + 1, begin + 90)
            made.launch("relu", begin + 50, begin + 60, begin + 80)
    return made.trace("torch")


def test_the_answer_promises_what_a_replay_gives() -> None:
    trace = launching_steps()
    (change,) = make_answer(trace).changes
    row = tl.whatif(trace, "cuda_graph").row(0, named=True)
    assert (change.after_ns, change.low_ns, change.high_ns) == (
        row["after_ns"],
        row["low_ns"],
        row["high_ns"],
    )
    # Ten kernels of 20 µs stay; 800 of the 1,000 µs were idle.
    assert change.after_ns == pytest.approx(205_000, abs=20_000)


def test_the_verdict_promises_what_a_replay_gives() -> None:
    """Not the 0.8 ms of launching in the recorded step: the profiler added a part of it."""
    trace = launching_steps()
    row = tl.whatif(trace, "cuda_graph").row(0, named=True)
    before, after, low, high = (
        f"{row[name] / 1e3:.0f}" for name in ("before_ns", "after_ns", "low_ns", "high_ns")
    )
    assert float(before) < 1_000
    (advice,) = (note for note in notes(trace, verdict(trace)) if note.startswith("Launch fewer"))
    promised = f": {before} → {after} µs a step without the profiler ({low} to {high} µs; "
    assert promised in advice
    assert "up to" not in advice


def test_without_a_cause_the_host_goes_on_at_once() -> None:
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("log", start + 100, start + 500, kind="annotation")
        made.launch("gemm", start + 600, start + 700, start + 900)
    trace = made.trace("trace_log")
    # 600 of 1,000 µs lie in no op and no call: the host's own, but for what a launch takes.
    assert after(trace, "without=host") < 400_000
    with pytest.raises(UsageError, match="spends no time on it in these steps"):
        after(trace, "without=loading")
    with pytest.raises(UsageError, match="say one of host, allocation, loading, input"):
        after(trace, "without=luck")


def test_no_range_ends_below_what_the_device_must_do() -> None:
    """Nine tenths of a step go with the host's work; the device works for 100 µs of it."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        made.span("log", start + 20, start + 880, kind="annotation")
        made.launch("gemm", start + 885, start + 890, start + 990)
    row = tl.whatif(made.trace("torch"), "without=host").row(0, named=True)
    assert 95_000 <= row["low_ns"] <= row["after_ns"] <= 140_000
    faster = tl.whatif(made.trace("torch"), "without=host", "faster gemm by 2").row(0, named=True)
    assert faster["low_ns"] < 95_000


def test_of_an_unknown_profiler_the_answer_gives_a_bound() -> None:
    trace = launching_steps()
    trace.manifest.sources = [source | {"kind": "trace_log"} for source in trace.manifest.sources]
    assert [advised.prediction for advised in advised_changes(trace)] == [None]


def test_a_second_file_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [tmp_path / f"rank{n}.json" for n in range(2)]
    for rank in ranks:
        rank.touch()
    result = command_line(capsys, "whatif", *ranks, "straggler_fixed")
    assert result.code == 2
    assert "is a file, not a change; for the ranks of a job, name the folder" in result.err
