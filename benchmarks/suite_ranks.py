"""Jobs of many ranks: the time to collect them, and to run analyses of all ranks."""

from __future__ import annotations

import shutil

from benchmarks.bench import Bench, Contender, peer, tracelens
from benchmarks.results import Row
from benchmarks.suite_hta import CAPTURE

GROUP, ASKED = "many ranks", "many ranks, asked"
COLLECT, DRIVER = "tracelens collect torch", "tracelens collect torch --engine local"
PAGE = "report --html"
SECTIONS = ("time_breakdown", "waiting", "collectives_across")
COMPARED, MANY = 64, 1024


def many_ranks(bench: Bench) -> None:
    """Collect 64 ranks, and 1,024 as a job.

    Compare the ranks of each, and write a page of as many.
    """
    captured = CAPTURE / "rank0.pt.trace.json.gz"
    if not captured.is_file():
        bench.leave_out(GROUP, "the capture of two ranks that they are made from is not here")
        return
    compared, many = (COMPARED, MANY) if bench.settings.runs > 1 else (8, 16)
    sources, trace = bench.folder / "ranks", bench.folder / "ranks.tracelens"
    for n_ranks in (compared, many):
        bench.make(
            "benchmarks.enlarge_ranks",
            str(sources),
            str(captured),
            "--ranks",
            str(n_ranks),
            "--sources",
        )
        row = Row(
            GROUP,
            "",
            f"{n_ranks:,} ranks",
            round(n_ranks * captured.stat().st_size / 1e6, 1),
            "MB of gzip",
        )
        contenders = [
            Contender(
                DRIVER,
                peer("job", str(sources), "{out}"),
                is_slow=True,
            )
        ]
        if n_ranks == compared:
            contenders.append(
                Contender(
                    COLLECT,
                    tracelens("collect", "torch", str(sources), "--out", "{out}"),
                )
            )
        bench.race(contenders, row)
        shutil.rmtree(sources)
    bench.make(
        "benchmarks.enlarge_ranks",
        str(trace),
        str(captured),
        "--ranks",
        str(many),
    )
    row = Row(ASKED, "", f"{many:,} ranks", many, "ranks")
    asked = [
        Contender(
            name,
            tracelens("report", str(trace), "--section", name),
            is_slow=True,
        )
        for name in SECTIONS
    ]
    bench.race(
        [
            *asked,
            Contender(
                PAGE,
                peer("page", str(trace)),
                is_slow=True,
            ),
        ],
        row,
    )
    shutil.rmtree(trace)
