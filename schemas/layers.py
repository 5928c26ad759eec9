"""Tables of a model's layers: modules, the kernels generated from modules, and measured times."""

import polars as pl

from tracelens.schemas.common import RANK
from tracelens.storage.table import Column, Table

LAYERS = Table(
    "layers",
    "A module of the model, in the order first called.",
    (
        RANK,
        Column("module_path", pl.String, "Path of the module, as in spans."),
        Column("class_name", pl.String, "Class of the module."),
        Column("call_order", pl.Int64, "Order of the first call, from 0."),
        Column("n_parameters", pl.Int64, "Parameters of the module itself.", nullable=True),
        Column(
            "hyperparameters", pl.String, "Kernel size, stride and such, as JSON.", nullable=True
        ),
    ),
    ("call_order",),
)
PROVENANCE = Table(
    "provenance",
    "An FX node from which a generated kernel was made; a kernel call without a known node"
    " has one row.",
    (
        RANK,
        Column(
            "graph_key",
            pl.String,
            "Key of the compiled graph, as in the annotation around its runs.",
        ),
        Column("is_backward", pl.Boolean, "Whether the graph is a backward one."),
        Column("call_order", pl.Int64, "Order of the kernel call in the graph, from 0."),
        Column("kernel_name", pl.String, "Generated kernel or extern call."),
        Column("is_extern", pl.Boolean, "Whether it calls a library kernel."),
        Column("node", pl.String, "FX node.", nullable=True),
        Column("aten_op", pl.String, "Operator of the node.", nullable=True),
        Column(
            "module_path",
            pl.String,
            "Module from which the node came; empty for the model itself.",
            nullable=True,
        ),
        Column(
            "rule",
            pl.String,
            "How the module was found: the node's own module stack, that of its forward node, a"
            " neighbouring node's, the node that uses a kernel's result; by earlier versions a"
            " comment in the generated source; trace_log: torch's log shows the module whose"
            " parameters the node uses, trace_log_neighbour: that of a node before it; root where"
            " the model's own forward made it.",
            values=(
                "nn_module_stack",
                "fwd_nn_module_stack",
                "neighbour",
                "consumer",
                "source_comment",
                "trace_log",
                "trace_log_neighbour",
                "root",
                "none",
                "unknown",
            ),
        ),
        Column("output_bytes", pl.Int64, "Bytes of the node's output.", nullable=True),
        Column(
            "input_shapes",
            pl.String,
            "Shapes of the kernel call's arguments as JSON: of a library call as in spans, of a"
            " generated kernel those of the tensors that it reads, then those that it writes, then"
            " empty ones for its numbers of iterations. The same in all rows of a call; null in a"
            " log of torch, and in a sidecar of an older version.",
            nullable=True,
        ),
        Column("input_dtypes", pl.String, "Their element types as JSON.", nullable=True),
        Column("input_strides", pl.String, "Their strides, in elements, as JSON.", nullable=True),
        Column(
            "concrete_inputs",
            pl.String,
            "Arguments that are not tensors, as JSON; null for any other.",
            nullable=True,
        ),
    ),
    ("graph_key", "call_order"),
)
INPUTS_OF_CALLS = ("input_shapes", "input_dtypes", "input_strides", "concrete_inputs")
"""Columns of PROVENANCE with the inputs of a kernel call. The table of spans has the same."""
GRAPH = Table(
    "graph",
    "An operator of a model's graph, or a tensor that the graph is given.",
    (
        RANK,
        Column("graph_key", pl.String, "Key of the graph, made of its operators and shapes."),
        Column("node", pl.String, "Name of the node and of its result, unique in the graph."),
        Column("call_order", pl.Int64, "Order in which the nodes run, from 0."),
        Column(
            "op",
            pl.String,
            "Operator without its namespace and overload: conv2d; input or parameter of a tensor.",
        ),
        Column(
            "inputs",
            pl.String,
            "Names of the nodes that it reads, as a JSON list; null if none was given.",
        ),
        Column(
            "arguments",
            pl.String,
            "Its other arguments as JSON: numbers, booleans, lists, and how GELU is approximated"
            " (none, tanh); null for others.",
        ),
        Column("shape", pl.String, "Shape of its result, as JSON.", nullable=True),
        Column("dtype", pl.String, "Element type of its result.", nullable=True),
        Column("strides", pl.String, "Strides of its result, in elements, as JSON.", nullable=True),
        Column("alias_of", pl.String, "Node of whose memory it is a view.", nullable=True),
        Column("is_input", pl.Boolean, "Whether it is an argument of the model's call."),
        Column("is_output", pl.Boolean, "Whether the model returns it."),
        Column(
            "module_path",
            pl.String,
            "Module that runs it, as in spans; empty for the model itself.",
            nullable=True,
        ),
        Column(
            "source",
            pl.String,
            "How the graph was found: torch.export, the calls that ran (ExecutionTraceObserver),"
            " torch.fx (no shapes).",
            values=("export", "observer", "fx", "adjacency", "unknown"),
        ),
    ),
    ("graph_key", "call_order"),
)
CALL_COSTS = Table(
    "call_costs",
    "Time that one call of a library function took alone on the device.",
    (
        RANK,
        Column("function", pl.String, "Function of the library description."),
        Column("call", pl.String, "Operator, shapes and arguments, as JSON."),
        Column("dtype", pl.String, "Element type."),
        Column("layout", pl.String, "Layout of its tensors: NCHW or NHWC."),
        Column("n_calls", pl.Int64, "Calls that were timed, after warm-up."),
        Column(
            "median_ns",
            pl.Int64,
            "Median duration; null if the call failed.",
            "ns",
            nullable=True,
        ),
        Column("q1_ns", pl.Int64, "First quartile.", "ns", nullable=True),
        Column("q3_ns", pl.Int64, "Third quartile.", "ns", nullable=True),
        Column("device", pl.String, "Device it ran on."),
        Column("problem", pl.String, "Why it could not be timed.", nullable=True),
    ),
)
TIMINGS = Table(
    "timings",
    "One measured duration of a layer or a whole model.",
    (
        RANK,
        Column(
            "configuration",
            pl.String,
            "Configuration in which the model ran.",
            values=("interpreted", "cpp", "cuda", "triton", "custom", "unknown"),
        ),
        Column("compile_mode", pl.String, "torch.compile mode.", nullable=True),
        Column(
            "method",
            pl.String,
            "Method of timing.",
            values=("e2e", "layer", "subtraction", "profiler", "cuda_event", "unknown"),
        ),
        Column(
            "synchronized",
            pl.Boolean,
            "Whether the device was synchronised around each layer; a whole execution always ends"
            " with it.",
        ),
        Column("profiled", pl.Boolean, "Whether a profiler was on."),
        Column(
            "clock",
            pl.String,
            "Clock that was read.",
            values=("wall", "cuda_event", "unknown"),
        ),
        Column(
            "module_path",
            pl.String,
            "Layer; null: the whole model. `(compiled region)`: the cost of calling a compiled"
            " region beyond its work.",
            nullable=True,
        ),
        Column(
            "quantity",
            pl.String,
            "Null for a plain duration. arr_sum: the sum over the timed layers of one execution; "
            "CPU_self, CUDA_self and CUDA_total: the profiler's.",
            nullable=True,
            values=("arr_sum", "CPU_self", "CUDA_self", "CUDA_total", "unknown"),
        ),
        Column(
            "round",
            pl.Int64,
            "Round of the measurement, warm-up first; its executions have a row each.",
        ),
        Column("is_warmup", pl.Boolean, "Whether the round is warm-up."),
        Column(
            "duration_ns",
            pl.Int64,
            "Measured duration; noise can make the difference of a subtraction negative.",
        ),
    ),
)
