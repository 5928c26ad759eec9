"""Read torch's structured logs (TORCH_TRACE) to find the modules of compiled kernels.

This is for programs that ran without --compile-provenance.

1. The graph that Dynamo prints names each parameter by its module
   (`l_self_modules_fc_parameters_weight_`).
2. A node gets the module of its parameters, else the module of a node that it reads.
3. In Inductor's generated code, a comment above each call lists the nodes that it computes.

Logs also hold paths, source lines and settings, which are not read.
"""

import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import polars as pl
from msgspec import Struct, field

from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.schemas.layers import INPUTS_OF_CALLS
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector

KIND = "trace_log"
_RECORD = re.compile(rb"^[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\]\n]{1,400}\] ?(\{.*)$")
_WANTED = (
    b'"dynamo_output_graph"',
    b'"inductor_output_code"',
    b'"fx_graph_cache_',
    b'"torch_version"',
    b'"inductor_post_grad_graph"',
)
_CACHE = re.compile(r"^fx_graph_cache_(hit|miss|bypass)$")
_KEY = re.compile(r'"key": ?"(\w{8,100})"')
_LONGEST_LINE = 1 << 24
_ALIAS = re.compile(r"^\s+([A-Za-z_]\w*) = ([A-Za-z_]\w*)$")
_NUMBERED = re.compile(r"^(?:arg(\d{1,9})_1|primals_(\d{1,9}))$")
_NODE = re.compile(r'^\s+(\w+)(?:: "([^"]*)")? = (.+)$')
_TARGET = re.compile(r"^([\w.]+)\(")
_PARAMETER = re.compile(r"^[LG]_\w*?(?:_modules_(\w+?))?_(?:parameters|buffers)_\w+_$")
_TYPE = re.compile(r"^[a-z]+(\d+)\w*\[([\d, ]*)\]")
_SOURCE_NODES = re.compile(r"^\s*# (?:Topologically Sorted |Unsorted )?Source Nodes: \[([^\]]*)\]")
_DEFINED = re.compile(r"^(\w+) = async_compile\.\w+\(")
_GENERATED = re.compile(r"^\s+(triton_\w+|cpp_fused\w*)(?:\.run)?\(")
_EXTERN = re.compile(r"^\s+(?:\w+ = )?(extern_kernels\.\w+|torch\.ops\.aten\.[\w.]+)\(")
_BITS = 8
_MOST_DIGITS = 18

_CompileId: TypeAlias = tuple[str, ...]


class _Node(Struct):
    """Holds a node of a printed graph."""

    target: str
    """The node's operator."""
    module_path: str | None
    rule: str
    """The value of `rule` in the table provenance: how the module was found."""
    output_bytes: int
    """The size of the result, 0 if it is unknown."""


class _Log(Struct):
    """Holds the compiled graphs of a log."""

    dynamo: dict[_CompileId, str] = field(default_factory=dict)
    """The last graph that Dynamo printed in each compilation."""
    lowered: dict[_CompileId, str] = field(default_factory=dict)
    """The last lowered graph that each compilation printed."""
    code: dict[_CompileId, list[tuple[str, str]]] = field(default_factory=dict)
    """Pairs of lowered graph and generated code. A pair is removed when its cache key is logged."""
    graphs: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Dynamo's graph, the lowered graph and the generated code, by cache key."""
    torch: str | None = None
    rank: int | None = None
    n_records: int = 0


def sniff(path: Path, head: bytes) -> bool:
    """Return whether the content is a structured log of torch."""
    return not path.is_dir() and _RECORD.match(head.split(b"\n", 1)[0]) is not None


