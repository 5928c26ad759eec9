"""What ops move: each family by hand, and beside torch's own results of random calls."""

import json
import random
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.op_inputs import LIST, NONE, C, F, H, Inputs, L, S, moved, tensor, value
from tracelens.analyses import roofline
from tracelens.derive.kernels import op_work
from tracelens.derive.kernels.bound_call import ROLES
from tracelens.derive.kernels.op_families import FAMILIES, signatures
from tracelens.derive.kernels.recorded_call import RecordedCall


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        # 6 numbers and a row of 3 that is broadcast, 6 written, in float32: 15 * 4 bytes.
        ("add", [tensor(2, 3), tensor(3), value(1)], (60, 6)),
        # The same into an out=, which is written and not read.
        ("add", [tensor(2, 3), tensor(3), value(1), tensor(2, 3)], (60, 6)),
        # In place: 6 read, 6 written, and a number of 8 bytes.
        ("add_", [tensor(2, 3), tensor(of="double"), value(1)], (56, 6)),
        # 2 rows of 3 are halved: 6 read, 3 written.
        ("glu", [tensor(2, 3), value(0)], (36, 12)),
        # 5 rows of a table of 9 by 4 in 2 bags: 5 * 8 and 2 * 8 for indices and offsets.
        (
            "_embedding_bag",
            [
                tensor(9, 4),
                tensor(5, of=L),
                tensor(2, of=L),
                *[value(0)] * 3,
                tensor(),
                value(0),
                value(-1),
            ],
            (40 + 80 + 16 + 32, 36),
        ),
        # Truth values have one byte: 12 numbers read.
        ("gt", [tensor(2, 3), tensor(2, 3)], (54, 6)),
        # bfloat16 meets float32, and float32 comes of it: 12 + 24 + 24.
        ("mul", [tensor(2, 3, of=H), tensor(2, 3)], (60, 6)),
        # A cast: 24 read, 12 written; what is written is not read.
        ("copy_", [tensor(2, 3, of=H), tensor(2, 3), value(None)], (36, 0)),
        ("_to_copy", [tensor(2, 3), value(15), *[value(None, NONE)] * 5], (36, 0)),
        ("fill_", [tensor(2, 3), value(0)], (24, 0)),
        # Sums over two of three dimensions, then over all of them.
        ("sum", [tensor(2, 3, 4), value([0, 2], LIST), value(None), value(None, NONE)], (108, 24)),
        ("mean", [tensor(2, 3, 4), value([], LIST), value(None), value(None, NONE)], (100, 24)),
        ("max", [tensor(2, 3), value(1), value(None)], (24 + 2 * 4 + 2 * 8, 6)),
        ("_softmax", [tensor(2, 3), value(1), value(False)], (48, 30)),
        # Input and output, weights and bias of 4, and two statistics of each of 6 rows.
        (
            "native_layer_norm",
            [tensor(6, 4), value([4], LIST), tensor(4), tensor(4), value(1e-5)],
            (4 * (24 + 24 + 8 + 12), 7 * 24),
        ),
        # 6 of 100 rows of 4 in bfloat16, found by 64-bit indices.
        (
            "embedding",
            [tensor(100, 4, of=H), tensor(6, of=L), *[value(-1)] * 3],
            (6 * 8 + 6 * 8 + 6 * 8, 0),
        ),
        (
            "embedding_dense_backward",
            [tensor(6, 4), tensor(6, of=L), value(100), value(-1), value(False)],
            (96 + 48 + 1600, 400),
        ),
        (
            "gather",
            [tensor(8, 9), value(1), tensor(8, 2, of=L), value(False)],
            (16 * (8 + 4 + 4), 0),
        ),
        ("index_select", [tensor(8, 9), value(0), tensor(2, of=L)], (2 * 8 + 2 * 18 * 4, 0)),
        # One of 4 rows is written with what a source holds, by an index of its size.
        ("scatter_", [tensor(4, 3), value(0), tensor(1, 3, of=L), tensor(1, 3)], (24 + 12 + 12, 0)),
        (
            "nll_loss_forward",
            [tensor(8, 10), tensor(8, of=L), value(None, NONE), value(1), value(-100)],
            (8 * 8 + 8 * 4 + 2 * 4, 0),
        ),
        ("topk", [tensor(5, 9), value(2), value(-1), value(True), value(True)], (180 + 10 * 12, 0)),
        # 3x3 windows at steps of 2 over 8x8, padded by 1: 4x4, with 64-bit indices.
        (
            "max_pool2d_with_indices",
            [
                tensor(1, 2, 8, 8),
                value([3, 3], LIST),
                value([2, 2], LIST),
                value([1, 1], LIST),
                value([1, 1], LIST),
                value(False),
            ],
            (512 + 32 * 12, 128),
        ),
        # The gradient and the indices of 32 are read, 128 are written.
        (
            "max_pool2d_with_indices_backward",
            [
                tensor(1, 2, 4, 4),
                tensor(1, 2, 8, 8),
                *[value([3, 3], LIST)] * 4,
                value(False),
                tensor(1, 2, 4, 4, of=L),
            ],
            (32 * 12 + 512, 0),
        ),
        ("native_dropout", [tensor(2, 3), value(0.1), value(True)], (24 + 24 + 6, 12)),
        # Two rows of 8 real numbers have 5 complex ones each: 2.5 * 8 * log2(8) operations a row.
        ("_fft_r2c", [tensor(2, 8), value([1], LIST), value(0), value(True)], (64 + 80, 120)),
        ("_fft_c2r", [tensor(2, 5, of=C), value([1], LIST), value(0), value(8)], (80 + 64, 120)),
        ("_fft_c2c", [tensor(2, 8, of=C), value([1], LIST), value(0), value(True)], (256, 240)),
        # 5 tokens of two sequences, each by matrices of 8x3 and 8x2; two states of 2x2.
        (
            "_cudnn_rnn",
            [
                tensor(5, 3),
                ([[8, 3], [8, 2], [8], [8]], "TensorList", None),
                *[value(4), tensor(56), tensor(1, 2, 2), tensor(1, 2, 2)],
                *[value(n) for n in (2, 2, 0, 1, False, 0.0, True, False)],
                value([2, 2, 1], LIST),
                value(None, NONE),
            ],
            (60 + 32 + 224 + 40 + 32, 2 * 5 * 40),
        ),
        # Gates of 2x6 from input and state, a state of 2x2, of which five times as much is saved.
        (
            "_thnn_fused_gru_cell",
            [tensor(2, 6), tensor(2, 6), tensor(2, 2), *[value(None, NONE)] * 2],
            (4 * (12 + 12 + 4 + 4 + 20), 60),
        ),
        (
            "_thnn_fused_lstm_cell_backward_impl",
            [tensor(2, 2), value(None, NONE), *[tensor(2, 2)] * 2, tensor(2, 8), value(False)],
            (4 * (4 + 4 + 4 + 16 + 16 + 4), 80),
        ),
    ],
)
def test_bytes_by_hand(name: str, inputs: Inputs, expected: tuple[int, int]) -> None:
    assert moved(f"aten::{name}", inputs) == expected


