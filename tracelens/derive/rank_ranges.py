"""Write ranks in text as ranges, and merge sentences that hold for several ranks."""

import re
from collections.abc import Iterable, Sequence

import polars as pl

MANY = 4
"""Largest number of ranks that are described one by one."""
_RANK = re.compile(r"Rank (\d+)\b")
_RANGES = re.compile(r"(-?[\d,.]*\d) to -?[\d,.]*\d to -?[\d,.]*\d to (-?[\d,.]*\d)")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")


def merge_ranks(sentences: Sequence[str]) -> list[str]:
    """Merge sentences that differ only in numbers, if they are about more than MANY ranks."""
    begins = [_RANK.match(sentence) for sentence in sentences]
    if len({begin[1] for begin in begins if begin}) <= MANY:
        return [*sentences]
    by_text: dict[str, list[tuple[int, str]]] = {}
    for sentence, begin in zip(sentences, begins, strict=True):
        rest = sentence[begin.end() :] if begin else ""
        by_text.setdefault(_NUMBER.sub("#", rest) or sentence, []).append(
            (int(begin[1]) if begin else -1, rest)
        )
    merged = []
    for sentence, alike in by_text.items():
        ranks, texts = zip(*alike, strict=True)
        merged.append(
            sentence if -1 in ranks else _subject(ranks, texts[0][:1]) + join_numbers(texts)
        )
    return merged


def merge_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Merge rows that differ only in rank and count: ranks become text, counts are added.

    A frame of at most MANY ranks is returned as it is.
    """
    if frame["rank"].n_unique() <= MANY:
        return frame
    same = [name for name in frame.columns if name not in {"rank", "count"}]
    merged = frame.group_by(same, maintain_order=True).agg("rank", pl.col("count").sum())
    ranks = pl.Series(
        "rank",
        [list_ranks(same_row) for same_row in merged["rank"].to_list()],
        pl.String,
    )
    return merged.with_columns(ranks).select(frame.columns)


def group_ranks(texts: Iterable[tuple[int, str]]) -> list[tuple[list[int], str]]:
    """Group ranks whose texts differ only in numbers.

    Up to MANY ranks are not grouped: each is returned alone.
    """
    pairs = [*texts]
    by_text: dict[str | int, list[tuple[int, str]]] = {}
    for rank, text in pairs:
        by_text.setdefault(
            _NUMBER.sub("#", text) if len(pairs) > MANY else rank,
            [],
        ).append((rank, text))
    return [
        (
            [rank for rank, _ in alike],
            join_numbers([text for _, text in alike]),
        )
        for alike in by_text.values()
    ]


def join_numbers(texts: Sequence[str]) -> str:
    """Merge texts that differ only in numbers: differing numbers become "LEAST to GREATEST"."""
    numbers_of_texts = [_NUMBER.findall(text) for text in texts]
    same_place = iter(zip(*numbers_of_texts, strict=True))

    def as_range(_: re.Match[str]) -> str:
        numbers = next(same_place)
        least = min(numbers, key=_value)
        greatest = max(reversed(numbers), key=_value)
        return least if least == greatest else f"{least} to {greatest}"

    merged = _NUMBER.sub(as_range, texts[0])
    return _RANGES.sub(r"\1 to \2", merged)


def _value(number: str) -> float:
    """Return the value of a number that is written with thousands separators."""
    return float(number.replace(",", ""))


def list_ranks(ranks: Iterable[int]) -> str:
    """Write ranks as a phrase: rank 5; ranks 0 to 62, 64."""
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
    """Begin a sentence on the ranks.

    A colon, a comma or a verb in the singular has to follow.
    """
    phrase = list_ranks(ranks)
    each = following == " " and phrase.startswith("ranks")
    return f"Each of {phrase}" if each else phrase.capitalize()
