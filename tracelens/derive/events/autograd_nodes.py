"""Find the forward op that made each autograd node, and the backward op that ran the node."""

import polars as pl

NODE = ("process_id", "forward_thread_id", "sequence_number")
"""Columns that identify an autograd node: its process, its sequence number, and torch's own number
of the forward thread."""
ENGINE = "autograd::engine::evaluate_function"
"""Begin of the name of a span in which autograd's engine evaluates a node."""
PYTHON_NODE = rf"^(?:{ENGINE}: )?\w+Backward$"
"""Names of the backward ops of functions written in Python, torch.autograd.Function.

Backward ops of torch itself end with a number, such as MulBackward0.
"""


def forward_backward(spans: pl.DataFrame) -> pl.DataFrame:
    """Return one row per pair of a forward op (span_id) and its backward op (run_id).

    Ambiguous autograd nodes are left out. `spans` are of one rank, with span_id, NODE, thread_id
    and start_ns.
    """
    has_number = pl.col("sequence_number").is_not_null()
    has_forward_thread = pl.col("forward_thread_id").fill_null(0) > 0
    with_number = spans.filter(has_number)
    numbered = with_number.with_columns(is_backward=has_forward_thread)
    makers = makers_of_nodes(numbered, "span_id")
    is_clear = ~pl.col("is_ambiguous")
    clear = makers.filter(is_clear)
    backward = numbered.filter("is_backward")
    runs = backward.select(
        *NODE,
        run_ns="start_ns",
        run_id="span_id",
    )
    linked = clear.join(runs, on=[*NODE, "run_ns"])
    pairs = linked.select("span_id", "run_id")
    return pairs.sort("run_id")


def makers_of_nodes(numbered: pl.DataFrame, about: str) -> pl.DataFrame:
    """Return the forward op that made each autograd node, if it was recorded.

    `numbered` has the spans with a sequence number: NODE, thread_id, start_ns, is_backward and the
    column that `about` names. The result has the columns:

    - NODE: the columns that identify the node
    - `run_ns`: when the node ran
    - `thread_id`: the thread of the forward op
    - the column that `about` names: copied from the forward op's span
    - `is_ambiguous`: whether several threads may have made the node

    An ambiguous node has one row per thread that may have made it.
    """
    is_backward = pl.col("is_backward")
    # The last forward op that starts with a node's sequence number made the node. The last backward
    # op with that number ran it.
    latest_ns = pl.col("start_ns").max()
    latest = pl.col(about).sort_by("start_ns").last()
    forward = numbered.filter(~is_backward)
    by_number = forward.group_by("process_id", "thread_id", "sequence_number")
    makers = by_number.agg(latest, made_ns=latest_ns)
    backward = numbered.filter(is_backward)
    nodes = backward.group_by(NODE).agg(run_ns=latest_ns)
    with_makers = nodes.join(makers, on=["process_id", "sequence_number"])
    is_made_before = pl.col("made_ns") <= pl.col("run_ns")
    pairs = with_makers.filter(is_made_before)
    forward_thread = ("process_id", "forward_thread_id")
    both_threads = (*forward_thread, "thread_id")
    # A backward op names its forward thread by a number of torch's own. It means the thread with
    # forward ops for most of the backward ops' sequence numbers.
    matches = pairs.group_by(both_threads).agg(votes=pl.len())
    votes = pl.col("votes")
    most_votes = votes.max().over(forward_thread)
    best = matches.filter(votes == most_votes)
    n_best = pl.len().over(forward_thread)
    chosen = best.with_columns(is_ambiguous=n_best > 1)
    nodes_of_chosen = pairs.join(chosen, on=both_threads)
    return nodes_of_chosen.drop("made_ns", "votes")
