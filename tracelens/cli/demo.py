"""The command `demo`: explain a bundled trace, and write its page."""

from pathlib import Path

from tracelens.answers import make_answer
from tracelens.cli.io import drawn, open_any, progress, write_report
from tracelens.cli.next_step import suggest
from tracelens.cli.output import emit
from tracelens.errors import SourceError
from tracelens.report import build_report
from tracelens.views.formats import FORMATS

SAMPLE = Path("samples/planted/captures/input_slow_workers.stacks.pt.trace.json.gz")
DEMO_PAGE = Path("tracelens-demo.html")


def demo() -> None:
    """Explain a bundled trace of a training loop whose data loader is slow.

    Prints the answer, and writes its page, tracelens-demo.html, into the current folder.
    """
    sample = Path(__file__).resolve().parents[2] / SAMPLE
    if not sample.exists():
        raise SourceError(
            f"{SAMPLE} is in the source repository, not in the installed package; clone it, or give"
            " any trace of torch.profiler to tracelens report"
        )
    opened = open_any([sample])
    with progress("answering"):
        emit(drawn(make_answer(opened)))
        built = build_report(opened)
    write_report(built, FORMATS["html"], DEMO_PAGE)
    suggest("tracelens run python train.py")
