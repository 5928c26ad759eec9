"""After a pause for writing, live captures wait until queues that filled meanwhile are empty."""

import re
from pathlib import Path

import pytest

from tests.test_live_torch import LIGHT_TRAIN, run

pytest.importorskip("torch")

# Each step sleeps 10 ms; the first trace takes 400 ms to write.
SLOW_WRITER = (
    LIGHT_TRAIN
    + """
import threading, time
export, written = torch.profiler.profile.export_chrome_trace, []
def export_slowly(profiler, path):
    if not written:
        time.sleep(0.4)
    written.append(path)
    export(profiler, path)
torch.profiler.profile.export_chrome_trace = export_slowly
if WORKER:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
for _ in range(100):
    step()
    time.sleep(0.01)
"""
)


@pytest.mark.parametrize(("has_worker", "least", "most"), [(True, 20, 45), (False, 5, 5)])
def test_the_second_window_waits_as_long_as_the_pause_was(
    tmp_path: Path, *, has_worker: bool, least: int, most: int
) -> None:
    """Where another thread may have filled a queue, at most 40 steps of 10 ms fit into 400 ms."""
    done = run(tmp_path, f"WORKER = {has_worker}\n{SLOW_WRITER}", light=True)
    (note,) = [note for note in done.notes if " again " in note]
    match = re.match(r"recorded steps (\d+) to", note)
    assert match is not None
    # The first window ends with step 5; without a pause to wait for, five steps lie between both.
    assert least <= int(match[1]) - 6 <= most
