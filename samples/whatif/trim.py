"""Remove what tracelens does not read from a torch.profiler trace, to make it smaller.

`python samples/whatif/trim.py FILE.json.gz…` rewrites the files.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

_FLOW = re.compile(r'\{\s*"ph": "[sf]"[^{}]*\},?')
_UNREAD = re.compile(
    r'\s*"(?:Ev Idx|Record function id|cbid|queued|finished|Op count)": ?(?:"[^"]*"|-?[\d.]+),?'
)
_COMMA_AT_END = re.compile(r",(\s*[}\]])")
_BREAK = re.compile(r"\s*\n\s*")


def trimmed(text: str) -> str:
    """Return the trace without flows, unread event numbers, and indentation."""
    text = _UNREAD.sub("", _FLOW.sub("", text))
    return _BREAK.sub("\n", _COMMA_AT_END.sub(r"\1", text))


def main() -> None:
    """Rewrite the files."""
    for path in map(Path, sys.argv[1:]):
        text = trimmed(gzip.decompress(path.read_bytes()).decode())
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
