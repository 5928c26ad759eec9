"""Times of ops in machine code are those of whole columns."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the fast passes need numpy")

from tracelens.coding import coded
from tracelens.derive import ancestry, ancestry_fast
from tracelens.derive.op_times import op_times

pytestmark = pytest.mark.skipif(ancestry_fast.kernel() is None, reason="numba is not installed: no fast passes")
_SPANS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from(["op", "op", "op", "python", "module", "annotation"]),
        st.sampled_from("fgh"),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=20,
)
_AT = st.none() | st.integers(0, 19)
_WORK = st.lists(st.tuples(_AT, st.integers(0, 9)), max_size=12)
_CALLS = st.lists(st.tuples(_AT, st.integers(0, 1), st.integers(0, 9), st.integers(0, 5)), max_size=12)


@pytest.mark.parametrize("n_more_words", [0, 300, 70_000])
@given(spans=_SPANS, work=_WORK, calls=_CALLS)
def test_fast_and_slow(
    n_more_words: int,
    spans: list[tuple[int, str, str, int, int]],
    work: list[tuple[int | None, int]],
    calls: list[tuple[int | None, int, int, int]],
) -> None:
    whole = pl.Int64
    tree = pl.DataFrame(
        [(0, up if up < i else None, *more) for i, (up, *more) in enumerate(spans)],
        schema={
            "rank": pl.Int32, "parent_id": whole, "kind": pl.String, "name": pl.String, "duration_ns": whole,
            "self_ns": whole,
        },
        orient="row",
    )  # fmt: skip
    words = {}
    for column in ("kind", "name"):
        more = [f"e{n}" for n in range(n_more_words)] if column == "name" else []
        codes, words[column] = coded(pl.concat([tree[column], pl.Series(more, dtype=pl.String)]))
        tree = tree.with_columns(codes[: tree.height].alias(column))

    def known(at: int | None) -> int | None:
        return at if at is not None and at < len(spans) else None

    launched = pl.DataFrame(
        [(known(at), ns) for at, ns in work], schema={"span_id": whole, "duration_ns": whole}, orient="row"
    )
    made = pl.DataFrame(
        [(0, known(at), 7, thread, *times) for at, thread, *times in calls],
        schema={
            "rank": pl.Int32, "span_id": whole, "process_id": whole, "thread_id": whole, "start_ns": whole,
            "duration_ns": whole,
        },
        orient="row",
    ).sort("start_ns", "duration_ns", descending=[False, True])  # fmt: skip
    slow = op_times(tree, words, launched, made).sort("name")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ancestry, "WORTH_A_KERNEL", 0)
        fast = op_times(tree, words, launched, made).sort("name")
    if slow.height:
        assert fast.cast({"name": slow.schema["name"]}).select(slow.columns).equals(slow)
    else:
        assert not fast.height
