"""Read the marks that inference servers give their steps: phase and size of a batch."""

import polars as pl

_NUMBER = "[0-9]{1,15}"
_SUMS = ("sq", "sk", "sqsq", "sqsk")


def _lengths(of: str) -> str:
    """Return a pattern that captures the four numbers in a text such as (sq4sk9sqsq16sqsk36).

    `of` is c for sums over requests in prefill, g for sums over requests in decode.
    """
    sums = (rf"{name}(?<{of}_{name}>{_NUMBER})" for name in _SUMS)
    return rf"\({''.join(sums)}\)"


# A mark counts tokens (T), requests in prefill (C) and requests in decode (G). Some marks have sums
# over requests: sq of query lengths, sk of key lengths, sqsq of squared query lengths, and sqsk of
# query length times key length.
# - vLLM, and SGLang of 2026: execute_T_context_C(sqA skB sqsqE sqskF)_generation_G(…), without the
#   spaces.
# - vLLM without these sums: execute_context_C(q_…)_generation_G(n).
# - vLLM of 2025: execute_new_C_cached_G. G counts requests that ran before, even if only a part of
#   their prompt did.
# - SGLang: step[DECODE bs=G] and step[EXTEND bs=C toks=T]. It can add the sums, with the prefix c_
#   for requests in prefill and g_ for requests in decode, and in a mixed batch c=C g=G
#   (build_step_span_name, 2026).
# - SGLang, replay of a draft model: step[DRAFT_LOOP raw_bs=G bs=N topk=K]. N includes empty
#   requests (graph runners of draft models, 2026).
# - AMD's ATOM: prefill[bs=C tok=T …] and decode[bs=G/N tok=T …], perhaps with sk, sqsq and sqsk.
# - TensorRT-LLM, as NVTX ranges: [Executor] _forward_step N: C ctx reqs, T ctx tokens, G gen reqs.
#   Older versions leave out T (py_executor.py, 2025 and 2026).
_FORMS = {
    "summed": (
        rf"^execute_(?<n_tokens>{_NUMBER})_context_(?<n_prefills>{_NUMBER}){_lengths('c')}"
        rf"_generation_(?<n_decodes>{_NUMBER}){_lengths('g')}$"
    ),
    "older": (
        rf"^execute_context_(?<n_prefills>{_NUMBER})\((?<c_tokens>{_NUMBER})(?:_[0-9]+)?\)"
        rf"_generation_(?<n_decodes>{_NUMBER})\((?<g_tokens>{_NUMBER})(?:_[0-9]+)?\)$"
    ),
    "executor": (
        rf"^\[Executor\] _forward_step ?[0-9]*: (?<n_prefills>{_NUMBER}) ctx reqs,"
        rf" (?:(?<c_tokens>{_NUMBER}) ctx tokens, )?(?<n_decodes>{_NUMBER}) gen reqs$"
    ),
    "new": rf"^execute_new_(?<n_prefills>{_NUMBER})_cached_(?<n_decodes>{_NUMBER})$",
    "bracketed": (
        rf"^step\[(?<kind>[A-Z][A-Z0-9_]{{1,30}}) (?:raw_)?bs=(?<n_requests>{_NUMBER})"
        rf"(?: bs={_NUMBER})?(?: toks=(?<n_tokens>{_NUMBER}))?"
    ),
}
"""Patterns of the marks of steps; a group of a pattern has the name of the number it captures."""
_ATOM = (
    (r" ctx=\[[^\]]*\](?:\.\.\.\+[0-9]+)?", ""),
    (rf"^prefill\[bs=({_NUMBER})(?:/[0-9]+)? tok=", "step[EXTEND bs=$1 toks="),
    (rf"^decode\[bs=({_NUMBER})(?:/[0-9]+)? tok=", "step[DECODE bs=$1 toks="),
)
"""Replacements that turn ATOM's marks into SGLang's; the lengths of single prompts are left out."""
_DETAILS = (
    "c",
    "g",
    *_SUMS,
    *(f"{of}_{sum_of}" for of in "cg" for sum_of in _SUMS),
)
"""Names of the numbers that the marks of SGLang and ATOM may have.

- c, g: numbers of requests in prefill and in decode
- c_sq to c_sqsk, g_sq to g_sqsk: sums over requests in prefill (c) or in decode (g), of SGLang
- sq to sqsk: sums over all requests, of ATOM
"""
_OF_PROMPTS = ("EXTEND", "SPLIT_PREFILL", "DLLM_EXTEND")
_OF_TOKENS = ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2", "DRAFT_LOOP")
_COUNTING = ("summed", "older", "executor", "new")
"""Keys of _FORMS for marks that count requests in prefill and requests in decode."""
PHASES = ("prefill", "decode", "mixed")
"""Names of phases: a first pass over prompts, one more token per request, or both in one batch."""


