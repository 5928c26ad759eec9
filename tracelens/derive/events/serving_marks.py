"""Read the marks that inference servers give their steps: phase and size of a batch.

vLLM, and SGLang of 2026, name a step execute_T_context_C(sqA skB sqsqE sqskF)_generation_G(…),
without the spaces. There are T tokens, C requests in prefill and G in decode. Further numbers are
sums over requests: of the lengths of their queries (sq), of the keys and values that these meet
(sk), and of products of the two. Older vLLM writes execute_context_C(q_…)_generation_G(n), SGLang
also step[DECODE bs=G] and step[EXTEND bs=C toks=T].
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
_BRACKETED = r"^step\[([A-Z][A-Z0-9_]{1,30}) bs=([0-9]{1,15})(?: toks=([0-9]{1,15}))?"
_OF_PROMPTS = ("EXTEND", "SPLIT_PREFILL", "DLLM_EXTEND")
_OF_TOKENS = ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2")
PHASES = ("prefill", "decode", "mixed")
"""A first pass over requests' prompts, one more token for each request, or both in one batch."""


def batches(names: pl.Series) -> pl.DataFrame:
    """Return phase, n_requests, n_tokens and n_context_tokens of each step from its mark's name.

    `n_pairs` counts each query with each key of its request; `n_needed_pairs` leaves out keys that
    come after the query. A value that is not in the name is None.
    """
    name = pl.col("name")
    groups = names.to_frame("name").select(
        summed=name.str.extract_groups(_SUMMED),
        older=name.str.extract_groups(_OLDER),
        bracketed=name.str.extract_groups(_BRACKETED),
    )

    def number(form: str, group: int) -> pl.Expr:
        return pl.col(form).struct.field(str(group)).cast(pl.Int64)

    kind = pl.col("bracketed").struct.field("1")
    of_bracket = number("bracketed", 2)
    is_mixed = kind == "MIXED"
    of_prompts, of_tokens = kind.is_in(_OF_PROMPTS), kind.is_in(_OF_TOKENS)
    prefills = pl.coalesce(
        number("summed", 2), number("older", 1), pl.when(of_prompts).then(of_bracket)
    )
    decodes = pl.coalesce(
        number("summed", 7), number("older", 3), pl.when(of_tokens).then(of_bracket)
    )
    n_prefills = prefills.fill_null(0)
    n_decodes = decodes.fill_null(0)
    tokens = pl.coalesce(
        number("summed", 1),
        number("older", 2) + number("older", 4),
        number("bracketed", 3),
        pl.when(kind == "DECODE").then(of_bracket),
    )
    phase = (
        pl.when(is_mixed | ((n_prefills > 0) & (n_decodes > 0)))
        .then(pl.lit("mixed"))
        .when(n_prefills > 0)
        .then(pl.lit("prefill"))
        .when(n_decodes > 0)
        .then(pl.lit("decode"))
    )
    is_batch = prefills.is_not_null() | decodes.is_not_null()
    return groups.select(
        phase=phase,
        n_requests=pl.when(is_mixed).then(of_bracket).when(is_batch).then(n_prefills + n_decodes),
        n_tokens=pl.when(is_batch | is_mixed).then(tokens),
        n_context_tokens=number("summed", 4) + number("summed", 9),
        n_pairs=number("summed", 6) + number("summed", 11),
        # Of a prompt's own tokens, as many squared, half of the keys come later.
        n_needed_pairs=number("summed", 6) - number("summed", 5) / 2 + number("summed", 11),
    )
