"""Files are written whole or not at all: a disk that fills up leaves what was there before."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cases import make_trace
from tracelens.advisor.plan import Plan
from tracelens.cli.io import write_report
from tracelens.errors import SourceError
from tracelens.report import Report, build_report
from tracelens.storage.atomic_write import write_text
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Format

KERNELS = [
    {"kernel_id": i, "name": f"kernel_{i}", "start_ns": i * 10, "duration_ns": 5} for i in range(40)
]


def _report_as(form: Format) -> Callable[[Report, Path], None]:
    return lambda report, out: write_report(report, form, out)


WRITERS: dict[str, Callable[[Report, Path], None]] = {
    **{f"r.{name}": _report_as(form) for name, form in FORMATS.items()},
    "plan.json": lambda _, out: Plan(("a",), layers={"a": "compiled"}).write(out),
}


@contextmanager
def full_after(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: the system refuses the rest, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_the_old_file_stays_when_the_disk_fills_up(name: str, tmp_path: Path) -> None:
    report = build_report(make_trace(kernels=KERNELS), names=["top_kernels"])
    target = tmp_path / name
    WRITERS[name](report, target)
    assert target.stat().st_size > 64
    target.write_text("old")
    with (
        full_after(64),
        pytest.raises(SourceError, match=f"{name}: cannot be written: .*File too large"),
    ):
        WRITERS[name](report, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_of_the_old_file_are_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain").write_text("")
    write_text("new", tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "a").chmod(0o600)
    write_text("newer", tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text("new", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    write_text("gone", Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    with pytest.raises(SourceError, match="/dev/full: cannot be written: No space left"):
        write_text("x", Path("/dev/full"))


def test_a_circle_of_links_and_a_folder_are_refused_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    write_text("new", tmp_path / "a")
    assert (tmp_path / "a").read_text() == "new"
    for target in (tmp_path, tmp_path / "nowhere" / "file"):
        with pytest.raises(SourceError, match="cannot be written"):
            write_text("x", target)
