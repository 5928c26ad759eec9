"""CONTRIBUTING's recipes, followed in a copy of the project: what an addition needs works."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tracelens", "collectors", "schemas", "docs")
BLOCK = re.compile(r"^ *```(?:python|text) (\S+)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def recipe(title: str) -> dict[str, str]:
    """Return the blocks of a section of CONTRIBUTING, by file."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return {file: textwrap.dedent(text) for file, text in BLOCK.findall(section)}


def follow(title: str, copy: Path) -> dict[str, int]:
    """Put the blocks in their places: a new file, or below the block's first line in a known file.

    Returns how many lines each file has gained.
    """
    gained = {}
    for name, text in recipe(title).items():
        file = copy / name
        if not file.exists():
            file.write_text(text)
        else:
            after, added = textwrap.dedent(text).split("\n", 1)
            (line,) = [
                line for line in file.read_text().splitlines(keepends=True) if line.strip() == after
            ]
            indent = line[: -len(line.lstrip())]
            file.write_text(file.read_text().replace(line, line + textwrap.indent(added, indent)))
        known = ROOT / name
        gained[name] = len(file.read_text().splitlines()) - (
            len(known.read_text().splitlines()) if known.exists() else 0
        )
    return gained


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the additions."""
    folder = tmp_path_factory.mktemp("project")
    for name in PACKAGES:
        shutil.copytree(
            ROOT / name,
            folder / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("*.svg", "*.png"),
        )
    for file in ROOT.iterdir():
        if file.suffix in {".md", ".toml"} or file.name == "Makefile":
            shutil.copy(file, folder)
    for name in ("tests", "samples"):
        (folder / name).mkdir()
        for file in (ROOT / name).iterdir():
            if file.suffix == ".py":  # each finds the project by its own place
                shutil.copy(file, folder / name)
            else:
                (folder / name / file.name).symlink_to(file)
    follow("Add an analysis", folder)
    follow("Add a collector", folder)
    follow("Add an export", folder)
    (folder / "run.log").write_text("kernels 1\ngemm 20 1000 30\nrelu 7 1040 10\ngemm 20 1050 30\n")
    return folder


def python(copy: Path, *words: str) -> str:
    """Run Python in the copy; return standard output and standard error."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("title", "module", "registry", "test"),
    [
        (
            "Add an analysis",
            "tracelens/analyses/streams.py",
            "tracelens/analyses/__init__.pyi",
            "tests/test_streams.py",
        ),
        (
            "Add a collector",
            "collectors/kernel_log.py",
            "collectors/__init__.py",
            "tests/test_kernel_log.py",
        ),
        (
            "Add an export",
            "tracelens/exports/kernel_list.py",
            "tracelens/exports/__init__.py",
            "tests/test_kernel_list.py",
        ),
    ],
)
def test_an_addition_is_its_module_its_test_and_one_line(
    title: str, module: str, registry: str, test: str, tmp_path: Path
) -> None:
    for folder in ("tests", "collectors", "tracelens/analyses", "tracelens/exports"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / registry, tmp_path / registry)
    gained = follow(title, tmp_path)
    assert set(gained) == {module, test, registry}
    assert gained[registry] == 1


def test_the_analysis_is_a_section_and_a_chart(copy: Path) -> None:
    report = ("-m", "tracelens", "report", "run.log", "--section", "streams")
    said = python(copy, *report, "--html", "page.html", "--format", "text")
    assert "How are kernels spread over streams?" in said
    assert re.search(r"^ +20 +2$", said, re.MULTILINE), said
    assert "Kernels by stream" in (copy / "page.html").read_text()


def test_a_missing_table_names_the_collector(copy: Path) -> None:
    stacks = str(ROOT / "samples" / "stacks" / "h200_torch211_cudnn_v8.txt")
    said = python(copy, "-m", "tracelens", "report", stacks, "--section", "streams")
    assert "tracelens collect kernel_log (of a program that logs them)" in " ".join(said.split())


def test_the_collector_reads_files_and_runs_a_program(copy: Path) -> None:
    collect = ("-m", "tracelens", "collect", "kernel_log")
    assert "wrote run.tracelens: 3 kernels" in python(copy, *collect, "run.log")
    log = "kernels 1\\ngemm 7 5 7\\n"
    program = f"import os, pathlib; pathlib.Path(os.environ['KERNEL_LOG']).write_text('{log}')"
    said = python(copy, *collect, "--out", "live.tracelens", "--", sys.executable, "-c", program)
    assert "wrote live.tracelens: 1 kernels" in said
    assert "the program ended with 0" in said


def test_the_export_is_a_word_after_to(copy: Path) -> None:
    assert "wrote out.kernels: 3 kernels\nnext: open out.kernels with any editor" in python(
        copy, "-m", "tracelens", "export", "run.log", "--to", "kernel_list", "--out", "out.kernels"
    )
    assert (copy / "out.kernels").read_text() == "0 1000 30 gemm\n0 1040 10 relu\n0 1050 30 gemm\n"


def test_events_of_the_chosen_profiler_are_kept(copy: Path) -> None:
    code = """
        import tracelens as tl
        for events in (None, "torch"):
            print(tl.collect(["run.log", "run.json"], events=events).kernels["name"].to_list())
    """
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "of torch",
        "pid": 0,
        "tid": 7,
        "ts": 1,
        "dur": 2,
        "args": {},
    }
    (copy / "run.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    assert python(copy, "-c", textwrap.dedent(code)) == "['gemm', 'relu', 'gemm']\n['of torch']\n"


def test_the_reference_is_generated_of_all(copy: Path) -> None:
    python(copy, "docs/generate.py")
    assert (
        "## tracelens collect kernel_log\n\nCollect a log of kernels"
        in (copy / "docs" / "cli.md").read_text()
    )
    assert "kernel_list for any editor" in (copy / "docs" / "cli.md").read_text()
    assert (
        "## streams\n\nHow are kernels spread over streams?"
        in (copy / "docs" / "analyses.md").read_text()
    )


@pytest.mark.exhaustive
def test_all_pass_their_tests_and_those_of_the_project(copy: Path) -> None:
    """All tests of the registry see the new analysis. No fast test of another package breaks."""
    names = ("streams", "kernel_log", "kernel_list", "analyses_registry", "views", "structure")
    chosen = "(fast or streams) and not packages_list"
    options = ("-q", "-p", "no:cacheprovider", "-k", chosen)
    said = python(copy, "-m", "pytest", *options, *(f"tests/test_{name}.py" for name in names))
    assert re.search(r"^\d+ passed", said, re.MULTILINE)
