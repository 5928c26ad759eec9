"""Read the marks that inference servers give their steps: phase and size of a batch.

vLLM, and SGLang of 2026, name a step execute_T_context_C(sqA skB sqsqE sqskF)_generation_G(…),
without the spaces. There are T tokens, C requests in prefill and G in decode. Further numbers are
sums over requests: of the lengths of their queries (sq), of the keys and values that these meet
(sk), and of products of the two. Without these numbers vLLM writes
execute_context_C(q_…)_generation_G(n), and in 2025 execute_new_C_cached_G: G requests that it ran
before, even if only a part of their prompt. SGLang also writes step[DECODE bs=G] and step[EXTEND
bs=C toks=T]; a replay of a draft model is step[DRAFT_LOOP raw_bs=G bs=N topk=K], where N counts
empty requests, too (in its graph runners of draft models, 2026). AMD's ATOM writes prefill[bs=C
tok=T …] and decode[bs=G/N tok=T …], perhaps with sk, sqsq and sqsk. Asked for details, SGLang adds
the same sums before the bracket, with c_ for prompts and g_ for further tokens: g_sq=… g_sqsq=…
g_sqsk=… g_sk=…, and c=C g=G in a mixed batch (its build_step_span_name, 2026). TensorRT-LLM names
ranges of NVTX [Executor] _forward_step N: C ctx reqs, T ctx tokens, G gen reqs; T is newer, and how
many tokens each of the G requests gives is not said (drafts, its py_executor.py, 2025 and 2026).
"""

import polars as pl

_LENGTHS = r"\(sq{0}sk{0}sqsq{0}sqsk{0}\)".format(r"([0-9]{1,15})")
_SUMMED = (
    r"^execute_([0-9]{1,15})_context_([0-9]{1,15})"
    + _LENGTHS
    + r"_generation_([0-9]{1,15})"
    + _LENGTHS
    + "$"
)
_OLDER = (
    r"^execute_context_([0-9]{1,15})\(([0-9]{1,15})(?:_[0-9]+)?\)"
    r"_generation_([0-9]{1,15})\(([0-9]{1,15})(?:_[0-9]+)?\)$"
)
_EXECUTOR = (
    r"^\[Executor\] _forward_step ?[0-9]*: ([0-9]{1,15}) ctx reqs, (?:([0-9]{1,15}) ctx tokens, )?"
    r"([0-9]{1,15}) gen reqs$"
)
_BRACKETED = (
    r"^step\[([A-Z][A-Z0-9_]{1,30}) (?:raw_)?bs=([0-9]{1,15})(?: bs=[0-9]{1,15})?"
    r"(?: toks=([0-9]{1,15}))?"
)
_NEW = r"^execute_new_([0-9]{1,15})_cached_([0-9]{1,15})$"
_ATOM = (
    (r" ctx=\[[^\]]*\](?:\.\.\.\+[0-9]+)?", ""),
    (r"^prefill\[bs=([0-9]{1,15})(?:/[0-9]+)? tok=", "step[EXTEND bs=$1 toks="),
    (r"^decode\[bs=([0-9]{1,15})(?:/[0-9]+)? tok=", "step[DECODE bs=$1 toks="),
)
"""Replacements that turn ATOM's marks into SGLang's; the lengths of single prompts are left out."""
_SUMS = ("sq", "sk", "sqsq", "sqsk")
_DETAILS = ("c", "g", *_SUMS, *(f"{of}_{sum_of}" for of in "cg" for sum_of in _SUMS))
"""Names of the numbers that detailed marks give of prompts (c) and further tokens (g).

In ATOM's marks, the names have no prefix.
"""
_OF_PROMPTS = ("EXTEND", "SPLIT_PREFILL", "DLLM_EXTEND")
_OF_TOKENS = ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2", "DRAFT_LOOP")
PHASES = ("prefill", "decode", "mixed")
"""Names of phases: a first pass over prompts, one more token per request, or both in one batch."""


