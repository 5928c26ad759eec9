"""What holds the project together: packages, imports in one direction, documented public names."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

import tracelens.collectors  # noqa: F401 - lists them
from tracelens.analyses import ANALYSES
from tracelens.schemas import TABLES
from tracelens.trace.collector import COLLECTORS

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "tracelens": ROOT / "tracelens",
    "tracelens.collectors": ROOT / "collectors",
    "tracelens.schemas": ROOT / "schemas",
}


def levels() -> list[list[str]]:
    """Return the levels that CONTRIBUTING.md prints, the lowest first."""
    drawn = re.search(r"```levels\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert drawn
    return [re.findall(r"[\w.]+", floor) for floor in drawn[1].split("\n") if floor.strip()]


LEVELS = levels()
NEEDS_TORCH = {"tracelens.advisor.plan"}
"""Modules that import torch once they are used. No analysis is among them."""


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def modules() -> dict[str, Path]:
    found = {}
    for package, folder in FOLDERS.items():
        for file in folder.rglob("*.py"):
            inside = file.relative_to(folder)
            if package == "tracelens" and inside.parts[0] in {"collectors", "schemas"}:
                continue
            parts = [package, *inside.with_suffix("").parts]
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


def place(module: str) -> tuple[int, str]:
    """Return the module's level, and the module or package directly below `tracelens` it is in.

    `__main__` counts as part of the command line.
    """
    room = "".join(module.split(".")[1:2]).replace("__main__", "cli")
    for floor, rooms in enumerate(LEVELS):
        if (room or "tracelens") in rooms:
            return floor, room
    pytest.fail(f"{module} is on no level in CONTRIBUTING.md: say where it belongs")


@cache
def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found |= {str(getattr(word, "value", "")) for word in node.args}
    return {name for name in found if name.split(".")[0] == "tracelens"}


def test_imports_point_one_way() -> None:
    known = modules()
    wrong = []
    for module, file in known.items():
        for name in imports(file) & set(known):
            (floor, room), (other_floor, other_room) = place(module), place(name)
            if other_floor > floor or (other_floor == floor and other_room != room):
                wrong.append(f"{module} imports {name}")
    assert len(LEVELS) <= 10
    assert not wrong


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that are part of circles of imports.

    Modules that import no module of the rest are removed again and again.
    """
    left = dict(graph)
    while free := [name for name, others in left.items() if not (others - {name}) & set(left)]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_circles_inside_packages() -> None:
    known = modules()
    # A package's __init__ is imported with each of its modules; what it takes from them is no
    # circle.
    graph = {m: imports(f) & set(known) for m, f in known.items()}
    packages = {m for m, file in known.items() if file.name == "__init__.py"}
    assert (
        circles(
            {
                m: {n for n in graph[m] if not m.startswith(f"{n}.")}
                for m in known
                if m not in packages
            }
        )
        == []
    )
    for package in packages - {"tracelens"}:
        depth = package.count(".") + 2
        inside: dict[str, set[str]] = {}
        for m in known:
            if m.startswith(f"{package}."):
                parts = {
                    ".".join(n.split(".")[:depth]) for n in graph[m] if n.startswith(f"{package}.")
                }
                inside.setdefault(".".join(m.split(".")[:depth]), set()).update(parts)
        assert circles(inside) == [], package


SHARED = {"tracelens.analyses.analysis"}
"""Modules that analyses share: the declaration of an analysis."""


@pytest.mark.parametrize("folder", ["tracelens.collectors", "tracelens.analyses"])
def test_siblings_never_import_each_other(folder: str) -> None:
    wrong = []
    for module, file in modules().items():
        parts = module.split(".")
        if len(parts) < 3 or ".".join(parts[:2]) != folder:
            continue
        own = ".".join(parts[:3])
        for name in imports(file):
            inside = name.split(".")
            is_sibling = (
                ".".join(inside[:2]) == folder
                and len(inside) > 2
                and ".".join(inside[:3]) in modules()
            )
            if is_sibling and ".".join(inside[:3]) not in {own, *SHARED}:
                wrong.append(f"{module} imports {name}")
    assert not wrong


def test_general_code_names_no_collector() -> None:
    """Only the commands of a collector, the search for tools and `tl.capture` know one."""
    allowed = {f"tracelens.cli.collect.{kind}" for kind in COLLECTORS}
    allowed |= {
        "tracelens",
        "tracelens.cli.collect",
        "tracelens.cli.run",
        "tracelens.cli.calibrate",
    }
    rooms = {"trace", "running", "report", "views", "exports", "cli"}
    kinds = set(COLLECTORS) - set(TABLES)
    wrong = []
    for module, file in modules().items():
        if module in allowed or module.startswith("tracelens.collectors"):
            continue
        if any(name.startswith("tracelens.collectors.") for name in imports(file) & set(modules())):
            wrong.append(f"{module} imports a collector")
        texts = [node.value for node in ast.walk(tree(file)) if isinstance(node, ast.Constant)]
        wrong += [
            f"{module} names {text}"
            for text in texts
            if text in kinds and place(module)[1] in rooms
        ]
    assert not wrong


