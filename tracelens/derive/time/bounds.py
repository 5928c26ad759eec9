"""Write the bound of a rank in words: the largest part of its time, and the second part."""

PART_WORDS = {
    "compute": "compute",
    "communication": "communication",
    "waiting": "waiting for other ranks",
    "copy": "copies",
    "input": "input",
    "allocation": "allocation",
    "sync": "waits for the device",
    "loading": "module load",
    "launch": "launches",
    "host": "the host's other work",
    "dependency": "stream wait",
    "unknown": "unknown idle time",
}
"""Words for each part of the time, used in sentences, cards and pages."""
UNRECORDED = ("between ", "before ", "after ")
"""First words for a time without recorded events; the events before and after follow."""
INSIDE_OP = r"(?:^|> )\w+::\w+(?:\.\w+)?$"
"""Pattern for call paths that end in an operator, such as aten::add or aten::add.out."""
PROCESS_WORDS = PART_WORDS | {
    "compute": "arithmetic",
    "launch": "calling ops",
    "host": "outside of ops",
}
"""Words for each part of the time of a process without a device."""
CELL_WORDS, PROCESS_CELL_WORDS = (
    nouns
    | {f"exposed_{part}": f"exposed {nouns[part]}" for part in ("communication", "copy")}
    | {f"idle_{part}": f"idle: {word}" for part, word in nouns.items()}
    for nouns in (PART_WORDS, PROCESS_WORDS)
)
"""Words for parts of the time, and for columns such as `exposed_copy` and `idle_input`.

PROCESS_CELL_WORDS are for processes without a device.
"""


def bound_words(
    bound: str,
    bound_frac: float | None,
    second: str | None = None,
    second_frac: float | None = None,
    *,
    is_process: bool = False,
) -> str:
    """Write the bound and the second part with their shares: "compute 66 %, then launches 19 %".

    Without a share, or if the bound is not a part of the time, only the bound is written.
    """
    nouns = PROCESS_WORDS if is_process else PART_WORDS
    words = nouns.get(bound)
    if words is None or bound_frac is None:
        return words or bound
    sentence = f"{words} {bound_frac:.0%}"
    if second is not None and second_frac is not None:
        sentence += f", then {nouns.get(second, second)} {second_frac:.0%}"
    return sentence.replace("%", " %")


def place_phrase(place: str) -> str:
    """Return a call path as part of a sentence, such as "in aten::mm" or "between a and b"."""
    return place if place.startswith(UNRECORDED) else f"in {place}"
