"""Programs that use torch without torch.compile, whose import takes twice as long as torch's own.

Torch's optimizers import it only to keep it out of their methods; its profiler does, only to ask
whether compiled graphs are replayed, and so do process groups. Torch itself imports what its ops
do on the meta device, which only tracing asks for, for 0.4 s. The text stands before a program: a
capture begins with the import of torch.
"""

NEVER_COMPILED = """
import sys, types
dynamo = sys.modules["torch._dynamo"] = types.ModuleType("torch._dynamo")
dynamo.disable, dynamo.graph_break = (lambda method, *_, **__: method), (lambda: None)
dynamo.trace_rules = types.SimpleNamespace(clear_lru_cache=lambda: None)
dynamo.utils = types.SimpleNamespace(get_optimize_ddp_mode=lambda: "no_optimization")
inductor = sys.modules["torch._inductor"] = types.ModuleType("torch._inductor")
inductor.config = types.SimpleNamespace(triton=types.SimpleNamespace(cudagraphs=False))
sys.modules["torch._inductor.config"] = inductor.config
sys.modules["torch._meta_registrations"] = types.ModuleType("torch._meta_registrations")
"""
RANDOM_NUMBERS = "import torch._prims.rng_prims\n"
"""Import that such a program needs for random numbers, as data loaders with workers make them."""