def test_lists_of_tensors_are_moved_with_their_elements_type() -> None:
    """The profiler says `TensorList`. The element type is the kernel's."""
    two = ([[2, 3], [4]], "TensorList", None)
    assert moved("aten::cat", [two, value(0)], of="c10::Half") == (2 * 10 * 2, 0)
    assert moved("aten::cat", [two, value(0)]) is None
    # Two lists are read and the first written: 30 numbers.
    assert moved("aten::_foreach_add_", [two, two, value(1)], of=F) == (120, 10)
    assert moved("aten::_foreach_add_", [([], "TensorList", None), two, value(1)], of=F) is None
    # Fused Adam changes parameters, both averages and the step, and reads the gradients as well.
    steps: tuple[Any, str, Any] = ([[], []], "TensorList", None)
    lists = [two, two, two, two, ([], NONE, None), steps]
    adam = [*lists, *[value(0.1)] * 7, value(None, NONE), value(None, NONE)]
    assert moved("aten::_fused_adamw_", adam, of=F) is not None


def test_expanded_sizes_are_read_once() -> None:
    inputs = [tensor(5, 4), tensor(5, 4), value(1)]
    assert moved("aten::add", inputs, strides=[[4, 1], [0, 1], []]) == (4 * (20 + 4 + 20), 20)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("aten::add", [tensor(2, 3), tensor(4), value(1)]),
        ("aten::add", [tensor(2, 3)]),
        ("aten::add", [tensor(2, -3), tensor(3), value(1)]),
        ("aten::add", [tensor(2, 3, of="mystery"), tensor(3), value(1)]),
        ("aten::sum", [tensor(2, 3), value([7], LIST), value(None), value(None, NONE)]),
        ("aten::topk", [tensor(5, 9), value(None), value(-1), value(True), value(True)]),
        ("aten::view", [tensor(2, 3), value([6], LIST)]),
        ("triton_poi_fused_add_0", [value(12)]),
    ],
)
def test_what_cannot_be_told_is_not_guessed(name: str, inputs: Inputs) -> None:
    assert moved(name, inputs) is None


