"""Describe a device that computes, and does something else for a comparable time."""

from tracelens.answers.words import DEVICE_SENTENCES

_SUBJECT = "The GPU "
_COMPUTES_NOTHING = ", and computes nothing"
"""The end of a sentence on a device that receives; it is dropped if the device also computes."""
_PHRASES = {
    "communication": "only communicates",
    "copy": "only copies",
    "dependency": "waits for its own earlier work",
    "unknown": "is idle for an unknown reason",
}


def words_with_second(second: str, special: str | None) -> str:
    """Say that the device computes, and what else takes a comparable time: the part `second`.

    `special` is a more specific sentence on that part, if there is one.
    """
    phrase = special or DEVICE_SENTENCES[second]
    if special is None:
        phrase = _PHRASES.get(second, phrase)
    phrase = phrase.removeprefix(_SUBJECT).removesuffix(_COMPUTES_NOTHING)
    return f"{_SUBJECT}computes or {phrase}"
