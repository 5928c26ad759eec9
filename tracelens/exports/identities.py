"""Give processes and threads distinct numbers for a viewer."""

from msgspec import Struct, field

_FIRST_MADE_UP = 1 << 23
_LAST = (1 << 31) - 1
"""The last process number that may be invented.

Linux numbers processes below 2^22. Perfetto holds 31 bits, and reserves 0 for the idle process.
"""


class Identities(Struct):
    """Holds the numbers of processes and threads so far.

    A recorded number is kept if it is free and the viewer can hold it. Otherwise a new number is
    made up: processes of two machines may have the same number.
    """

    given: dict[tuple[int, ...], int] = field(default_factory=dict)
    taken: set[tuple[int, int]] = field(default_factory=set)

    def process(self, rank: int, process: int) -> int:
        """Return the number of a rank's process. No other process has it."""
        return self._number((rank, process), 0, process)

    def thread(self, rank: int, thread: tuple[int, int]) -> int:
        """Return the number of a thread (process and thread id). No other thread has it."""
        process, number = thread
        process_number = self.process(rank, process)
        return self._number((rank, process, number), process_number, number)

    def _number(
        self,
        key: tuple[int, ...],
        among: int,
        recorded: int,
    ) -> int:
        if key in self.given:
            return self.given[key]
        number = recorded
        is_taken = (among, recorded) in self.taken
        if is_taken or not 0 < recorded <= _LAST:
            number = _FIRST_MADE_UP + len(self.given)
        self.given[key] = number
        self.taken.add((among, number))
        return number
