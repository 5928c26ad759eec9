"""Time HTA's TraceAnalysis of many ranks: parsed by HTA, and made from a collected trace."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

from benchmarks.bench import Bench, Contender, peer
from benchmarks.contenders import installed
from benchmarks.results import Row

GROUP, HANDED, PARSED = "ranks for HTA", "tl.interop.hta of a collected trace", "HTA TraceAnalysis"
CAPTURE = Path(__file__).resolve().parents[2] / "shared" / "data" / "torch" / "ddp_resnet50_2gpu"


def hta_ranks(bench: Bench) -> None:
    """Time HTA on the two ranks of a real capture, and on 64 made from them.

    The time to collect them is measured by other parts.
    """
    if not installed("hta") or not CAPTURE.is_dir():
        bench.leave_out(
            HANDED, "HTA, or the capture of two ranks beside the checkout, is not there"
        )
        return
    for n in (2, 64):
        folder, trace = bench.folder / "ranks", bench.folder / "ranks.tracelens"
        copies(folder, n)
        bench.make(
            "tracelens",
            "collect",
            "torch",
            str(folder),
            "--out",
            str(trace),
        )
        contenders = [
            Contender(HANDED, peer("hta_handed", str(trace))),
            Contender(
                PARSED,
                peer("hta_ranks", str(folder)),
                is_slow=n > 2,
            ),
        ]
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        bench.race(contenders, Row(GROUP, "", f"{n} ranks", size, "MB of gzip"))
        shutil.rmtree(folder)
        shutil.rmtree(trace)


def copies(folder: Path, n: int) -> None:
    """Make a folder of `n` ranks, copies of the capture's two ranks, each with another number."""
    folder.mkdir()
    texts = [
        gzip.decompress((CAPTURE / f"rank{rank}.pt.trace.json.gz").read_bytes()) for rank in (0, 1)
    ]
    for rank in range(n):
        text = re.sub(
            rb'("distributedInfo": \{[^}]*?"rank": )\d+',
            rb"\g<1>%d" % rank,
            texts[rank % 2],
            count=1,
        )
        text = re.sub(
            rb'("distributedInfo": \{[^}]*?"world_size": )\d+', rb"\g<1>%d" % n, text, count=1
        )
        (folder / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(text, 1))