def test_a_compiled_kernel_moves_what_its_launch_is_given() -> None:
    """Two inputs and an output of 8 numbers; the sum between them never reaches memory."""
    arguments = [tensor(8), tensor(8), tensor(8), value(8)]
    assert moved("triton_poi_fused_add_relu_0", arguments) == (96, 8)
    # Of a table of 1000 rows a lookup reads what it writes.
    lookup = [tensor(2, of=L), tensor(1000, 4), tensor(2, 4), value(8)]
    assert moved("triton_poi_fused_embedding_0", lookup) == (2 * 8 + 32 + 32, 8)
    # A template's product: 2x3 by 3x5, with a bias before them.
    product = [tensor(5), tensor(2, 3), tensor(3, 5), tensor(2, 5)]
    assert moved("triton_tem_fused_addmm_3", product) == (4 * (5 + 6 + 15 + 10), 60)
    convolution = [tensor(1, 2, 4, 4), tensor(3, 2, 3, 3), tensor(1, 3, 2, 2)]
    assert moved("triton_tem_fused_convolution_1", convolution) == (4 * (32 + 54 + 12), 2 * 12 * 18)


def test_a_model_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_work, "_REGISTERED", {})
    inputs = [tensor(2, 3), tensor(3, 5), value(7)]
    assert moved("mine::product", inputs) is None

    @tl.roofline_model("mine::product")
    def product(call: RecordedCall) -> tuple[int, int]:
        rows, summed = call.shape(0)
        columns = call.shape(1)[1]
        return 2 * rows * summed * columns, call.bytes_of(0) + call.bytes_of(1) + 4 * rows * columns

    assert moved("mine::product", inputs) == (4 * 31, 60)
    # Where the call has not what the model asks for, its work is not known.
    assert moved("mine::product", inputs[:1]) is None
    with pytest.raises(ValueError, match="with its namespace"):
        tl.roofline_model("product")


def test_signatures_name_families_and_roles() -> None:
    for name, (family, known) in signatures().items():
        assert family in FAMILIES, name
        assert known, name
        assert {*"".join(known)} <= {*ROLES, ">", "*"}, name


CALLS: dict[str, Any] = {
    "add": lambda x, y: (x, y),
    "where": lambda x, y: (x > 0, x, y),
    "gelu": lambda x, _: (x,),
    "addcmul": lambda x, y: (x, y, x),
    "amax": lambda x, _: (x, [1], True),
    "var": lambda x, _: (x, [0], True),
    "argmax": lambda x, _: (x, 1),
    "cumsum": lambda x, _: (x, 1),
    "sort": lambda x, _: (x,),
    "_log_softmax": lambda x, _: (x, 1, False),
    "native_dropout": lambda x, _: (x, 0.1, True),
    "avg_pool2d": lambda x, _: (x[None], [2, 2], [1, 1], [0, 0], True),
    "upsample_nearest2d": lambda x, _: (x[None, None], [8, 9]),
    "_adaptive_avg_pool2d": lambda x, _: (x[None, None], [2, 3]),
    "gelu_backward": lambda x, _: (x, x),
    "mse_loss": lambda x, _: (x, x, 1),
    "floor_divide": lambda x, y: (x, y),
    "hardswish_backward": lambda x, _: (x, x),
    "reflection_pad1d": lambda x, _: (x, [2, 1]),
    "replication_pad2d": lambda x, _: (x[None], [2, 1, 0, 3]),
    "grid_sampler_2d": lambda x, _: (x[None, None], x.new_empty(1, 5, 3, 2), 0, 0, True),
    "native_group_norm": lambda x, _: (
        *(x.new_empty(2, *x.shape), x[:, 0].contiguous(), x[:, 0].contiguous()),
        *(2, x.shape[0], x.shape[1], 1, 1e-5),
    ),
    "glu_backward": lambda x, _: (x[:2], x[:4], 0),
}


