"""Parse a debugger's printed frames into function, file and library.

Names are comparable across builds.
"""

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

UNKNOWN_FUNCTION = "??"
"""gdb's text for a frame whose function has no known name."""

# Every pattern here is linear in its input: no repetition can match the same text in two ways.
_WORD = re.compile(r"\w{0,40}")
_BRACKET = re.compile(
    r"""(?<![\w$]) operator (?: \(\) | \[\] | ->\*? | <=> | <<=? | >>=? | [<>]=? )  # brackets that are a name
      | \(anonymous[ ]namespace\)(?:::)? | \{anonymous\}(?:::)?
      | ->
      | <lambda(?=\()
      | [<>(){}\[\]]""",
    re.VERBOSE,
)
_OPENERS = {"<": "<", "<lambda": "<", "(": "(", "[": "[", "{": "{"}
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# clang names lambdas and unnamed types by their source position: (lambda at /home/ann/net.cpp:3:7)
_CLANG_LAMBDA = re.compile(r"\(lambda at [^()]*+\)")
_FOLDERS = re.compile(r"(\((?:lambda|anonymous|unnamed)[a-z ]{0,20} at )[^()]*[/\\]")
_COLONS = re.compile(r"(?:::){2,}")
_MARKS = re.compile(r"\[(?:clone |abi:)[^\[\]]*\]")
_QUALIFIER = re.compile(r" (?:const|volatile|noexcept|&&?)(?= |::|$)")
_OPERATOR_WORD = re.compile(r'(?:^|::)operator(?:"")?$')
_SUFFIXES = frozenset({"cold", "part", "isra", "constprop", "localalias", "lto_priv", "llvm"})
# gdb's strings and characters. An unterminated string runs to the end, so nothing is scanned twice.
_IN_ARGUMENTS = re.compile(r""""(?:[^"\\]|\\.)*+"?|'(?:\\.[0-9]{0,3}|[^'\\])'|[()]""", re.DOTALL)
_VALUE = re.compile(r"\([\w#@.$]{1,200}=(?!=)")
_PLAIN_ARGUMENTS = re.compile(r"(?: (?=\((?:\)|\.\.\.))|(?=\([\w#@.$]{1,200}=(?!=)))")


class PrintedFrame(Struct, frozen=True):
    """Holds a printed frame, without argument values and folders, because they may be secret."""

    raw_function: str
    library: str | None = None
    file: str | None = None
    line: int | None = None


def file_name(path: str) -> str | None:
    """Return the last part of a path with slashes or backslashes, None if it is empty."""
    return re.split(r"[/\\]", path.strip())[-1].strip() or None


def without_folders(function: str) -> str:
    """Return the function's name without the folders of source paths.

    clang writes source paths into the names of lambdas and unnamed types.
    """
    return _FOLDERS.sub(r"\1", function)


def split_frame(text: str) -> PrintedFrame:
    """Parse `FUNCTION (ARGUMENTS) at FILE:LINE` or `… from LIBRARY`, and drop the arguments.

    A text without an argument list is a function without file and library.
    """
    start = _arguments_start(text)
    if start < 0:
        return PrintedFrame(
            re.split(r" (?:at |from |/)", text, maxsplit=1)[0].strip() or UNKNOWN_FUNCTION
        )
    function = without_folders(text[:start].strip()) or UNKNOWN_FUNCTION
    location = text[_arguments_end(text, start) :].strip()
    if location.startswith("from "):
        return PrintedFrame(function, library=file_name(location[5:]))
    path, _, line = location.removeprefix("at ").rpartition(":")
    if location.startswith("at ") and path and line.isascii() and line.isdigit() and len(line) < 10:
        return PrintedFrame(function, file=file_name(path), line=int(line))
    return PrintedFrame(function)


