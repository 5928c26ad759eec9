"""Rewrite a model so that it makes exactly the calls of a plan."""

import itertools
import operator
import os
from collections.abc import Sequence
from typing import Any

from tracelens.advisor.lowering import folded, laid_out, lowerings
from tracelens.advisor.plan import load_torch
from tracelens.advisor.plan_file import CallPlan, PlannedCall
from tracelens.derive.calls.call_graph import EXPORT
from tracelens.derive.calls.libraries import TORCH
from tracelens.derive.calls.op_catalog import ADD, ATTENTION, CONV, LINEAR, NORM
from tracelens.errors import ToolError, UsageError, first_line

_ANEW = "write a new plan with tracelens advise"
_COVERS = {function.name: function.pattern for function in TORCH}
_LIMITS = {True: 1e-3, False: 1e-5}
"""Largest allowed difference of outputs, relative to the largest output: with TF32, and without."""


def apply_calls(
    model: Any,
    plan: CallPlan | str | os.PathLike[str],
    inputs: Any = None,
    *,
    tolerance: float | None = None,
) -> Any:
    """Return a module that computes the same as the model, with the calls of the plan.

    The model stays as it is; the new module has copies of its weights.

    - `inputs`: an example of the model's inputs, by default random in the shapes of the plan
    - `tolerance`: largest difference of the outputs on the example, relative to the largest output.
      None means 1e-3, or 1e-5 without TF32.

    Raises UsageError for a model in training mode, for a plan that was made without an exported
    graph, and for a plan of another model. Raises ToolError if a call fails, or if outputs differ.
    """
    torch = load_torch("apply_calls")
    chosen = plan if isinstance(plan, CallPlan) else CallPlan.read(plan)
    if model.training:
        raise UsageError(
            "the model is in training mode, where batch statistics change: call model.eval() first"
        )
    if chosen.source != EXPORT:
        raise UsageError(
            f"the plan was made without the model's exported graph (of {chosen.source}), so what"
            " reads what is a guess or names no node; capture it with tracelens collect torch"
            " --graph, and make the plan again"
        )
    examples = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    examples = _example_inputs(torch, model, chosen) if inputs is None else examples
    with torch.no_grad():
        program = torch.export.export(model, examples).run_decompositions({})
        try:
            rewritten = _Rewriting(torch, program, chosen).build()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise UsageError(
                f"the plan does not fit the model's graph ({reason}): {_ANEW}"
            ) from error
        _check(torch, (model, rewritten), examples, tolerance)
    return rewritten


def _example_inputs(torch: Any, model: Any, plan: CallPlan) -> tuple[Any, ...]:
    """Return inputs in the shapes of the plan, with the same random numbers each time."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    source = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(tuple(tensor_facts["shape"]), generator=source).to(
            device, getattr(torch, str(tensor_facts["dtype"]))
        )
        for tensor_facts in plan.inputs
    )


def _check(
    torch: Any,
    models: tuple[Any, Any],
    examples: Sequence[Any],
    tolerance: float | None,
) -> None:
    """Raise ToolError if the rewritten model's outputs differ by more than `tolerance`."""
    try:
        expected, rewritten = (module(*examples) for module in models)
    except RuntimeError as error:
        raise ToolError(
            f"a call of the plan fails ({str(error)[:300]}); the model is as it was"
        ) from error
    is_tf32 = torch.backends.cudnn.allow_tf32 and examples[0].is_cuda
    limit = _LIMITS[is_tf32] if tolerance is None else tolerance
    pairs = zip(_tensors(torch, expected), _tensors(torch, rewritten), strict=True)
    for right, result in pairs:
        difference = float((right - result).abs().max() / right.abs().max().clamp_min(1e-30))
        if not difference <= limit:
            raise ToolError(
                f"the advised calls give another output: it differs by {difference:.2g} of the"
                f" largest value, more than {limit:.0e}; the model is as it was"
            )


