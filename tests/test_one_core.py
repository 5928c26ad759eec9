"""A small file is answered on one core; everything else may use all of them."""

import os
from pathlib import Path

import pytest

from tracelens import __main__ as command

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux keeps a process on a core"
)


@pytest.mark.parametrize(
    ("words", "is_alone"),
    [
        (["small.json"], True),
        (["report", "small.json", "--against", "small.json"], True),
        (["whatif", "small.json", "cuda_graph"], True),
        (["report", "small.json", "--against", "large.json"], False),
        (["large.json"], False),
        (["packed.json.gz"], False),  # 3 MB, which unpack to more than 20
        (["folder"], False),
        (["missing.json"], False),
        (["collect", "torch", "small.json"], False),
        (["run", "small.json"], False),
        (["--help"], False),
        ([], False),
    ],
)
def test_only_answers_to_small_files_stay_on_one_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], is_alone: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n_bytes in (
        ("small.json", 10),
        ("large.json", 30_000_000),
        ("packed.json.gz", 3_000_000),
    ):
        with Path(name).open("wb") as file:
            file.truncate(n_bytes)
    Path("folder").mkdir()
    kept: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: kept.append(cores))
    command._stay_on_one_core(words)
    assert len(kept) == is_alone
    for cores in kept:
        assert len(cores & os.sched_getaffinity(0)) == 1