_KIND = pl.col("bracketed").struct.field("kind")


def batches(names: pl.Series) -> pl.DataFrame:
    """Return each step's batch as its mark's name describes it, one row per name.

    - `phase`, `n_requests`, `n_tokens`, `n_context_tokens`
    - `n_pairs`: number of pairs of a query and a key of one request
    - `n_needed_pairs`: number of these pairs in which the key does not come after the query

    A value that is not in the name is None.
    """
    with_kinds = _numbers_in_marks(names).with_columns(
        is_mixed=_KIND == "MIXED",
        is_of_prompts=_KIND.is_in(_OF_PROMPTS),
        is_of_tokens=_KIND.is_in(_OF_TOKENS),
    )
    marks = with_kinds.with_columns(
        n_prefills=_requests("n_prefills", pl.col("is_of_prompts")),
        n_decodes=_requests("n_decodes", pl.col("is_of_tokens")),
    )
    prompt_pairs, token_pairs = _number("summed", "c_sqsk"), _number("summed", "g_sqsk")
    # A prompt's own tokens make as many pairs as their number squared; in half of them the key
    # comes later.
    later_pairs = _number("summed", "c_sqsq") / 2
    context_tokens = _number("summed", "c_sk") + _number("summed", "g_sk")
    return marks.select(
        phase=_phase(),
        n_requests=_n_requests(),
        n_tokens=_n_tokens(),
        n_context_tokens=pl.coalesce(context_tokens, _sum_over_requests("sk")),
        n_pairs=pl.coalesce(prompt_pairs + token_pairs, _sum_over_requests("sqsk")),
        n_needed_pairs=pl.coalesce(
            prompt_pairs - later_pairs + token_pairs, _needed_pairs_of_details()
        ),
    )


def _number(form: str, name: str) -> pl.Expr:
    """Return the number `name` of marks of a form, None for other marks."""
    return pl.col(form).struct.field(name).cast(pl.Int64)


def _requests(name: str, is_of_kind: pl.Expr) -> pl.Expr:
    """Return the number of requests in prefill or in decode; `name` is n_prefills or n_decodes."""
    # A mark such as `step[EXTEND bs=4]` has one number, and its kind says what it counts.
    in_bracket = pl.when(is_of_kind).then(_number("bracketed", "n_requests"))
    return pl.coalesce(
        *(_number(form, name) for form in _COUNTING),
        in_bracket,
    )


def _phase() -> pl.Expr:
    """Return the batch's phase; None for a mark of no batch."""
    has_prefills = pl.col("n_prefills").fill_null(0) > 0
    has_decodes = pl.col("n_decodes").fill_null(0) > 0
    return (
        pl.when(pl.col("is_mixed") | (has_prefills & has_decodes))
        .then(pl.lit("mixed"))
        .when(has_prefills)
        .then(pl.lit("prefill"))
        .when(has_decodes)
        .then(pl.lit("decode"))
    )


def _is_batch() -> pl.Expr:
    """Return whether a mark has the number of requests in prefill or in decode."""
    return pl.col("n_prefills").is_not_null() | pl.col("n_decodes").is_not_null()


