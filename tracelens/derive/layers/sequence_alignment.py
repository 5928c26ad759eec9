"""Align two sequences: pair equal elements in the order of both sequences."""

from difflib import SequenceMatcher

_MOST_EDITS = 300


def align(
    mine: tuple[int, ...],
    theirs: tuple[int, ...],
) -> list[int | None]:
    """Return the index in `theirs` that matches each element of `mine`, None without a match.

    Indices increase.
    """
    # Equal beginnings and ends are paired first, so that only the middle is searched.
    shorter = min(len(mine), len(theirs))
    head = next((i for i in range(shorter) if mine[i] != theirs[i]), shorter)
    tail = next(
        (i for i in range(shorter - head) if mine[-1 - i] != theirs[-1 - i]),
        shorter - head,
    )
    matches: list[int | None] = [*range(head), *[None] * (len(mine) - head)]
    middles = mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]
    for position, match in _few_edits(*middles) or _blocks(*middles):
        matches[head + position] = head + match
    for i in range(1, tail + 1):
        matches[-i] = len(theirs) - i
    return matches


def _blocks(
    mine: tuple[int, ...],
    theirs: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Return pairs of matching positions, found by difflib."""
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    pairs: list[tuple[int, int]] = []
    for block in matcher.get_matching_blocks():
        ours = range(block.a, block.a + block.size)
        others = range(block.b, block.b + block.size)
        pairs += zip(ours, others, strict=True)
    return pairs


def _few_edits(
    mine: tuple[int, ...],
    theirs: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Return pairs of positions in a longest common subsequence, by Myers' greedy algorithm.

    The list is empty above _MOST_EDITS differences.
    """
    # Time grows with the length times the number of differences. difflib would take much longer for
    # elements that repeat often.
    reach = {1: 0}
    steps = []
    for n_edits in range(min(_MOST_EDITS, len(mine) + len(theirs)) + 1):
        steps.append(reach.copy())
        for diagonal in range(-n_edits, n_edits + 1, 2):
            x = _onward(reach, diagonal, n_edits)
            while (
                x < len(mine)
                and 0 <= x - diagonal < len(theirs)
                and mine[x] == theirs[x - diagonal]
            ):
                x += 1
            reach[diagonal] = x
            if x >= len(mine) and x - diagonal >= len(theirs):
                return _walked_back(steps, len(mine), diagonal)
    return []


def _onward(reach: dict[int, int], diagonal: int, n_edits: int) -> int:
    """Return the position in `mine` that `n_edits` edits reach on a diagonal.

    A diagonal is a position in `mine` minus a position in `theirs`. `reach` has the farthest
    position in `mine` that `n_edits - 1` edits reach on each diagonal.
    """
    # The edit skips an element of `theirs` (from the diagonal above) or of `mine` (from below).
    is_lowest = diagonal == -n_edits
    is_highest = diagonal == n_edits
    if is_lowest or (not is_highest and reach[diagonal - 1] < reach[diagonal + 1]):
        return reach[diagonal + 1]
    return reach[diagonal - 1] + 1


def _walked_back(
    steps: list[dict[int, int]],
    x: int,
    diagonal: int,
) -> list[tuple[int, int]]:
    """Return the matched pairs of positions on the path that ends at `x` on the diagonal.

    `steps` has the positions reached on each diagonal before each edit.
    """
    pairs = []
    for n_edits in range(len(steps) - 1, -1, -1):
        begun = _onward(steps[n_edits], diagonal, n_edits)
        pairs += [(position, position - diagonal) for position in range(begun, x)]
        if begun == steps[n_edits].get(diagonal + 1) and (
            diagonal == -n_edits or (diagonal != n_edits and steps[n_edits][diagonal - 1] < begun)
        ):
            diagonal = diagonal + 1
            x = begun
        else:
            diagonal = diagonal - 1
            x = begun - 1
    return pairs
