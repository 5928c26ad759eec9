"""A check that every answer's text must pass."""

import re

from rich.cells import cell_len

from tracelens.answers import has_time, make_answer
from tracelens.answers.answer import Answer
from tracelens.trace import Trace
from tracelens.views.answer_text import answer_text

FIRST, MOST, WIDTH = 12, 25, 80
_UNJUDGED = ("Too little", "This is the capture of a CUDA graph")
BAR = re.compile(r"^  .{4,}[█▓▆▂░▒▚▖·]{3,}")
CHANGE = re.compile(r"^  (1  \S|What would help)|faster|reduce-overhead")


def check_answer(trace: Trace, base: Trace | None = None) -> Answer:
    """Check that the first 12 lines hold sentence, bar and changes, all fits, and shares add up."""
    answer = make_answer(trace, base)
    lines = answer_text(answer).splitlines()
    assert len(lines) <= MOST
    assert max(map(cell_len, lines)) <= WIDTH
    assert lines[0].strip() == lines[0] != ""
    if not (has_time(trace) or trace.has("timings")) or lines[0].startswith(_UNJUDGED):
        assert len(lines) > 2, "a sentence alone does not answer"
        return answer
    head = lines[:FIRST]
    assert any(BAR.search(line) for line in head), lines
    assert base is not None or any(CHANGE.search(line) for line in head), lines
    for bar in answer.bars:
        assert abs(sum(part.share for part in bar.parts) - 1) < 0.02
    return answer