def _tensors(torch: Any, output: Any) -> list[Any]:
    leaves = torch.utils._pytree.tree_leaves(output)  # noqa: SLF001 - torch's own name for nested containers
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


class _Rewriting:
    """Rewrites a model's exported graph into a new graph that makes the calls of a plan."""

    def __init__(self, torch: Any, program: Any, plan: CallPlan) -> None:
        self.torch, self.program, self.plan = torch, program, plan
        self.root = torch.nn.Module()
        self.graph = torch.fx.Graph()
        self.functions = lowerings()
        self.nodes = {node.name: node for node in program.graph.nodes}
        self.have: dict[tuple[str, str], Any] = {}
        self.several: dict[str, Any] = {}  # all results of a call that returns several
        self.numbers = itertools.count()
        constants = {**program.state_dict, **program.constants}
        specs = program.graph_signature.input_specs
        self.kept = {
            spec.arg.name: constants[spec.target] for spec in specs if spec.target is not None
        }
        missing = {name for call in plan.calls for name in call.nodes} - set(self.nodes)
        if missing:
            raise UsageError(
                f"the plan names {min(missing)}, which the model's graph does not have: {_ANEW}"
            )

    def build(self) -> Any:
        """Return the new module. It makes the plan's calls in order."""
        for spec in self.program.graph_signature.user_inputs:
            self.have[spec, "NCHW"] = self.graph.placeholder(spec)
        for call in self.plan.calls:
            if call.function in ("to_nhwc", "to_nchw"):
                value = self.have[call.inputs[0], call.layouts[0]]
                result = self.graph.call_function(laid_out, (value, call.layout))
            else:
                result = self._call(call)
            self.have[call.nodes[-1], call.layout] = result
        (ending,) = (node for node in self.nodes.values() if node.op == "output")
        pytree, spec = self.torch.utils._pytree, self.program.call_spec.out_spec  # noqa: SLF001
        leaves = self.torch.fx.node.map_arg(
            tuple(ending.args[0]),
            lambda node: self._tensor(node.name),
        )
        self.graph.output(
            self.graph.call_function(
                lambda *results: pytree.tree_unflatten(list(results), spec),
                leaves,
            )
        )
        module = self.torch.fx.GraphModule(self.root, self.graph)
        return module.eval()

    def _tensor(self, name: str, layout: str = "NCHW") -> Any:
        """Return a node's result in `layout`, or in the layout in which the result exists.

        On first use, a parameter or buffer of the model is added to the new module.
        """
        for available in (layout, "NCHW", "NHWC"):
            if (name, available) in self.have:
                return self.have[name, available]
        node = self.nodes[name]
        if name in self.kept:
            kept_value = self._keep(self.kept[name])
        elif _name(node) != name:
            kept_value = self._tensor(_name(node), layout)
        else:
            raise UsageError(f"the plan does not compute {name}: {_ANEW}")
        self.have[name, layout] = kept_value
        return kept_value

    def _keep(self, tensor: Any) -> Any:
        name = f"kept{next(self.numbers)}"
        self.root.register_buffer(name, tensor.detach())
        return self.graph.get_attr(name)

    def _call(self, call: PlannedCall) -> Any:
        nodes = [self.nodes[name] for name in call.nodes]
        covers = _COVERS.get(call.function, ())
        if covers[:1] in ((CONV,), (LINEAR,)):
            return self._product(call, nodes, covers)
        if call.realisation == ATTENTION and covers:
            return self._attention(nodes)
        (node,) = nodes
        if node.target is operator.getitem and node.args[0].name in self.several:
            results = self.several[node.args[0].name]
            return self.graph.call_function(operator.getitem, (results, node.args[1]))
        layout_of_input = dict(zip(call.inputs, call.layouts, strict=True))

        def argument(node: Any) -> Any:
            name = _name(node)
            return self._tensor(name, layout_of_input.get(name, "NCHW"))

        arguments = self.torch.fx.node.map_arg(tuple(node.args), argument)
        if call.function in (NORM, "relu_", "add_"):
            n_taken = {"relu_": 1, "add_": 2}.get(call.function)
            return self.graph.call_function(self.functions[call.function], arguments[:n_taken])
        result = self.graph.call_function(node.target, arguments, dict(node.kwargs))
        has_several = isinstance(node.meta.get("val"), (tuple, list))
        if not has_several:
            return result
        self.several[node.name] = result
        return self.graph.call_function(operator.getitem, (result, 0))

    def _attention(self, nodes: Sequence[Any]) -> Any:
        """Return one fused attention call for nodes that compute attention step by step.

        The fused call takes their scale and mask as arguments.
        """
        query, turned = (self._tensor(_name(argument)) for argument in nodes[0].args[:2])
        key = self.graph.call_function(self.torch.transpose, (turned, -2, -1))
        value = self._tensor(_name(nodes[-1].args[1]))
        scale, mask = 1.0, None
        for before, node in itertools.pairwise(nodes[:-1]):
            kind = node.target._schema.name.removeprefix("aten::")  # noqa: SLF001
            if kind in ("div", "mul"):
                scale = 1 / node.args[1] if kind == "div" else node.args[1]
            elif kind == ADD:
                (other,) = (argument for argument in node.args[:2] if argument is not before)
                mask = self._tensor(_name(other))
        function = self.functions[ATTENTION]
        return self.graph.call_function(
            function,
            (query, key, value, mask),
            {"scale": float(scale)},
        )

    def _product(
        self,
        call: PlannedCall,
        nodes: Sequence[Any],
        covers: Sequence[str],
    ) -> Any:
        """Return the node of one call that computes all `nodes` of the exported graph.

        The first of `nodes` is a convolution or matrix product. `covers` has the kind of each node.
        """
        values = _with_defaults(nodes[0])
        norm = nodes[covers.index(NORM)] if NORM in covers else None
        weight, bias = self._weights(values, norm)
        if bias is None and call.function not in ("conv", LINEAR):
            bias = self.torch.zeros(
                weight.shape[0],
                dtype=weight.dtype,
                device=weight.device,
            )
        kept_weight = self._keep(laid_out(weight, call.layouts[0]))
        kept_bias = None if bias is None else self._keep(bias)
        input_name = _name(values[0])
        x = self._tensor(input_name, call.layouts[0])
        others = [
            self._tensor(name, layout)
            for name, layout in zip(call.inputs, call.layouts, strict=True)
            if name != input_name
        ]
        without_norm = call.function.removesuffix("_bn")
        function = self.functions.get(call.function) or self.functions[without_norm]
        arguments = (x, kept_weight, kept_bias, *others, *values[3:])
        return self.graph.call_function(function, arguments)

    def _weights(self, values: Sequence[Any], norm: Any) -> tuple[Any, Any]:
        """Return the weight and bias of a product, with the normalization after it folded in."""
        weight = self.kept[values[1].name].detach()
        bias = None if values[2] is None else self.kept[values[2].name].detach()
        if norm is None:
            return weight, bias
        scale, shift, mean, variance = (self.kept[argument.name] for argument in norm.args[1:5])
        weight, bias = folded(weight, bias, (scale, shift, mean, variance), norm.args[6])
        return weight, bias


def _name(node: Any) -> str:
    """Return the name that the plan uses for a node."""
    # The first result of an operator with several results has the operator's name.
    is_first = node.target is operator.getitem and node.args[1] == 0
    return str(node.args[0].name if is_first else node.name)


def _with_defaults(node: Any) -> list[Any]:
    """Return the arguments of a call, defaults included."""
    left = node.target._schema.arguments[len(node.args) :]  # noqa: SLF001 - torch has no public name
    defaults = {
        parameter.name: parameter.default_value if parameter.has_default_value() else None
        for parameter in left
    }
    return [
        *node.args,
        *(node.kwargs.get(name, value) for name, value in defaults.items()),
    ]
