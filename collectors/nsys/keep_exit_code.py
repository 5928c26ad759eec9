"""Run the user's program, and write its exit code to a file.

nsys runs `python -I -S keep_exit_code.py FILE COMMAND...` instead of the program, because nsys
itself may exit with another code. Only the standard library is used.
"""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType


def main(file: str, command: list[str]) -> int:
    """Run the command with this process's standard streams.

    Return the command's exit code, and write it to the file. The code is 128+n for signal n.
    """
    children: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        for child in children:
            child.send_signal(number)

    # The program gets a terminal's Ctrl-C directly, but not the signals by which nsys ends it.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGHUP, forward)
    with subprocess.Popen(command) as program:  # noqa: S603 - the user's own command
        children.append(program)
        code = program.wait()
    code = code if code >= 0 else 128 - code
    with suppress(OSError):  # an interrupted nsys may end before the program and remove the folder
        Path(file).write_text(str(code))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
