"""Library and primitive of kernels, against labels written by hand from what each kernel does."""

import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracelens as tl
from tests import kernel_accuracy
from tests.conftest import examples
from tracelens.derive.kernels.kernel_classes import classify, op_primitives, unmangled_head
from tracelens.schemas.device import LIBRARIES, PRIMITIVES

ROOT = Path(__file__).parent.parent

# Older torch and CUDA, ROCm, other libraries: written beside the rules, so they keep the rules from
# breaking and prove nothing of names not seen. What proves something is kernel_accuracy.LABELS.
ELSEWHERE = pl.read_csv(Path(__file__).parent / "data" / "kernel_names_elsewhere.csv")
CAPTURES = sorted((ROOT / "samples" / "torch").glob("*.json.gz"))
EXPORTS = sorted((ROOT / "samples" / "nsys").glob("*.sqlite"))


def classified(name: str, context: str | None = None) -> tuple[str, str, str]:
    """(library, primitive, primitive_source) of one kernel."""
    frame = classify(pl.Series([name]), pl.Series([context], dtype=pl.String))
    library, primitive, source, _ = frame.row(0)
    return library, primitive, source


def test_labels_use_the_words_of_the_schema() -> None:
    labels = kernel_accuracy.labels()
    assert kernel_accuracy.n_distinct(labels) >= 300
    assert labels.select("name", "op").is_duplicated().sum() == 0
    for table in (labels, ELSEWHERE):
        assert set(table["library"]) <= set(LIBRARIES)
        assert set(table["primitive"]) <= set(PRIMITIVES)


@pytest.mark.parametrize(
    ("word", "by_name", "by_time"), [("library", 0.99, 0.995), ("primitive", 0.90, 0.97)]
)
def test_accuracy_on_labels_written_without_the_rules(
    word: str, by_name: float, by_time: float
) -> None:
    """The floors are a little below what is reached.

    The rest is a matter of words, not of kernels.
    """
    judged = kernel_accuracy.judged()
    row = kernel_accuracy.accuracy(judged, word)
    assert row["by_name_frac"] >= by_name
    assert row["by_time_frac"] >= by_time
    assert judged.filter(pl.col(f"found_{word}") == "unknown").is_empty()


def test_accuracy_is_the_share_of_time_that_agrees() -> None:
    """By hand: 3 of 4 names and 10 of 100 ns agree."""
    words = ["gemm", "conv", "conv", "layout"]
    table = pl.DataFrame(
        {"primitive": words, "found_primitive": ["gemm", "conv", "conv", "memory"]}
    )
    judged = table.with_columns(duration_ns=pl.Series([1, 2, 7, 90]))
    found = kernel_accuracy.accuracy(judged, "primitive")
    assert (found["by_name_frac"], found["by_time_frac"]) == (0.75, 0.1)


def test_names_from_elsewhere() -> None:
    found = classify(ELSEWHERE["name"], ELSEWHERE["context"])
    both = pl.concat([ELSEWHERE, found.select(pl.all().name.prefix("found_"))], how="horizontal")
    wrong = both.filter(
        (pl.col("library") != pl.col("found_library"))
        | (pl.col("primitive") != pl.col("found_primitive"))
    )
    assert wrong.rows() == []


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name.split(".")[0])
def test_time_of_a_capture_is_classified_as_labelled(capture: Path) -> None:
    """Weighted by the capture's own time. The labels cover nearly all of it.

    Training by SGD is lowest: its `_foreach_` arithmetic is labelled optimizer, which the rules
    leave to the phase.
    """
    trace = tl.collect(capture)
    ops = trace.spans.filter(pl.col("kind") == "op").select("rank", "span_id", op="name")
    labels = kernel_accuracy.labels().select(
        "name", "op", right_library="library", right_primitive="primitive"
    )
    # A name of one label has it under every op.
    by_op = labels.filter(pl.col("name").is_duplicated())["name"].unique().implode()
    key = pl.when(pl.col("name").is_in(by_op)).then("op").alias("op")
    kernels = trace.kernels.join(ops, on=["rank", "span_id"], how="left").select(
        pl.col("name", "op", "library", "primitive").cast(pl.String), "duration_ns"
    )
    labelled = kernels.with_columns(key).join(
        labels.with_columns(key), on=["name", "op"], nulls_equal=True
    )
    known = int(labelled["duration_ns"].sum())
    assert known > 0.95 * int(kernels["duration_ns"].sum())
    for word, floor in (("library", 0.999), ("primitive", 0.93)):
        right = labelled.filter(pl.col(word) == pl.col(f"right_{word}"))
        assert int(right["duration_ns"].sum()) >= floor * known
    assert kernels.filter(pl.col("primitive") == "unknown").height == 0