def batches(names: pl.Series) -> pl.DataFrame:
    """Return phase, n_requests, n_tokens and n_context_tokens of each step from its mark's name.

    `n_pairs` counts each query with each key of its request; `n_needed_pairs` leaves out keys that
    come after the query. A value that is not in the name is None.
    """
    name = pl.col("name")
    for pattern, text in _ATOM:
        name = name.str.replace(pattern, text)
    groups = names.to_frame("name").select(
        summed=name.str.extract_groups(_SUMMED),
        older=name.str.extract_groups(_OLDER),
        bracketed=name.str.extract_groups(_BRACKETED),
        executor=name.str.extract_groups(_EXECUTOR),
        new=name.str.extract_groups(_NEW),
        **{
            word: name.str.extract(rf"^step\[[^\]]* {word}=([0-9]{{1,15}})[ \]]").cast(pl.Int64)
            for word in _DETAILS
        },
    )

    def number(form: str, group: int) -> pl.Expr:
        return pl.col(form).struct.field(str(group)).cast(pl.Int64)

    def detailed(sum_of: str) -> pl.Expr:
        """Return a sum over all requests; None if the mark gives it for none."""
        parts = pl.col(f"c_{sum_of}"), pl.col(f"g_{sum_of}"), pl.col(sum_of)
        return pl.when(pl.any_horizontal(each.is_not_null() for each in parts)).then(
            pl.sum_horizontal(parts)
        )

    kind = pl.col("bracketed").struct.field("1")
    of_bracket = number("bracketed", 2)
    is_mixed = kind == "MIXED"
    of_prompts, of_tokens = kind.is_in(_OF_PROMPTS), kind.is_in(_OF_TOKENS)
    prefills = pl.coalesce(
        number("summed", 2),
        number("older", 1),
        number("executor", 1),
        number("new", 1),
        pl.when(of_prompts).then(of_bracket),
    )
    decodes = pl.coalesce(
        number("summed", 7),
        number("older", 3),
        number("executor", 3),
        number("new", 2),
        pl.when(of_tokens).then(of_bracket),
    )
    n_prefills = prefills.fill_null(0)
    n_decodes = decodes.fill_null(0)
    tokens = pl.coalesce(
        number("summed", 1),
        number("older", 2) + number("older", 4),
        number("bracketed", 3),
        detailed("sq"),
        pl.when(kind == "DECODE").then(of_bracket),
        pl.when(number("executor", 3) == 0).then(number("executor", 2)),
    )
    phase = (
        pl.when(is_mixed | ((n_prefills > 0) & (n_decodes > 0)))
        .then(pl.lit("mixed"))
        .when(n_prefills > 0)
        .then(pl.lit("prefill"))
        .when(n_decodes > 0)
        .then(pl.lit("decode"))
    )
    own_squares = pl.when(of_prompts).then("sqsq")
    is_batch = prefills.is_not_null() | decodes.is_not_null()
    return groups.select(
        phase=phase,
        n_requests=pl.when(is_mixed).then(of_bracket).when(is_batch).then(n_prefills + n_decodes),
        n_tokens=pl.when(is_batch | is_mixed).then(tokens),
        n_context_tokens=pl.coalesce(number("summed", 4) + number("summed", 9), detailed("sk")),
        n_pairs=pl.coalesce(number("summed", 6) + number("summed", 11), detailed("sqsk")),
        # A prompt's own tokens make as many pairs as their number squared; in half of them the key
        # comes later.
        n_needed_pairs=pl.coalesce(
            number("summed", 6) - number("summed", 5) / 2 + number("summed", 11),
            detailed("sqsk") - pl.coalesce("c_sqsq", own_squares, pl.lit(0)) / 2,
        ),
    )


_BATCH = "scheduler.run_batch"
"""SGLang's mark around all that it does for one batch."""
_OF_TARGET = r"^step\[TARGET_VERIFY "


def around_batches(marks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the marks, with those inside one of SGLang's batches replaced by one mark: the batch.

    Both have process_id, thread_id, name and start_ns; marks have end_ns, spans duration_ns. With
    speculative decoding, each forward pass of the draft model has a mark like the target's, or none
    if a graph is replayed. Requests and tokens of a batch are those of the target model's pass; for
    a prompt, that pass comes first.
    """
    key = ["process_id", "thread_id"]
    begin, end = pl.col("start_ns").cast(pl.Int64), pl.col("batch_end")
    batch_spans = spans.filter(pl.col("name") == _BATCH).select(
        pl.col(key).cast(pl.Int64), batch_start=begin, batch_end=begin + pl.col("duration_ns")
    )
    if not batch_spans.height:
        return marks
    placed = marks.sort("start_ns").join_asof(
        batch_spans.sort("batch_start"),
        left_on="start_ns",
        right_on="batch_start",
        by=key,
        check_sortedness=False,
    )
    is_inside = (pl.col("end_ns") <= end).fill_null(value=False)
    is_target = pl.col("name").str.contains(_OF_TARGET)
    named = (
        placed.filter(is_inside)
        .sort(is_target, "start_ns", descending=[True, False])
        .unique([*key, "batch_start"], keep="first", maintain_order=True)
        .with_columns(start_ns="batch_start", end_ns="batch_end")
    )
    every = pl.concat([placed.filter(~is_inside), named]).select(marks.columns)
    return every.sort("start_ns", "end_ns")
