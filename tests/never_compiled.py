"""Start programs that use torch without torch.compile, as importing it doubles torch's import time.

Torch's optimizers import it only to keep it out of their methods. Its profiler and process groups
import it only to ask whether compiled graphs are replayed. The ops of the meta device, 0.4 s to
import, are only for tracing. This text is put before a program's code.
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