def test_every_table_is_filled_by_a_collector() -> None:
    filled = {table for collector in COLLECTORS.values() for table in collector.fills}
    assert filled <= set(TABLES)
    assert set(TABLES) - filled == {
        "diagnostics",
        "timings",
        "call_costs",
    }  # of every collector, and measured


def test_optional_packages_stay_out_of_the_analyses() -> None:
    for module, file in modules().items():
        if module.startswith("tracelens.collectors.torch.live"):
            continue  # runs in a program that has imported torch
        heavy = {"torch", "hta", "pygdbmi", "pandas", "numpy"}
        heavy -= {"torch"} if module in NEEDS_TORCH else set()
        # All else has columns: arrays are a replay's graph, or the plain memory of the C library.
        of_numpy = ("tracelens.interop.hta_trace", "tracelens.derive.replay.", "tracelens.native.")
        is_of_numpy = module.startswith(of_numpy)
        heavy -= {"numpy"} if is_of_numpy else set()
        for node in ast.walk(tree(file)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            assert not heavy & {name.split(".")[0] for name in names}, module


def test_packages_list_equals_folders() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {name for name, file in modules().items() if file.name == "__init__.py"}
    assert sorted(listed) == sorted(found)


def test_lower_bounds_are_those_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = {"torch", "hta", "cluster", "mcp"}  # installed by themselves, or not at all
    lines = [
        *project["dependencies"],
        *(line for name, lines in extras.items() if name not in own for line in lines),
    ]
    asked = [line.split(";")[0] for line in lines]
    lines = (ROOT / "tests" / "lowest.txt").read_text().splitlines()
    tested = [line for line in lines if not line.startswith(("#", "click=="))]
    for line in tested:
        name, version = line.split("==")
        (bound,) = [b.split(">=")[1] for b in asked if b.split(">=")[0] == name]
        assert (version + ".").startswith(bound + "."), line
    assert len(tested) == len(set(asked))


# The test above has the list of packages, and every installation compiles the library.
@pytest.mark.exhaustive
def test_wheel_installs_nothing_but_tracelens(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--quiet",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name, "one wheel for every Python from 3.11 on"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "tracelens",
        wheel.name.split("-cp311")[0] + ".dist-info",
    }
    for module, file in modules().items():
        inside = module.replace(".", "/") + (
            "/__init__.py" if file.name == "__init__.py" else ".py"
        )
        assert inside in names
    assert {
        f"tracelens/views/{name}"
        for name in ("page.html", "style.css", "page.js", "tables.js", "bars.js")
    } <= set(names)
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: the wheel was built without the native library")
    place = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(place)  # a wheel is installed by unpacking it
    said = subprocess.run(
        [sys.executable, "-c", "from tracelens.native import LIBRARY; print(LIBRARY.__file__)"],
        env=os.environ | {"PYTHONPATH": str(place), "TRACELENS_NATIVE": ""},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    library = Path(said.stdout.strip())
    assert library.is_relative_to(place)
    assert ".abi3." in library.name or library.suffix == ".pyd"


@pytest.mark.parametrize(
    "table", [*TABLES.values(), *(a.result for a in ANALYSES.values())], ids=lambda t: t.name
)
def test_every_column_is_documented(table: object) -> None:
    assert table.doc.endswith(".")  # type: ignore[attr-defined]
    for column in table:  # type: ignore[attr-defined]
        assert column.doc.endswith("."), column.name
        for suffix, unit in (("_ns", "ns"), ("_bytes", "bytes"), ("_frac", "1")):
            if column.name.endswith(suffix):
                assert column.unit == unit, column.name


def test_enums_of_tables_have_unknown() -> None:
    for table in TABLES.values():
        for column in table:
            if column.values and column.name != "python_frames":
                assert "unknown" in column.values, f"{table.name}.{column.name}"


def test_every_public_definition_has_a_docstring() -> None:
    bare = []
    for module, file in modules().items():
        parsed = tree(file)
        classes = [node for node in parsed.body if isinstance(node, ast.ClassDef)]
        bodies = [parsed.body, *(node.body for node in classes)]
        nodes = [
            parsed,
            *(n for body in bodies for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))),
        ]
        bare += [
            f"{module}:{getattr(node, 'name', '')}"
            for node in nodes
            if not getattr(node, "name", "x").startswith("_") and not ast.get_docstring(node)
        ]
    assert not bare


def test_trace_derived_is_the_only_cache_of_traces() -> None:
    caches = {
        module
        for module, file in modules().items()
        if "WeakKeyDictionary" in (text := file.read_text()) or "WeakValueDictionary" in text
    }
    assert not caches


def test_the_answer_loads_the_analyses_that_it_needs() -> None:
    """The word of help needs neither Polars nor a trace; a verdict few of the analyses."""
    code = """
import sys
import tracelens.cli.app
print([name for name in ("polars", "pyarrow", "tracelens.analyses", "typer") if name in sys.modules])
import tracelens.cli.reporting
import tracelens.analyses
tracelens.analyses.verdict
loaded = [name for name in tracelens.analyses.ANALYSES if f"tracelens.analyses.{name}" in sys.modules]
print(loaded, [name for name in ("pyarrow.compute", "rich.progress") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n['verdict'] []\n"
