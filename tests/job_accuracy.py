"""Measure how often `job` names the ranks that were planted as late, and the cause.

    python -m tests.job_accuracy [N_JOBS] [FIRST_SEED]

The jobs are random. `job` is right if its culprits are exactly the planted sets of ranks, each with
its cause and its steps. tests/test_job_verdicts.py judges a few of the same jobs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import polars as pl
from msgspec import structs

from tests.job_simulator import Job, Layout, Plant
from tracelens.analyses import job as judge
from tracelens.trace import Trace

LAYOUTS = (
    *(Layout(dp=n) for n in (4, 8, 16, 32)),
    *(Layout(tp=t, dp=d) for t, d in ((2, 4), (4, 4), (8, 2), (8, 4))),
    *(Layout(pp=p, dp=d, n_microbatches=m) for p, d, m in ((4, 2, 4), (4, 4, 4), (3, 1, 8))),
    *(Layout(tp=t, pp=p, dp=2, n_microbatches=4) for t, p in ((2, 4), (4, 2))),
    *(Layout(dp=d, ep=4, tp=t) for d, t in ((8, 1), (8, 2), (16, 1))),
)
CAUSES = ("compute", "compute", "input", "host", "copy", "allocation")
KINDS = (
    *("nobody", "rank", "rank", "once", "periodic", "rotating", "node", "stage", "group"),
    *("list", "several", "link", "network", "not given"),
)
ALWAYS = "in every step"
ORDINALS = {2: "other", 3: "third", 4: "fourth", 5: "fifth"}


@dataclass(frozen=True, slots=True)
class Truth:
    """The planted delay: late ranks, right causes, and the steps in words."""

    ranks: frozenset[int]
    causes: tuple[str | None, ...]
    when: str


@dataclass(frozen=True, slots=True)
class Case:
    """A random job, and the right result of `job`.

    `missing` is a rank without a trace.
    """

    kind: str
    job: Job
    truths: tuple[Truth, ...]
    missing: int | None = None

    def trace(self) -> Trace:
        """Return the job's trace, without the missing rank."""
        trace = self.job.trace()
        return trace if self.missing is None else without_rank(trace, self.missing)


def without_rank(trace: Trace, rank: int) -> Trace:
    """Return the trace as if the rank's file had not been given."""
    kept = {
        name: trace.frame(name).filter(pl.col("rank") != rank).lazy()
        if "rank" in trace.frame(name).columns
        else trace.frame(name).lazy()
        for name in trace._tables
    }
    ranks = [one for one in trace.manifest.ranks if one != rank]
    return Trace(structs.replace(trace.manifest, ranks=ranks), kept)


def step_ns(job: Job) -> int:
    """Estimate how long a step takes without delays."""
    layout, transfers = job.layout, job.transfers
    layer = job.layer_ns
    layer += sum(transfers[name] for name in ("tp", "ep") if getattr(layout, name) > 1)
    work = 2 * layout.n_layers * (layout.n_microbatches + layout.pp - 1) * layer
    return work + transfers["dp"] * (layout.dp > 1) + job.layer_ns // 4


