"""Every capture's program made again without data: torch's FlopCounterMode counts as we do."""

from __future__ import annotations

import importlib.util

import pytest

from tests.accuracy import ROWS, script

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="the operations are counted by torch, which is not installed here",
)


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)  # 95 s of processor time, more than the usual limit on a busy machine
def test_every_capture_has_the_operations_of_its_program() -> None:
    """A capture that nothing is known of ends it with LookupError, which says what to add."""
    rows = list(script("operations").rows())
    assert [row.line for row in rows if row.counted is not None and not row.is_equal] == []
    assert [row.name for row in rows if row.counted is None] == ["llm/mamba2"]
    assert sum(row.recorded > 0 for row in rows) > 100
    page = (ROWS / "roofline.md").read_text().splitlines()
    assert [row.line for row in rows if row.line not in page] == [], "`make accuracy`"


@pytest.mark.slow
def test_a_program_for_a_gpu_is_counted_without_one() -> None:
    """Four layers of 1,024 in training.

    Each has three products, but the first has no gradient of its input, and a product of 1,024³
    multiplies and adds as often. Of SAMPLES/planted; three steps are recorded.
    """
    row = script("operations").operations_of("planted/host_sleep", 3 * (3 * 4 - 1) * 2 * 1024**3)
    assert row.is_equal
    assert row.counted == 70_866_960_384


@pytest.mark.slow
def test_a_capture_that_nobody_told_of_is_said() -> None:
    with pytest.raises(LookupError, match="new/one: add to AGAIN"):
        script("operations").operations_of("new/one", 1)
