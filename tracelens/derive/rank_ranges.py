"""One sentence for many ranks of which the same can be said.

Ranges stand in place of numbers.
"""

import re
from collections.abc import Iterable, Sequence

import polars as pl

MANY = 4
"""More ranks than this are put together."""
_RANK = re.compile(r"Rank (\d+)\b")
_RANGES = re.compile(r"(-?[\d,.]*\d) to -?[\d,.]*\d to -?[\d,.]*\d to (-?[\d,.]*\d)")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")


def merge_ranks(sentences: Sequence[str]) -> list[str]:
    """Return the sentences.

    Those that begin with one of more than MANY ranks and differ in numbers only become one.
    """
    begins = [_RANK.match(sentence) for sentence in sentences]
    if len({begin[1] for begin in begins if begin}) <= MANY:
        return [*sentences]
    found: dict[str, list[tuple[int, str]]] = {}
    for sentence, begin in zip(sentences, begins, strict=True):
        rest = sentence[begin.end() :] if begin else ""
        found.setdefault(_NUMBER.sub("#", rest) or sentence, []).append(
            (int(begin[1]) if begin else -1, rest)
        )
    merged = []
    for sentence, own in found.items():
        ranks, texts = zip(*own, strict=True)
        merged.append(
            sentence if -1 in ranks else _subject(ranks, texts[0][:1]) + join_numbers(texts)
        )
    return merged


def merge_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows that differ in the rank and the count only as one row.

    Ranks become text, and counts are summed. The frame itself where it is of at most MANY ranks.
    """
    if frame["rank"].n_unique() <= MANY:
        return frame
    same = [name for name in frame.columns if name not in {"rank", "count"}]
    merged = frame.group_by(same, maintain_order=True).agg("rank", pl.col("count").sum())
    ranks = pl.Series("rank", [list_ranks(found) for found in merged["rank"].to_list()], pl.String)
    return merged.with_columns(ranks).select(frame.columns)


def group_ranks(texts: Iterable[tuple[int, str]]) -> list[tuple[list[int], str]]:
    """Return ranks with their texts, those whose texts differ in numbers only as one.

    Each by itself up to MANY ranks.
    """
    pairs = [*texts]
    found: dict[str | int, list[tuple[int, str]]] = {}
    for rank, text in pairs:
        found.setdefault(_NUMBER.sub("#", text) if len(pairs) > MANY else rank, []).append(
            (rank, text)
        )
    return [
        ([rank for rank, _ in own], join_numbers([text for _, text in own]))
        for own in found.values()
    ]


def join_numbers(texts: Sequence[str]) -> str:
    """Return texts that differ in numbers only as one text.

    A number, or range, that differs becomes "LEAST to GREATEST".
    """
    columns = iter(zip(*(_NUMBER.findall(text) for text in texts), strict=True))

    def written(_: re.Match[str]) -> str:
        numbers = sorted(next(columns), key=lambda number: float(number.replace(",", "")))
        return " to ".join(dict.fromkeys((numbers[0], numbers[-1])))

    return _RANGES.sub(r"\1 to \2", _NUMBER.sub(written, texts[0]))


def list_ranks(ranks: Iterable[int]) -> str:
    """Return ranks as a phrase: rank 5; ranks 0 to 62, 64."""
    runs: list[list[int]] = []
    for rank in sorted({*ranks}):
        if runs and runs[-1][-1] == rank - 1:
            runs[-1][1:] = [rank]
        else:
            runs.append([rank])
    return f"rank{'s' if len(runs) > 1 or len(runs[0]) > 1 else ''} " + ", ".join(
        " to ".join(map(str, run)) for run in runs
    )


def _subject(ranks: Sequence[int], following: str) -> str:
    """Return the beginning of a sentence on the ranks.

    A colon, a comma or a verb in the singular follows.
    """
    phrase = list_ranks(ranks)
    each = following == " " and phrase.startswith("ranks")
    return f"Each of {phrase}" if each else phrase.capitalize()