def draw(seed: int) -> Case:
    """Draw the random job of a seed. All kinds of delays occur equally often."""
    random = Random(seed)  # noqa: S311 - no secret
    kind = KINDS[seed % len(KINDS)]
    layouts = [layout for layout in LAYOUTS if _suits(kind, layout)]
    layout = replace(
        random.choice(layouts), per_node=random.choice((4, 8)), n_layers=random.choice((1, 2))
    )
    if kind == "node" and layout.n_ranks <= layout.per_node:
        layout = replace(layout, per_node=layout.n_ranks // 2)
    n_steps = {"periodic": 20, "rotating": 10, "once": 8, "network": 8}.get(kind, 4)
    n_nodes = -(-layout.n_ranks // layout.per_node)
    has_clocks = n_nodes > 1 and random.random() < 0.4
    clocks = {
        node: (random.uniform(-1e9, 1e9), random.uniform(-20, 20))
        for node in range(n_nodes if has_clocks else 0)
    }
    transfers = {"tp": 30_000, "ep": 40_000, "dp": 150_000, "pp": 15_000}
    job = Job(
        layout,
        n_steps,
        random.randrange(300_000, 900_000),
        transfers,
        noise=random.uniform(0.002, 0.02),
        seed=seed,
        clocks=clocks,
        tells_stages=random.random() < 0.5,
    )
    return _planted(kind, job, random)


def _suits(kind: str, layout: Layout) -> bool:
    """Return whether a delay of this kind is possible in a job of the layout, and shows there."""
    has_groups = layout.tp > 1 and layout.n_ranks // layout.tp > 2
    needs = {
        "stage": layout.pp > 2,
        "group": has_groups,
        "link": has_groups,
        "not given": has_groups and layout.pp == 1 and layout.dp > 2,
        "several": layout.n_ranks >= 8,
        "list": layout.n_ranks >= 8,
        "periodic": layout.n_ranks <= 16,
        "rotating": layout.n_ranks <= 16,
    }
    return needs.get(kind, True)


def _planted(kind: str, job: Job, random: Random) -> Case:
    """Plant delays of a kind in the job, and return it with the truth."""
    layout = job.layout
    ns = round(step_ns(job) * random.uniform(0.2, 0.8))
    # A stage that waits for its first microbatch may load data meanwhile.
    cause = "compute" if layout.pp > 1 else random.choice(CAUSES)
    ranks = [*range(layout.n_ranks)]
    rank = random.choice(ranks)
    if kind == "nobody":
        return Case(kind, job, ())
    if kind == "not given":
        plants = (Plant(frozenset([rank]), cause, ns),)
        truth = Truth(frozenset([rank]), (None,), "")
        return Case(kind, replace(job, plants=plants), (truth,), rank)
    if kind in ("once", "periodic", "rotating", "network"):
        return _in_some_steps(kind, job, random, Plant(frozenset([rank]), cause, ns))
    if kind == "several":
        chosen = random.sample([one for one in ranks if one % layout.tp == 0], 2)
        causes = ("compute", "compute") if layout.pp > 1 else ("compute", "input")
        sizes = (ns, round(ns * 0.4 + 0.05 * step_ns(job)))
        each = zip(chosen, causes, sizes, strict=True)
        several = [Plant(frozenset([one]), why, size) for one, why, size in each]
        return _case(kind, job, several, [ALWAYS, ALWAYS])
    if kind == "link":
        group = layout.group("tp", rank)
        slow = Plant(frozenset(group), "link", ns, None, ("tp", group))
        return _case(kind, job, [slow], [ALWAYS])
    sets = {
        "rank": [rank],
        "node": [one for one in ranks if layout.node(one) == layout.node(rank)],
        "stage": [one for one in ranks if layout.place(one)[2] == layout.place(rank)[2]],
        "group": layout.group("tp", rank),
        "list": random.sample(ranks, random.choice((2, 3))),
    }
    return _case(kind, job, [Plant(frozenset(sets[kind]), cause, ns)], [ALWAYS])


def _in_some_steps(kind: str, job: Job, random: Random, plant: Plant) -> Case:
    """Plant delays of one rank in some steps, or in each step of another rank.

    The kind `network` slows all transfers of one step instead.
    """
    ranks, n_steps = [*range(job.layout.n_ranks)], job.n_steps
    if kind == "rotating":
        late: dict[int, set[int]] = {}
        before = -1
        for step in range(n_steps):
            before = random.choice([one for one in ranks if one != before])
            late.setdefault(before, set()).add(step)
        steps = {one: frozenset(of_rank) for one, of_rank in late.items()}
        turns = replace(plant, ranks=frozenset(late), steps=steps)
        return _case(kind, job, [turns], ["another rank each step"])
    if kind == "periodic":
        period = random.choice((3, 4, 5))
        chosen = frozenset(range(random.randrange(period), n_steps, period))
        when = f"in every {ORDINALS[period]} step"
    else:
        chosen = frozenset([random.randrange(1, n_steps)])
        when = f"in step {min(chosen)} only"
    if kind == "network":
        plant = replace(plant, ranks=frozenset(ranks), cause="network")
    return _case(kind, job, [replace(plant, steps=dict.fromkeys(plant.ranks, chosen))], [when])


def _case(kind: str, job: Job, plants: list[Plant], when: list[str]) -> Case:
    truths = (
        Truth(plant.ranks, (plant.cause,), text) for plant, text in zip(plants, when, strict=True)
    )
    return Case(kind, replace(job, plants=tuple(plants)), tuple(truths))


# ---- what is said


def ranks_of(text: str) -> frozenset[int]:
    """Return the ranks in a phrase such as "ranks 0 to 3, 7"."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        found |= {*range(int(first), int(last or first) + 1)}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Score:
    """Whether exactly the planted culprits, causes and steps were found."""

    culprits: bool
    causes: bool
    steps: bool
    nobody_else: bool

    @property
    def is_right(self) -> bool:
        """Whether culprits, causes and steps are right."""
        return self.culprits and self.causes and self.steps


def score(case: Case, result: pl.DataFrame) -> Score:
    """Compare a result of `job` with what was planted."""
    named = [*result.drop_nulls("culprit").iter_rows(named=True)]
    said = {ranks_of(row["ranks"]): row for row in named}
    truths = {truth.ranks: truth for truth in case.truths}
    both = [(truth, said[ranks]) for ranks, truth in truths.items() if ranks in said]
    blamed = frozenset[int]().union(*said)
    planted = frozenset[int]().union(*truths)
    return Score(
        said.keys() == truths.keys(),
        all(row["cause"] in truth.causes for truth, row in both),
        all((row["steps"] or "") == truth.when for truth, row in both),
        blamed <= planted,
    )


def judge_all(seeds: range) -> Iterator[tuple[int, Case, Score, pl.DataFrame]]:
    """Yield each seed's job with its score and the result of `job`."""
    for seed in seeds:
        case = draw(seed)
        result = judge(case.trace())
        yield seed, case, score(case, result), result


def main(n_jobs: int = 300, first: int = 0) -> None:
    """Print each wrong job, and the rates."""
    counts: Counter[str] = Counter()
    for seed, case, mark, result in judge_all(range(first, first + n_jobs)):
        counts += Counter(
            {
                "right": mark.is_right,
                "culprits and causes right": mark.culprits and mark.causes,
                "nobody else blamed": mark.nobody_else,
                "inconclusive": result["bound"][0] == "inconclusive",
            }
        )
        if not (mark.is_right and mark.nobody_else):
            planted = [(sorted(one.ranks), *one.causes, one.when) for one in case.truths]
            found = result.select("culprit", "cause", "steps", "cost_frac").rows()
            sys.stdout.write(
                f"seed {seed} {case.kind} {case.job.layout}: planted {planted}, found {found}\n"
            )
    for name, count in counts.items():
        sys.stdout.write(f"{name}: {count} of {n_jobs}, {count / n_jobs:.1%}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
