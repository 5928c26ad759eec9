"""Build the fuzzer of the parser in C and run it: python -m tools.fuzz INPUTS.

With clang, it is libFuzzer: it looks for inputs that reach new code. With gcc, inputs are changed
at random. Both run under AddressSanitizer and UndefinedBehaviorSanitizer, and start from parts of
the sample traces.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import tempfile
from array import array
from pathlib import Path

from tests.fast_and_slow import BYTES, CHANGES, VALUES
from tracelens.collectors.torch import fields

ROOT = Path(__file__).resolve().parents[2]
_NATIVE = ROOT / "tracelens" / "native"
_SOURCES = (Path(__file__).with_name("events.c"), _NATIVE / "json.c", _NATIVE / "kineto.c")
_LONGEST = 1024


def main() -> None:
    """Run the fuzzer on the given number of inputs, and exit with its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", type=int)
    parser.add_argument(
        "--compiler",
        default=shutil.which("clang") or shutil.which("gcc") or "cc",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="another one changes inputs in other ways"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "plan.h").write_text(plan(), encoding="ascii")
        seeds = write_seeds(folder / "seeds")
        is_clang = "clang" in Path(given.compiler).name
        program = folder / "fuzz"
        sanitizers = "address,undefined" + (",fuzzer" if is_clang else "")
        flags = [
            "-std=c11",
            "-O1",
            "-g",
            f"-fsanitize={sanitizers}",
            "-fno-sanitize-recover=all",
            f"-I{folder}",
        ]
        alone = [] if is_clang else ["-DALONE"]
        command = [
            given.compiler,
            *flags,
            *alone,
            f"-I{_NATIVE}",
            *map(str, _SOURCES),
            "-o",
            str(program),
        ]
        subprocess.run(command, check=True)
        if is_clang:
            amount = [f"-runs={given.inputs}", f"-seed={given.seed}", f"-max_len={2 * _LONGEST}"]
            limits = [*amount, "-print_final_stats=1", "-verbosity=0"]
            words = write_dictionary(folder / "words")
            run = [
                str(program),
                *limits,
                f"-dict={words}",
                f"-artifact_prefix={Path.cwd()}/",
                str(seeds[0].parent),
            ]
        else:
            run = [
                str(program),
                str(given.inputs),
                str(given.seed),
                *map(str, seeds),
            ]
        raise SystemExit(subprocess.run(run, check=False).returncode)


def plan() -> str:
    """Return the parser's plan of fields.py as C source."""
    text, keys, tables, columns = fields.plan()
    lines = [f'static const char KEY_TEXT[] = "{text.decode()}";']
    for name, words in (("KEYS", keys), ("TABLES", tables), ("COLUMNS", columns)):
        lines.append(
            f"static const int64_t {name}[] = {{{', '.join(map(str, array('q', words)))}}};"
        )
    lines.append(f"#define N_COLUMNS {len(columns) // 24}")
    lines += [
        f"#define {name} {getattr(fields, name)}"
        for name in ("ALLOCATIONS", "COUNTERS", "UNPLACED")
    ]
    return "\n".join(lines) + "\n"


def write_seeds(folder: Path) -> list[Path]:
    """Write seed inputs: a few events of each sample, and events with odd values."""
    folder.mkdir()
    seeds = []
    for trace in sorted((ROOT / "samples" / "torch").glob("*.json.gz")):
        text = gzip.decompress(trace.read_bytes())
        seeds += [
            text[text.find(b'{\n    "ph"', first) :][:_LONGEST]
            for first in range(0, len(text), len(text) // 40)
        ]
    known = [*fields.ARG_KEYS, *fields.EVENT_KEYS]
    odd = [*(value.encode() for value in VALUES), *BYTES]
    for number, value in enumerate(odd):
        keys = (known[(7 * number + k) % len(known)] for k in range(12))
        args = b",".join(b'"%s":%s' % (key.encode(), value) for key in keys)
        seeds.append(
            b'{"ph":"X","cat":"kernel","ts":1.5,"dur":2,"name":%s,"args":{%s}},' % (value, args)
        )
    files = []
    for number, seed in enumerate(seeds):
        files.append(folder / f"{number}.json")
        files[-1].write_bytes(seed[:_LONGEST])
    return files


def write_dictionary(file: Path) -> Path:
    """Write the keys, categories and odd texts that libFuzzer inserts into inputs."""
    words = [
        *(f'"{key}":'.encode() for key in (*fields.EVENT_KEYS, *fields.ARG_KEYS)),
        *BYTES,
        *CHANGES,
    ]
    words += [f'"{category}"'.encode() for category in fields.CATEGORIES]
    file.write_text(
        "".join(f'"{"".join(f"{chr(92)}x{byte:02x}" for byte in word)}"\n' for word in words)
    )
    return file


if __name__ == "__main__":
    main()