def normalise_function(name: str) -> str:
    """Return the name without parts that differ between builds and compilers.

    Removed are:

    - template arguments, parameters, return type and qualifiers
    - anonymous namespaces
    - suffixes of cloned or split functions

    A lambda becomes `{lambda}`. `??` and gdb's `<… called>` do not change.
    """
    text = _CLANG_LAMBDA.sub("{lambda}", _MARKS.sub("", name)).strip()
    if text.startswith("<") and text.endswith(" called>"):
        return text
    words = _QUALIFIER.sub("", _outside_brackets(text)).split()
    if not words:
        return text or UNKNOWN_FUNCTION
    operator = next(
        (i for i, word in enumerate(words) if _OPERATOR_WORD.search(word)),
        None,
    )
    plain = words[-1] if operator is None else " ".join(words[operator:])
    plain = plain[:1] + plain[1:].split("@", 1)[0]  # symbol versions: foo@plt, foo@@GLIBC_2.2.5
    return _COLONS.sub("::", _without_suffixes(plain)).removeprefix("::") or text


def _brackets(text: str) -> Iterator[tuple[re.Match[str], int, int]]:
    """Yield every bracket with the nesting depth before and after it.

    A closing bracket without an opening bracket does not change the depth.
    """
    still_open: list[str] = []
    counts: Counter[str] = Counter()
    for match in _BRACKET.finditer(text):
        bracket = match.group()
        before = len(still_open)
        # In foo<(a > b)>, the first `>` compares, because the innermost bracket is `(`.
        ends_template = bracket == ">" and still_open[-1:] == ["<"]
        if bracket in _OPENERS:
            still_open.append(_OPENERS[bracket])
            counts[_OPENERS[bracket]] += 1
        elif ends_template:
            counts[still_open.pop()] -= 1
        elif bracket in _CLOSERS and counts[_CLOSERS[bracket]]:
            closed = ""
            while closed != _CLOSERS[bracket]:
                closed = still_open.pop()
                counts[closed] -= 1
        yield match, before, len(still_open)


def _outside_brackets(text: str) -> str:
    """Return the text outside all brackets.

    A lambda or unnamed type is reduced to its first word, for instance `{lambda}`.
    """
    kept: list[str] = []
    start = depth = 0
    for match, before, depth in _brackets(text):
        if before == 0:
            kept += [text[start : match.start()], _kept_of_bracket(match)]
        if depth == 0:
            start = match.end()
    if depth == 0:
        kept.append(text[start:])
    return "".join(kept)


def _kept_of_bracket(bracket: re.Match[str]) -> str:
    """Return what stays of an outermost bracket: an operator, or the first word of a type."""
    text = bracket.group()
    if text.startswith("operator"):
        return text
    if text == "<lambda":
        return "{lambda}"
    if text == "{":
        word = _WORD.match(bracket.string, bracket.end())
        return "{" + (word.group() if word else "") + "}"
    return ""


def _without_suffixes(name: str) -> str:
    """Return the name before `.cold`, `.part.0`, `.localalias.355` and the like."""
    parts = name.split(".")
    end = len(parts)
    for index in range(len(parts) - 1, 0, -1):
        if parts[index] in _SUFFIXES:
            end = index
        elif not parts[index].isdigit():
            break
    return ".".join(parts[:end])


def _arguments_start(text: str) -> int:
    """Return the position of the bracket that opens gdb's argument list, -1 without a list."""
    for match, before, _ in _brackets(text):
        start = match.start()
        if match.group() != "(" or before or not start:
            continue
        part_of_name = text.startswith(
            ("(*", "(&", "(lambda at ", "(anonymous "), start
        ) or text.endswith("decltype ", 0, start)
        # A log may have lost the space before the list. Then `name=value` shows where the list
        # begins, so that values do not become part of the name.
        if (text[start - 1] == " " and not part_of_name) or _VALUE.match(text, start):
            return start
    plain = _PLAIN_ARGUMENTS.search(text)  # for a name whose brackets do not balance
    return plain.end() if plain else -1


def _arguments_end(text: str, start: int) -> int:
    """Return the position after the argument list that opens at `start`.

    For a truncated list, this is the end of the text.
    """
    depth = 0
    for match in _IN_ARGUMENTS.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if depth == 0 and match.group() == ")":
            return match.end()
    return len(text)