def read(path: Path) -> list[Capture]:
    """Return one Capture with a table `provenance`, one row per kernel call and node.

    Raises SourceError if the file is no structured log of torch.
    """
    log = _Log()
    try:
        for about, payload in _records(path):
            log.n_records += 1
            _take(log, about, payload)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}; name a file that you may read"
        ) from error
    if not log.n_records:
        raise SourceError(
            f"{path}: expected a structured log of torch, found none of its records; run the"
            " program with TORCH_TRACE set to a folder"
        )
    diagnostics = Diagnostics()
    text = "generated code whose graph key is not in the log, so that no trace can be joined to it"
    diagnostics.add("warning", "graphs_without_key", text, sum(map(len, log.code.values())))
    table = _table(log)
    return [
        Capture(
            kind=KIND,
            source=SourceFile.of(path, KIND),
            tables={"provenance": table} if table.height else {},
            producer="torch structured log",
            versions={"torch": log.torch} if log.torch else {},
            rank=log.rank,
            rank_origin="log" if log.rank is not None else "input order",
            reasons={
                "provenance": (
                    "the log has no compiled graph with its key; compile without"
                    " force_disable_caches"
                )
            },
            diagnostics=diagnostics,
        )
    ]


def _records(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the JSON object and the payload of each record.

    Both are empty for a record of a kind that is not needed.
    """
    about: dict[str, Any] | None = None
    lines: list[str] = []
    with path.open("rb") as stream:
        while line := stream.readline(_LONGEST_LINE):
            if line.startswith(b"\t"):
                if about:
                    lines.append(line[1:].decode(errors="replace").rstrip("\n"))
                continue
            match = _RECORD.match(line)
            if match is None:
                continue
            if about is not None:
                yield about, "\n".join(lines)
            lines = []
            about = _decoded(match[1]) if any(word in line for word in _WANTED) else {}
    if about is not None:
        yield about, "\n".join(lines)


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _take(log: _Log, about: dict[str, Any], payload: str) -> None:
    if not about:
        return
    if isinstance(about.get("rank"), int):
        log.rank = about["rank"]
    which = tuple(
        str(about.get(name)) for name in ("frame_id", "frame_compile_id", "compiled_autograd_id")
    )
    if "dynamo_output_graph" in about:
        log.dynamo[which] = payload
    elif "inductor_output_code" in about:
        log.code.setdefault(which, []).append((log.lowered.get(which, ""), payload))
    elif isinstance(about.get("artifact"), dict):
        _take_artifact(log, str(about["artifact"].get("name")), which, payload)


def _take_artifact(log: _Log, name: str, which: _CompileId, payload: str) -> None:
    """Take an artifact of the compilation `which`: torch's version, a graph, or a graph's key."""
    if name == "torch_version":
        match = re.search(r'"pytorch_version": "([\w.+]{1,40})"', payload)
        log.torch = match[1] if match else None
    elif name == "inductor_post_grad_graph":
        log.lowered[which] = payload
    elif _CACHE.match(name) and (key := _KEY.search(payload)) and log.code.get(which):
        # Every process or run that takes a graph from the cache logs it again.
        log.graphs[key[1]] = (
            log.dynamo.get(which, ""),
            *log.code[which].pop(),
        )


def _inputs(printed_graph: str) -> dict[str, str | None]:
    """Return each input of a graph that Dynamo printed, with the module that owns it, in order.

    The module is None for an input that is not a parameter.
    """
    aliases = (_ALIAS.match(line) for line in printed_graph.splitlines())
    return {alias[1]: _module_of_parameter(alias[2]) for alias in aliases if alias}


def _nodes(printed_graph: str, inputs: dict[str, str | None]) -> dict[str, _Node]:
    """Return the nodes of a printed graph by name, each with its module.

    A node gets the module of its parameters, else the module of a node that it reads.
    """
    order = list(inputs.values())
    nodes: dict[str, _Node] = {}
    for line in printed_graph.splitlines():
        node = _NODE.match(line)
        if node is None or _ALIAS.match(line):
            continue
        target = _TARGET.match(node[3])
        words = re.findall(r"[A-Za-z_]\w*", node[3].split(";", 1)[0])
        of_inputs = [
            path
            for word in words
            if (path := inputs.get(word, _module_by_number(word, order))) is not None
        ]
        near = [
            path
            for word in words
            if word in nodes and (path := nodes[word].module_path) is not None
        ]
        module_path, rule = (
            (of_inputs[0], "trace_log")
            if of_inputs
            else (near[0], "trace_log_neighbour")
            if near
            else (None, "none")
        )
        nodes[node[1]] = _Node(
            target[1] if target else "operator",
            module_path,
            rule,
            _bytes(node[2] or ""),
        )
    return nodes


def _module_by_number(word: str, order: list[str | None]) -> str | None:
    """Return the module of an input such as `primals_3`, None for any other word.

    `order` lists the modules of all inputs by their number.
    """
    match = _NUMBERED.match(word)
    position = int(match[2]) - 1 if match and match[2] else int(match[1]) if match else -1
    return order[position] if 0 <= position < len(order) else None


def _module_of_parameter(name: str) -> str | None:
    """Return the module in a parameter's name, None for any other name.

    The module of `L_self_modules_layer1_modules_0_parameters_weight_` is layer1.0.
    """
    match = _PARAMETER.match(name)
    return (match[1] or "").replace("_modules_", ".") if match else None


def _bytes(kind: str) -> int:
    """Return the bytes of a tensor from its annotation, such as `f32[2, 8][8, 1]cpu`.

    Return 0 if the size is symbolic or no int64 can hold it.
    """
    match = _TYPE.match(kind)
    if match is None:
        return 0
    sizes = [size.strip() for size in (*match[2].split(","), match[1]) if size.strip()]
    if max(map(len, sizes)) > _MOST_DIGITS:
        return 0
    *shape, bits = map(int, sizes)
    n_bytes = prod(shape) * max(1, bits // _BITS)
    return n_bytes if n_bytes < 2**63 else 0


def _calls(source: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield the kernel calls of generated code, in order.

    An item has the kernel's name, whether it is a library call, and the nodes that it computes.
    """
    nodes_of_kernels: dict[str, list[str]] = {}
    for pattern, name, nodes in _statements(source):
        if pattern is _DEFINED:
            nodes_of_kernels[name] = nodes
        elif pattern is _EXTERN:
            yield name, True, nodes
        else:
            yield name, False, nodes_of_kernels.get(name) or nodes


def _statements(source: str) -> Iterator[tuple[re.Pattern[str], str, list[str]]]:
    """Yield each definition and call of a kernel in generated code, in order.

    An item has the pattern that matched, the kernel's name, and the nodes in the comment above.
    """
    nodes: list[str] = []
    for line in source.splitlines():
        if match := _SOURCE_NODES.match(line):
            nodes = [word.strip() for word in match[1].split(",") if word.strip()]
            continue
        for pattern in (_DEFINED, _GENERATED, _EXTERN):
            if statement := pattern.match(line):
                yield pattern, statement[1], nodes
                nodes = []
                break


def _table(log: _Log) -> pl.DataFrame:
    schema = TABLES["provenance"].without("rank", *INPUTS_OF_CALLS).schema
    rows: list[tuple[Any, ...]] = []
    for key, (dynamo, lowered, source) in log.graphs.items():
        is_backward = "_backward']" in source[:200]
        inputs = _inputs(dynamo)
        graphs = [_nodes(dynamo, inputs), _nodes(lowered, inputs)]
        # Comments name Dynamo's nodes. In the backward pass, they also name nodes of autograd.
        nodes = graphs[0] | graphs[1] if is_backward else graphs[1] | graphs[0]
        for order, (name, is_extern, named) in enumerate(_calls(source)):
            named_nodes = [(word, nodes[word]) for word in dict.fromkeys(named) if word in nodes]
            if is_extern:
                # A library call runs only the last of its nodes. The other nodes were inlined.
                named_nodes = (
                    [pair for pair in named_nodes if pair[1].rule == "trace_log"] or named_nodes
                )[-1:]
            rows += [
                (
                    key,
                    is_backward,
                    order,
                    name,
                    is_extern,
                    word,
                    n.target,
                    n.module_path,
                    n.rule,
                    n.output_bytes,
                )
                for word, n in named_nodes
            ] or [(key, is_backward, order, name, is_extern, None, None, None, "none", None)]
    return pl.DataFrame(rows, schema=schema, orient="row")


COLLECTOR = Collector(
    kind=KIND,
    expects="a structured log of torch (TORCH_TRACE)",
    sniff=sniff,
    read=read,
    fills={"provenance": "of a log that TORCH_TRACE wrote"},
)