def _n_requests() -> pl.Expr:
    both = pl.col("n_prefills").fill_null(0) + pl.col("n_decodes").fill_null(0)
    in_bracket = _number("bracketed", "n_requests")
    return pl.when("is_mixed").then(in_bracket).when(_is_batch()).then(both)


def _n_tokens() -> pl.Expr:
    """Return the batch's number of tokens, from the first of several counts that the mark has."""
    has_no_decode = _number("executor", "n_decodes") == 0
    tokens = pl.coalesce(
        _number("summed", "n_tokens"),
        _number("older", "c_tokens") + _number("older", "g_tokens"),
        _number("bracketed", "n_tokens"),
        _sum_over_requests("sq"),
        # In decode without draft tokens, each request makes one token.
        pl.when(_KIND == "DECODE").then(_number("bracketed", "n_requests")),
        pl.when(has_no_decode).then(_number("executor", "c_tokens")),
    )
    return pl.when(_is_batch() | pl.col("is_mixed")).then(tokens)


def _needed_pairs_of_details() -> pl.Expr:
    """Return the column n_needed_pairs of `batches` for marks with sums over requests."""
    of_prompts = pl.when("is_of_prompts").then("sqsq")
    squares_of_prompts = pl.coalesce("c_sqsq", of_prompts, pl.lit(0))
    return _sum_over_requests("sqsk") - squares_of_prompts / 2


def _numbers_in_marks(names: pl.Series) -> pl.DataFrame:
    """Return the numbers in the names of marks, one row per mark.

    Each of _FORMS is a column of structs with the captured texts. Each of _DETAILS is a column of
    numbers.
    """
    name = pl.col("name")
    for pattern, text in _ATOM:
        name = name.str.replace(pattern, text)
    forms = {form: name.str.extract_groups(pattern) for form, pattern in _FORMS.items()}
    details = {
        word: name.str.extract(rf"^step\[[^\]]* {word}=({_NUMBER})[ \]]").cast(pl.Int64)
        for word in _DETAILS
    }
    return names.to_frame("name").select(**forms, **details)


def _sum_over_requests(name: str) -> pl.Expr:
    """Return the number `name` of _SUMS for all requests of the batch; None if the mark lacks it.

    A mark may have one number for prefill and one for decode, which are added.
    """
    parts = pl.col(f"c_{name}"), pl.col(f"g_{name}"), pl.col(name)
    is_given = pl.any_horizontal(part.is_not_null() for part in parts)
    return pl.when(is_given).then(pl.sum_horizontal(parts))


_BATCH = "scheduler.run_batch"
"""SGLang's mark around all of its work for one batch."""
_OF_TARGET = r"^step\[TARGET_VERIFY "


def around_batches(marks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Replace the marks inside each SGLang batch by one mark that is as long as the batch.

    - `marks`: process_id, thread_id, name, start_ns and end_ns
    - `spans`: process_id, thread_id, name, start_ns and duration_ns
    """
    key = ["process_id", "thread_id"]
    begin, end = pl.col("start_ns").cast(pl.Int64), pl.col("batch_end")
    batch_spans = spans.filter(pl.col("name") == _BATCH).select(
        pl.col(key).cast(pl.Int64),
        batch_start=begin,
        batch_end=begin + pl.col("duration_ns"),
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
    # In speculative decoding, the draft model's forward passes have marks, too. The target model's
    # mark gives the name. For a prompt, the target model runs first.
    named = (
        placed.filter(is_inside)
        .sort(is_target, "start_ns", descending=[True, False])
        .unique(
            [*key, "batch_start"],
            keep="first",
            maintain_order=True,
        )
        .with_columns(start_ns="batch_start", end_ns="batch_end")
    )
    every = pl.concat([placed.filter(~is_inside), named]).select(marks.columns)
    return every.sort("start_ns", "end_ns")
