"""Capture BERT and Llama, inference and training, eager and compiled, on a machine with a GPU.

`python -m samples.cross_layer.language --out OUT`. Weights are random, made from transformers'
configurations, so nothing is downloaded. Each capture runs in a process of its own; one that fails
is noted in OUT/versions.json and the others go on. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CAPTURES = (
    "bert_infer",
    "bert_train",
    "llama_infer",
    "llama_train",
    "bert_infer_compiled",
    "llama_infer_compiled",
    "bert_train_compiled",
    "llama_train_compiled",
)
BATCH, TOKENS = 8, 512
LLAMA = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 32000,
    "use_cache": False,
}
"""A small Llama; BERT is transformers' default, which is BERT base."""
TINY = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 100,
}
STEPS = {"wait": 2, "warmup": 1, "active": 3}


def main() -> None:
    """Take every capture, or only the named one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for the captures",
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny models on the CPU, to try it out"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=270,
        help="start no capture after so long",
    )
    parser.add_argument("--capture", choices=CAPTURES, help="take only this one, in this process")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.capture:
        capture(options.capture, options.out, quick=options.quick)
    else:
        capture_all(options)


def capture_all(options: argparse.Namespace) -> None:
    """Run one process per capture, and write the outcome after each."""
    end = time.monotonic() + options.seconds
    about: dict[str, Any] = {
        "versions": versions(),
        "batch": BATCH,
        "tokens": TOKENS,
        "llama": LLAMA,
        "commands": [],
    }
    for name in CAPTURES:
        words = ["python", "samples/cross_layer/language.py", "--out", "OUT", "--capture", name]
        left = end - time.monotonic()
        outcome = "not tried: no time was left" if left <= 0 else run(name, options, left)
        about["commands"].append({"name": name, "command": " ".join(words), "outcome": outcome})
        (options.out / "versions.json").write_text(json.dumps(about, indent=1) + "\n")
        print(name, outcome, f"{end - time.monotonic():.0f} s left", flush=True)


def run(name: str, options: argparse.Namespace, seconds: float) -> str:
    """Run one capture in its own process and return the outcome."""
    words = [
        sys.executable,
        "-m",
        "samples.cross_layer.language",
        "--out",
        str(options.out),
        "--capture",
        name,
    ]
    try:
        done = subprocess.run(
            [*words, *(["--quick"] if options.quick else [])], timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "ended: its time was over"
    return f"exit {done.returncode}"


def capture(name: str, out: Path, *, quick: bool) -> None:
    """Take three steps of a model under the profiler.

    Python's calls are left out: they slow the host and enlarge the trace.
    """
    import torch  # noqa: PLC0415 - the process that starts the others needs none

    import tracelens as tl  # noqa: PLC0415

    device = "cpu" if quick else "cuda"
    network, batch = made(name.partition("_")[0], device, quick=quick)
    is_compiled = name.endswith("_compiled")
    with tl.capture(
        out / f"{name}.tracelens",
        force=True,
        stacks=False,
        shapes=False,
        compile_provenance=is_compiled,
        **STEPS,
    ) as recording:
        step = training(network, batch) if "_train" in name else inference(network, batch)
        step = torch.compile(step) if is_compiled and "_train" not in name else step
        if is_compiled and "_train" in name:
            network.compile()
        for _ in range(sum(STEPS.values())):
            step()
            recording.step()
    print(*recording.notes, sep="\n")


def made(model: str, device: str, *, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Return the model with random weights in bfloat16, and a batch of random tokens to predict."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    torch.manual_seed(0)
    if model == "bert":
        config = transformers.BertConfig(**(TINY if quick else {}))
        network = transformers.BertForMaskedLM(config)
    else:
        config = transformers.LlamaConfig(
            **(LLAMA | TINY | {"num_key_value_heads": 2} if quick else LLAMA)
        )
        network = transformers.LlamaForCausalLM(config)
    shape = (2, 16) if quick else (BATCH, TOKENS)
    tokens = torch.randint(0, config.vocab_size, shape, device=device)
    return network.to(device, torch.bfloat16), {"input_ids": tokens, "labels": tokens}


def inference(network: Any, batch: dict[str, Any]) -> Any:
    """Return a function that runs the model once, without labels."""
    import torch  # noqa: PLC0415

    network.eval()

    def step() -> Any:
        with torch.no_grad():
            return network(input_ids=batch["input_ids"])

    return step


def training(network: Any, batch: dict[str, Any]) -> Any:
    """Return a function that does a step of training with AdamW."""
    import torch  # noqa: PLC0415

    network.train()
    optimizer = torch.optim.AdamW(network.parameters())

    def step() -> None:
        optimizer.zero_grad()
        network(**batch).loss.backward()
        optimizer.step()

    return step


def versions() -> dict[str, str]:
    """Return versions of the software; nothing identifies the machine or its user."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    by_name = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": sys.version.split()[0],
    }
    if torch.cuda.is_available():
        by_name |= {
            "gpu": torch.cuda.get_device_name(),
            "cudnn": str(torch.backends.cudnn.version()),
        }
    return by_name


if __name__ == "__main__":
    main()
