"""Build published networks with random weights, of torchvision and transformers.

Torchvision's run eager and compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from programs import DEVICE, SMALL, Program, Steps, loop
from torch import nn
from torch.nn import functional

NETWORKS: dict[str, Program] = {}


def network(name: str, steps: Callable[..., Steps], **settings: Any) -> None:
    """Register a network to which no change is made."""
    NETWORKS[name] = Program(name, steps, {}, (), settings)


def compiled(net: nn.Module, *, is_compiled: bool) -> Any:
    """Return the network, compiled if requested."""
    return torch.compile(net) if is_compiled else net


def vision_net(model: str) -> nn.Module:
    """Build one of torchvision's networks for 224 × 224 pixels."""
    import torchvision  # noqa: PLC0415 - of these programs only

    options = {"aux_logits": False, "init_weights": False} if model == "googlenet" else {}
    net: nn.Module = getattr(torchvision.models, model)(weights=None, **options)
    return net.to(DEVICE)


def vision_infer(
    option: str | None, model: str, batch: int, *, half: bool, is_compiled: bool
) -> Steps:
    """Run a vision network without gradients, in float16 if `half`."""
    dtype = torch.float16 if half and DEVICE.type == "cuda" else torch.float32
    net = vision_net(model).eval().to(dtype)
    x = torch.randn(max(batch // SMALL, 1), 3, 224, 224, device=DEVICE, dtype=dtype)
    run = compiled(net, is_compiled=is_compiled)

    def step() -> None:
        with torch.no_grad():
            run(x)

    return loop(step, option)


def vision_train(option: str | None, model: str, batch: int, *, is_compiled: bool) -> Steps:
    """Train a vision network with SGD, in PyTorch's default way unless told otherwise."""
    net = vision_net(model).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    n = max(batch // SMALL, 2)
    x = torch.randn(n, 3, 224, 224, device=DEVICE)
    labels = torch.randint(0, 1000, (n,), device=DEVICE)
    run = compiled(net, is_compiled=is_compiled)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(run(x), labels).backward()
        optimizer.step()

    return loop(step, option)


def language_net(family: str, width: int, depth: int) -> nn.Module:
    """Build a network of transformers, with attention of the library's choice."""
    import transformers  # noqa: PLC0415 - of these programs only

    sizes = {"vocab_size": 8192}
    heads = max(width // 64, 1)
    if family == "gpt2":
        config = transformers.GPT2Config(**sizes, n_embd=width, n_layer=depth, n_head=heads)
        net: nn.Module = transformers.GPT2LMHeadModel(config)
    elif family == "bert":
        config = transformers.BertConfig(
            **sizes,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
        )
        net = transformers.BertModel(config)
    else:
        config = transformers.LlamaConfig(
            **sizes,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=3 * width,
        )
        net = transformers.LlamaForCausalLM(config)
    return net.to(DEVICE)


def language_train(
    option: str | None, family: str, size: tuple[int, int, int, int], *, is_compiled: bool = False
) -> Steps:
    """Train a language model with AdamW under autocast to bfloat16."""
    width, depth, batch, length = size
    net = language_net(family, width // min(SMALL, 4), depth).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    tokens = torch.randint(0, 8192, (max(batch // SMALL, 1), length // SMALL), device=DEVICE)
    run = compiled(net, is_compiled=is_compiled)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = run(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()

    return loop(step, option)


def language_infer(option: str | None, family: str, size: tuple[int, int, int, int]) -> Steps:
    """Run a language model over a whole text in bfloat16 without gradients."""
    width, depth, batch, length = size
    net = language_net(family, width // min(SMALL, 4), depth).eval().to(torch.bfloat16)
    tokens = torch.randint(0, 8192, (max(batch // SMALL, 1), length // SMALL), device=DEVICE)

    def step() -> None:
        with torch.no_grad():
            net(input_ids=tokens)

    return loop(step, option)


def language_decode(option: str | None, family: str, size: tuple[int, int, int, int]) -> Steps:
    """Generate four tokens per step with a language model and its cache of keys and values."""
    width, depth, batch, length = size
    net: Any = language_net(family, width // min(SMALL, 4), depth).eval().to(torch.bfloat16)
    tokens = torch.randint(0, 8192, (max(batch // SMALL, 1), length // SMALL), device=DEVICE)
    mask = torch.ones_like(tokens)

    def step() -> None:
        net.generate(
            tokens,
            attention_mask=mask,
            max_new_tokens=4,
            min_new_tokens=4,
            do_sample=False,
            pad_token_id=0,
        )

    return loop(step, option)


VISION = ("alexnet", "googlenet", "mobilenet_v2", "resnet50", "densenet121", "vit_b_16")
for _model in VISION:
    for _compiled in (False, True):
        network(
            f"{_model}_infer" + ("_compiled" if _compiled else ""),
            vision_infer,
            model=_model,
            batch=8,
            half=True,
            is_compiled=_compiled,
        )
for _model in ("googlenet", "resnet50", "vit_b_16"):
    network(
        f"{_model}_infer_large",
        vision_infer,
        model=_model,
        batch=96,
        half=False,
        is_compiled=False,
    )
for _model in ("alexnet", "mobilenet_v2", "resnet50", "densenet121"):
    network(f"{_model}_train", vision_train, model=_model, batch=16, is_compiled=False)
network("resnet18_train_compiled", vision_train, model="resnet18", batch=16, is_compiled=True)
network("gpt2_train", language_train, family="gpt2", size=(768, 12, 4, 256))
network("gpt2_train_small", language_train, family="gpt2", size=(256, 6, 2, 64))
network("llama_train", language_train, family="llama", size=(1024, 8, 8, 512))
network(
    "gpt2_train_compiled", language_train, family="gpt2", size=(512, 6, 4, 256), is_compiled=True
)
network("bert_infer", language_infer, family="bert", size=(768, 12, 8, 128))
network("bert_infer_large", language_infer, family="bert", size=(1024, 12, 64, 512))
network("gpt2_decode", language_decode, family="gpt2", size=(768, 12, 1, 64))
network("llama_decode", language_decode, family="llama", size=(1024, 8, 16, 128))