@pytest.mark.parametrize("export", EXPORTS, ids=lambda path: path.stem)
def test_nsys_spells_names_in_its_own_way(export: Path) -> None:
    """It writes unnamed namespaces as <unnamed>.

    Every kernel of these models has a library and a primitive.
    """
    kernels = tl.collect(export).kernels
    assert kernels.filter(pl.col("primitive") == "unknown")["name"].unique().to_list() == []
    assert (
        kernels.filter(pl.col("library").is_in(["other", "unknown"]))["name"].unique().to_list()
        == []
    )


def test_the_launching_op_decides_what_a_shared_kernel_computes() -> None:
    gemm = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_kernel__5x_cublas"
    assert classified(gemm, "aten::cudnn_convolution") == ("cublas", "conv", "context")
    assert classified(gemm, "autograd::engine::evaluate_function: ConvolutionBackward0") == (
        "cublas",
        "conv",
        "context",
    )
    assert classified(gemm, "aten::addmm") == ("cublas", "gemm", "context")
    assert classified(gemm, "aten::_scaled_mm") == ("cublas", "gemm", "context")
    assert classified(gemm) == ("cublas", "gemm", "name")
    assert classified(gemm, "my_library::fancy") == ("cublas", "gemm", "name")


@pytest.mark.parametrize(
    ("name", "context", "primitive"),
    [
        ("_lora_shrink_kernel", "vllm::lora_shrink", "gemm"),
        ("_qkv_lora_b_kernel", "lora::qkv", "gemm"),
        # FBGEMM's namespace contains `gemm`, whatever its kernels do.
        ("fbgemm_gpu::permute_2D_data_kernel<long>", "fbgemm::permute_2D_sparse_data", "indexing"),
        ("fbgemm_gpu::split_embedding_codegen_forward_unweighted_kernel<float>", None, "indexing"),
        ("fbgemm_gpu::f8f8bf16_gemm_kernel<float>", None, "gemm"),
        ("transformer_engine::gated_kernels::gated_act_kernel<b>", "_LayerNormMLP", "elementwise"),
        (
            "void cudnn::ops::nchwToNhwcKernel<float>(float const*)",
            "aten::cudnn_convolution",
            "layout",
        ),
        (
            (
                "void at::native::vectorized_elementwise_kernel<4,"
                " at::native::CUDAFunctor_add<float>, char>(int)"
            ),
            "aten::cudnn_convolution",
            "elementwise",
        ),
        (
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,"
                " char>(int)"
            ),
            "aten::native_batch_norm",
            "memory",
        ),
        (
            (
                "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(int)>(int)"
            ),
            "aten::native_layer_norm",
            "layout",
        ),
        ("triton_poi_fused_add_relu_0", "aten::convolution", "elementwise"),
    ],
)
def test_what_helps_an_op_is_not_the_op(name: str, context: str, primitive: str) -> None:
    assert classified(name, context)[1:] == (primitive, "name")


@pytest.mark.parametrize(
    "context", ["aten::_convert_indices_from_coo_to_csr", "aten::_conj_physical", "aten::convert"]
)
def test_an_op_that_sounds_like_convolution_decides_nothing(context: str) -> None:
    assert classified("volta_sgemm_128x64_nn", context)[1] == "gemm"


@pytest.mark.parametrize(
    "functor",
    [
        (
            "at::native::abs_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()()"
            " const::{lambda(float)#1}"
        ),
        "at::native::(anonymous namespace)::lambda_adamant_softmaximum(int)::{lambda()#1}",
        "my::normal_pooled_gemmology_convolver(int)",
    ],
)
def test_words_inside_types_do_not_decide(functor: str) -> None:
    """`lamb` is in every lambda.

    Matched on full names, a second of elementwise work was an optimizer's.
    """
    name = (
        f"void at::native::vectorized_elementwise_kernel<4, {functor}, std::array<char*, 2ul>"
        " >(int)"
    )
    assert classified(name) == ("aten", "elementwise", "name")


@pytest.mark.parametrize(
    ("name", "primitive"),
    [
        ("triton_poi_fused_3", "layout"),
        ("triton_red_fused_3", "fused"),
        ("triton_poi_fused_add_copy__46", "elementwise"),
        ("triton_poi_fused_copy__1", "layout"),
        ("triton_poi_fused_convolution_1", "fused"),
        ("fused_batch_norm_batch_norm_add", "fused"),
        ("fused_batch_norm", "normalization"),
    ],
)
def test_names_that_fusers_give(name: str, primitive: str) -> None:
    assert classified(name)[1] == primitive


