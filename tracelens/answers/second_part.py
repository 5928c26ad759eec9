"""Describe a device that computes, and does something else for a comparable time."""

from msgspec import Struct

from tracelens.answers.answer import WORK, Bar
from tracelens.answers.step_bar import kind_of, label_of, percent_in
from tracelens.answers.words import DEVICE_SENTENCES, place_text
from tracelens.derive.time.time_parts import RankTime

_SUBJECT = "The GPU "
_COMPUTES_NOTHING = ", and computes nothing"
"""The end of a sentence on a device that receives; it is dropped if the device also computes."""
_PHRASES = {
    "communication": "only communicates",
    "copy": "only copies",
    "dependency": "waits for its own earlier work",
    "unknown": "is idle for an unknown reason",
}


class Limits(Struct, frozen=True):
    """The part of a step that limits a rank, and a second one of comparable time, with places.

    A place is None if it is not known. `second` is None for most ranks.
    """

    bound: str
    where: str | None
    second: str | None = None
    second_where: str | None = None

    @property
    def last_where(self) -> str | None:
        """The second part's place, else the bound's."""
        return self.second_where or self.where

    @property
    def place_of_second(self) -> tuple[str, ...]:
        """Where the second part lies, by the label that it has in the bar."""
        if self.second is None:
            return ()
        text = place_text(self.second_where, is_busy=kind_of(self.second) == WORK)
        return () if text is None else (f"{label_of(self.second, is_process=False)}: {text}",)

    def shares(self, bar: Bar, rank: RankTime) -> str:
        """Return the parts' shares as the bar shows them."""
        parts = [self.bound] if self.second is None else [self.bound, self.second]
        return " and ".join(percent_in(bar, rank, part) for part in parts)


def words_with_second(second: str, special: str | None) -> str:
    """Say that the device computes, and what else takes a comparable time: the part `second`.

    `special` is a more specific sentence on that part, if there is one.
    """
    phrase = special or DEVICE_SENTENCES[second]
    if special is None:
        phrase = _PHRASES.get(second, phrase)
    phrase = phrase.removeprefix(_SUBJECT).removesuffix(_COMPUTES_NOTHING)
    return f"{_SUBJECT}computes or {phrase}"