def calls(torch: Any, pick: random.Random) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Calls on a matrix, and a row that is broadcast to it."""
    for name, arguments in CALLS.items():
        if arguments is not None:
            n, m = pick.randint(4, 9), pick.randint(4, 9)
            x = torch.empty(n, m, device="meta")
            if name == "avg_pool2d":
                x = torch.empty(2, n, m, device="meta")
            yield name, arguments(x, torch.empty(m, device="meta"))


def test_outputs_are_as_large_as_torchs() -> None:
    """Least bytes: inputs and outputs by torch's own shapes on the meta device."""
    torch = pytest.importorskip("torch", reason="outputs are compared with torch's")
    pick = random.Random(3)  # noqa: S311 - no secret
    words = {torch.float32: F, torch.int64: L, torch.bool: "bool"}
    for name, arguments in calls(torch, pick):
        packet = getattr(torch.ops.aten, name)
        results = packet(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        schema = next(
            schema
            for schema in (getattr(packet, each)._schema for each in packet.overloads())
            if len(schema.arguments) >= len(arguments)
            and ("Tensor" in str(schema.arguments[1].type) if len(schema.arguments) > 1 else False)
            == (len(arguments) > 1 and hasattr(arguments[1], "shape"))
            and not any(argument.is_out for argument in schema.arguments)
        )
        filled = [*arguments, *[None] * (len(schema.arguments) - len(arguments))]
        inputs: Inputs = [
            (list(each.shape), words[each.dtype], None)
            if hasattr(each, "shape")
            else ([], LIST if isinstance(each, list) else S, each)
            for each in filled
        ]
        tensors = [each for each in (*arguments, *results) if hasattr(each, "shape")]
        expected = sum(each.numel() * each.itemsize for each in tensors)
        found = moved(f"aten::{name}", inputs)
        assert found is not None, name
        assert found[0] == expected, name


def test_the_file_is_what_the_registry_gives() -> None:
    """Only with the torch that it was written with. Others may have other ops."""
    torch = pytest.importorskip("torch", reason="the registry is torch's")
    from tools import op_signatures  # noqa: PLC0415 - imports torch's registry

    written = json.loads(op_signatures.WRITTEN.read_text())
    if torch.__version__.partition("+")[0] != written["torch"]:
        pytest.skip(f"the file is of torch {written['torch']}")
    assert op_signatures.registry() == written["ops"]


CALL = {"kind": "op", "name": "aten::_foreach_mul_", "input_shapes": "[[], []]", "step": 0}
GRADIENT = {"kind": "op", "name": "torch::autograd::AccumulateGrad", "step": 0}
KERNEL = "multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float, 1, 1, 0>>"


@pytest.mark.parametrize(("n_blocks", "expected"), [(3, 2 * 4 * 100_010), (2, 2 * 4 * 2 * 65_536)])
def test_long_lists_are_the_steps_gradients(n_blocks: int, expected: int) -> None:
    """100,000 elements take two chunks of 65,536 and 10 take one: two blocks prove no list."""
    spans: list[dict[str, Any]] = [
        GRADIENT | {"input_shapes": "[[100, 1000]]", "input_dtypes": '["float"]'},
        GRADIENT | {"input_shapes": "[[10]]", "input_dtypes": '["float"]'},
        CALL | {"input_dtypes": '["TensorList", "Scalar"]'},
    ]
    kernels = [{"span_id": 2, "duration_ns": 5, "name": KERNEL, "grid_x": n_blocks}]
    found = roofline(make_trace(spans=spans, kernels=kernels))
    rows = found.filter(pl.col("op") == "aten::_foreach_mul_")["least_bytes"].to_list()
    assert rows == [expected]


def test_what_moves_memory_inside_a_product_counts_alone() -> None:
    """A product of 6 ns runs a copy of 4 ns. Each counts its own kernel, not the other's."""
    spans: list[dict[str, Any]] = [
        {
            "kind": "op",
            "name": "aten::mm",
            "input_shapes": "[[2, 3], [3, 5]]",
            "input_dtypes": '["float", "float"]',
        },
        {
            "kind": "op",
            "name": "aten::copy_",
            "parent_id": 0,
            "input_shapes": "[[2, 3], [2, 3], []]",
            "input_dtypes": '["float", "float", "Scalar"]',
        },
    ]
    kernels = [{"span_id": 0, "duration_ns": 6}, {"span_id": 1, "duration_ns": 4}]
    found = roofline(make_trace(spans=spans, kernels=kernels))
    assert found.select("op", "flops", "least_bytes", "duration_total_ns").rows() == [
        ("aten::mm", 60, 4 * 31, 6),
        ("aten::copy_", 0, 48, 4),
        ("(not modelled)", None, None, 0),
    ]
