"""Time layers of models by every method, in the thesis's four configurations."""

from __future__ import annotations

import argparse
import itertools
import time

from models import batch, model
from protocol import EXECUTIONS, ROUNDS
from stage import PHASES, Stage

import tracelens as tl


def study_timings(stage: Stage, options: argparse.Namespace) -> None:
    """Time layers of models by every method and configuration that the folder lacks.

    This runs after everything else is timed.
    """
    for phase in PHASES:
        stage.ready(phase)
    with stage.alone():
        pairs = (("cuda", "triton"), ("interpreted", "cpp"))
        for configurations, name in itertools.product(
            pairs[options.device == "cpu" :], options.timings
        ):
            path = options.out / f"{name}_timings_{configurations[0]}.tracelens"
            if path.exists():
                continue
            if time.time() > stage.end - 30:
                stage.found.setdefault("failures", {})[f"{name} {configurations}"] = (
                    "not tried: no time was left"
                )
                continue
            x = batch(options.batch, options.side, "cpu")
            protocol = tl.Protocol(
                rounds=ROUNDS if "cuda" in configurations else 3, executions=EXECUTIONS
            )
            methods = ("e2e", "layer", "profiler", "cuda_event")
            stage.attempt(
                f"measure {name} {configurations}",
                lambda n=name, c=configurations, x=x, p=protocol, m=methods, to=path: tl.measure(
                    model(n),
                    x,
                    methods=m,
                    configurations=c,
                    protocol=p,
                ).write(to),
            )
    stage.save()