def test_an_op_known_for_triton_goes_before_the_name() -> None:
    assert classified("add_kernel", "triton") == ("triton", "elementwise", "name")
    assert classified("add_kernel")[0] == "other"


def test_rows_stay_in_order_and_nulls_are_unknown() -> None:
    names = pl.Series(
        [
            "nvjet_sm90_tst_128x64",
            None,
            "",
            "ncclDevKernel_Broadcast_RING_LL(x)",
            "nvjet_sm90_tst_128x64",
        ]
    )
    found = classify(names, pl.Series(["aten::mm", "aten::mm", None, None, "aten::conv2d"]))
    assert found.rows() == [
        ("cublas", "gemm", "context", False),
        ("unknown", "gemm", "context", False),
        ("unknown", "unknown", "name", False),
        ("nccl", "communication", "name", True),
        ("cublas", "conv", "context", False),
    ]


def test_no_kernels_give_a_typed_empty_frame() -> None:
    found = classify(pl.Series([], dtype=pl.String))
    words = ("library", "primitive", "primitive_source")
    assert dict(found.schema) == {word: pl.Categorical() for word in words} | {
        "is_communication": pl.Boolean()
    }


def test_categories_are_read_like_strings() -> None:
    names = pl.Series(["volta_sgemm_128x64_nn"], dtype=pl.Categorical)
    assert classify(names).row(0)[:2] == ("cublas", "gemm")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernelEEEvT_", "cutlass__5x_cudnn::Kernel"),
        ("_ZN2at6native12_GLOBAL__N_13fooEv", "at::native::foo"),
        ("_Z9my_kernelPf", "my_kernel"),
        ("_Z", "_Z"),
        ("_ZN999a", "a"),
        ("my_kernel", "my_kernel"),
    ],
)
def test_head_of_a_mangled_name(name: str, head: str) -> None:
    assert unmangled_head(name) == head


HOSTILE = [
    *(
        unit * (100_000 // len(unit))
        for unit in ("a", "_", "::", "<", "(", "A<", "_add", "é", "0de1", "1a", ">::type ")
    ),
    "std::enable_if<" + "<" * 100_000,
    "triton_poi_fused" + "_add" * 25_000 + "_nonsense",
    "triton_poi_fused" + "_t" * 50_000,
    "_ZN" + "9" * 100_000,
    "_ZN" + "1a" * 50_000,
    "void cutlass::device_kernel<" + "conv" * 25_000,
    "(anonymous namespace)::" * 4000,
]


def test_long_names_cost_little() -> None:
    started = time.process_time()
    found = classify(pl.Series(HOSTILE), pl.Series([*HOSTILE[1:], None]))
    assert time.process_time() - started < 5
    assert found.height == len(HOSTILE)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.text(max_size=60), st.none() | st.text(max_size=30)), max_size=6))
def test_any_text_gets_words_of_the_schema(pairs: list[tuple[str, str | None]]) -> None:
    names = pl.Series([name for name, _ in pairs], dtype=pl.String)
    found = classify(names, pl.Series([context for _, context in pairs], dtype=pl.String))
    assert found.height == len(pairs)
    assert set(found["library"]) <= set(LIBRARIES)
    assert set(found["primitive"]) <= set(PRIMITIVES)
    assert set(found["primitive_source"]) <= {"context", "name"}


@pytest.mark.parametrize(
    ("op", "primitive"),
    [
        ("aten::mkldnn_convolution", "conv"),
        ("aten::addmm", "gemm"),
        ("aten::clamp_min_", "elementwise"),
        ("aten::_foreach_mul_", "elementwise"),
        ("aten::empty_strided", "memory"),
        ("aten::zero_", "memory"),
        ("aten::copy_", "layout"),
        ("prims::convert_element_type", "layout"),
        ("prims::_low_memory_max_pool_with_offsets", "pooling"),
        ("aten::native_layer_norm", "normalization"),
        ("aten::mean", "reduction"),
        ("aten::_softmax", "softmax"),
        ("aten::index_select", "indexing"),
        ("aten::nll_loss_forward", "loss"),
        ("mine::adder", "unknown"),
        (None, "unknown"),
    ],
)
def test_an_op_alone_says_what_it_computes(op: str | None, primitive: str) -> None:
    assert op_primitives(pl.Series("op", [op], pl.String)).to_list() == [primitive]
