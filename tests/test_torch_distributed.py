"""Collectives of a torch trace: group, sequence, splits and peer; and the table of ranks."""

from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.torch_files import kernel, read, rows, write

WORLD = {"rank": 5, "world_size": 16, "backend": "nccl"}
DEVICES = [{"id": number, "name": "H200"} for number in range(4)]


def nccl(ts: float, name: str, **more: Any) -> dict[str, Any]:
    """A communication kernel on device 1, of Kineto's description and `more`."""
    told = {
        "Collective name": name,
        "dtype": "Float",
        "In msg nelems": 8,
        "Out msg nelems": 16,
        "Group size": 4,
    }
    args = {"device": 1, "stream": 20, "correlation": int(ts), **told, **more}
    return kernel("ncclDevKernel_SendRecv()", ts, 1, int(ts), args=args)


EVENTS = [
    nccl(
        1,
        "_allgather_base",
        Seq=7,
        **{
            "Process Group Name": "3",
            "Process Group Description": "mesh_dp",
            "Process Group Ranks": "[1, 5, 9, 13]",
        },
    ),
    nccl(
        2,
        "all_to_all",
        **{
            "Process Group Name": "3",
            "Process Group Description": "undefined",
            "In split size": "[1, 2, 3, 2]",
            "Out split size": "[4, 4, 4, 4]",
        },
    ),
    nccl(
        3,
        "send",
        **{
            "Process Group Name": "1",
            "Process Group Ranks": "[0, 1, ..., 15]",
            "Dst Rank": 6,
            "In split size": "[]",
        },
    ),
    nccl(
        4,
        "recv",
        **{"Process Group Name": "9", "Process Group Ranks": "[0, 1, ..., 15]", "Src Rank": 2},
    ),
    nccl(5, "barrier", **{"Process Group Ranks": 12, "Seq": "x", "In split size": "[1, null]"}),
]


@pytest.mark.parametrize("is_native", [True, False])
def test_columns_of_a_collective_from_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_native: bool
) -> None:
    """A cut list of ranks is completed from distributedInfo.

    It is None if that has none of the group.
    """
    if not is_native:
        monkeypatch.setattr("tracelens.collectors.torch.reading.LIBRARY", None)
    groups = [
        {"pg_name": "1", "pg_desc": "world", "pg_size": 16, "ranks": [*range(16)]},
        7,
        {"ranks": "[1, ..., 2]"},
    ]
    info = WORLD | {"pg_config": groups}
    capture = read(write(tmp_path / "a.json", EVENTS, distributedInfo=info))
    assert rows(
        capture, "collectives", "group", "group_id", "sequence", "group_ranks", "in_split", "peer"
    ) == [
        ("mesh_dp", "3", 7, "[1, 5, 9, 13]", None, None),
        ("3", "3", None, None, "[1, 2, 3, 2]", None),
        ("1", "1", None, str([*range(16)]), None, 6),
        ("9", "9", None, None, None, 2),
        (None, None, None, None, None, None),
    ]
    assert rows(capture, "collectives", "out_split", "size_in_bytes")[1] == ("[4, 4, 4, 4]", 32)


def placed(path: Path) -> list[tuple[int | None, ...]]:
    """World size, host, device and place of the ranks in a trace."""
    return tl.collect(path).ranks.select("world_size", "node", "device_id", "tp", "pp", "dp").rows()


def test_a_rank_s_place_in_the_job(tmp_path: Path) -> None:
    """Its groups, or the file's name, give the place.

    Only other ranks give the number of its host.
    """
    groups = [
        {"pg_name": "3", "pg_desc": "mesh_dp", "ranks": [1, 5, 9, 13]},
        {"pg_name": "4", "pg_desc": "TENSOR_MODEL_PARALLEL_GROUP", "ranks": "[4, 5]"},
        {"pg_name": "5", "pg_desc": "TENSOR_AND_DATA_PARALLEL_GROUP", "ranks": [5, 6]},
        {"pg_name": "6", "pg_desc": "mesh_pp", "ranks": [0, 4]},
    ]
    facts: dict[str, Any] = {
        "distributedInfo": WORLD | {"pg_config": groups},
        "deviceProperties": DEVICES,
    }
    assert placed(write(tmp_path / "a.json", EVENTS, **facts)) == [(16, None, 1, 1, None, 1)]
    named = write(tmp_path / "serve-tp3_PP-2.json", EVENTS, **facts)
    assert placed(named) == [(16, None, 1, 3, 2, 1)]


def test_a_trace_that_tells_nothing_of_its_job(tmp_path: Path) -> None:
    assert placed(write(tmp_path / "step1.json", [kernel("gemm", 1, 1, 1)])) == [
        (None, None, 0, None, None, None)
    ]


def test_the_launcher_says_which_host(tmp_path: Path) -> None:
    path = write(tmp_path / "rank5.1.pt.trace.json", EVENTS, distributedInfo=WORLD)
    (tmp_path / "rank5.1.live.json").write_text('{"rank": 5, "node": 3}')
    assert rows(read(path), "ranks", "node") == [(3,)]
