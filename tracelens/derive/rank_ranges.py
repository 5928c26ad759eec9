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
    """Merge sentences that differ only in numbers.

    Nothing is merged unless all sentences together name more than MANY ranks.
    """
    begins = [_RANK.match(sentence) for sentence in sentences]
    ranks_named = {begin[1] for begin in begins if begin}
    if len(ranks_named) <= MANY:
        return [*sentences]
    alike: dict[str, list[tuple[int, str]]] = {}
    for sentence, begin in zip(sentences, begins, strict=True):
        if begin is None:
            alike[sentence] = []
            continue
        rest = sentence[begin.end() :]
        pattern = _without_numbers(rest) or sentence
        rank = int(begin[1])
        alike.setdefault(pattern, []).append((rank, rest))
    merged = []
    for pattern, ranks_and_rests in alike.items():
        if not ranks_and_rests:
            merged.append(pattern)
            continue
        ranks, rests = zip(*ranks_and_rests, strict=True)
        subject = _subject(ranks, rests[0][:1])
        merged.append(subject + join_numbers(rests))
    return merged


def _without_numbers(text: str) -> str:
    """Replace each number by `#`, so that texts that differ only in numbers become equal."""
    return _NUMBER.sub("#", text)


def merge_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Merge rows that differ only in rank and count: ranks become text, counts are added.

    A frame of at most MANY ranks is returned as it is.
    """
    if frame["rank"].n_unique() <= MANY:
        return frame
    key = [name for name in frame.columns if name not in {"rank", "count"}]
    alike = frame.group_by(key, maintain_order=True)
    total = pl.col("count").sum()
    merged = alike.agg("rank", total)
    phrases = [list_ranks(ranks) for ranks in merged["rank"].to_list()]
    ranks_as_text = pl.Series("rank", phrases, pl.String)
    with_text = merged.with_columns(ranks_as_text)
    return with_text.select(frame.columns)


def group_ranks(texts: Iterable[tuple[int, str]]) -> list[tuple[list[int], str]]:
    """Return groups of ranks with texts that differ only in numbers, each with the merged text.

    Up to MANY ranks are not grouped.
    """
    pairs = [*texts]
    are_many = len(pairs) > MANY
    ranks_by_key: dict[str | int, list[int]] = {}
    texts_by_key: dict[str | int, list[str]] = {}
    for rank, text in pairs:
        key = _without_numbers(text) if are_many else rank
        ranks_by_key.setdefault(key, []).append(rank)
        texts_by_key.setdefault(key, []).append(text)
    groups = []
    for key, ranks in ranks_by_key.items():
        text = join_numbers(texts_by_key[key])
        groups.append((ranks, text))
    return groups


def join_numbers(texts: Sequence[str]) -> str:
    """Merge texts that differ only in numbers.

    Differing numbers become `LEAST to GREATEST`.
    """
    numbers_of_texts = [_NUMBER.findall(text) for text in texts]
    numbers_in_turn = zip(*numbers_of_texts, strict=True)

    def as_range(_: re.Match[str]) -> str:
        numbers: tuple[str, ...] = next(numbers_in_turn)
        least = min(numbers, key=_value)
        greatest = max(reversed(numbers), key=_value)
        if least == greatest:
            return least
        return f"{least} to {greatest}"

    merged = _NUMBER.sub(as_range, texts[0])
    return _RANGES.sub(r"\1 to \2", merged)


def _value(number: str) -> float:
    """Return the value of a number that is written with thousands separators."""
    return float(number.replace(",", ""))


def list_ranks(ranks: Iterable[int]) -> str:
    """Return ranks as a phrase such as `rank 5` or `ranks 0 to 62, 64`."""
    in_order = sorted({*ranks})
    runs: list[list[int]] = []
    for rank in in_order:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1][1:] = [rank]
        else:
            runs.append([rank])
    ranges = []
    for run in runs:
        first_and_last = map(str, run)
        ranges.append(" to ".join(first_and_last))
    noun = "ranks" if len(in_order) > 1 else "rank"
    return f"{noun} {', '.join(ranges)}"


def _subject(ranks: Sequence[int], following: str) -> str:
    """Return the ranks as the beginning of a sentence, such as `Each of ranks 0 to 3`.

    `following` is the next character of the sentence.
    """
    phrase = list_ranks(ranks)
    # A space is followed by a singular verb, which several ranks do not fit.
    each = following == " " and phrase.startswith("ranks")
    return f"Each of {phrase}" if each else phrase.capitalize()
