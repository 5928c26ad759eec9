"""Make the table `ranks`: node and device of each rank, without names of hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture
from tracelens.trace.same_run import WORLD_SIZE

_TABLE = TABLES["ranks"].without("rank")


class RankPlace(Struct, frozen=True):
    """The host and device of a rank, as far as its source states them."""

    rank: int
    host: str | None
    device_id: int | None
    """The device that ran most kernels."""
    n_devices: int
    """The number of devices that the source describes."""
    facts: Mapping[str, Any]
    """Further columns of the table `ranks`."""

    @classmethod
    def of(cls, rank: int, capture: Capture) -> RankPlace:
        """Return host, device and further facts of a capture's rank."""
        rows, size = capture.table("ranks"), capture.settings.get(WORLD_SIZE)
        facts = {"world_size": size if isinstance(size, int) else None}
        if rows is not None:
            facts |= _TABLE.conform(rows.lazy().collect()).row(0, named=True)
        devices = capture.table("devices")
        n_devices = 0 if devices is None else devices.lazy().select(pl.len()).collect().item()
        return cls(
            rank,
            capture.host_facts.host,
            _device(capture),
            n_devices,
            facts,
        )


def rank_rows(known: Sequence[RankPlace]) -> list[tuple[int, pl.DataFrame]]:
    """Return each rank with its row of the table `ranks`, in order of ranks.

    The columns on clocks are None until `derive.ranks.validate_ranks` fills them.
    """
    places: dict[int, RankPlace] = {}
    for place in known:
        # If several captures describe a rank, the first is used.
        places.setdefault(place.rank, place)
    places = dict(sorted(places.items()))
    rows = {
        rank: {
            **dict.fromkeys(_TABLE.names),
            **place.facts,
            "device_id": place.device_id,
        }
        for rank, place in places.items()
    }
    if all(row["node"] is None for row in rows.values()):
        for rank, node in _nodes(places).items():
            rows[rank]["node"] = node
    return [
        (
            rank,
            _TABLE.conform(pl.DataFrame([row], schema=_TABLE.schema)),
        )
        for rank, row in rows.items()
    ]


def _device(capture: Capture) -> int | None:
    """Return the device that ran most kernels.

    If several devices ran equally many kernels, return their lowest id. Return None if there are no
    kernels.
    """
    kernels = capture.table("kernels")
    if kernels is None:
        return None
    counts = kernels.lazy().filter(pl.col("device_id") >= 0).group_by("device_id").len().collect()
    devices: list[int] = counts.sort(["len", "device_id"], descending=[True, False])[
        "device_id"
    ].to_list()
    return devices[0] if devices else None


def _nodes(places: Mapping[int, RankPlace]) -> dict[int, int]:
    """Return each rank's host as a number, counted from 0.

    The result is empty for a single rank. It is also empty if neither the names of the hosts nor
    the devices of the ranks show which ranks share a host.
    """
    if len(places) == 1:
        return {}
    hosts = [place.host for place in places.values()]
    if None not in hosts:
        numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
        return {rank: numbers[place.host] for rank, place in places.items()}
    visible = {place.n_devices for place in places.values()}
    devices = {rank: place.device_id for rank, place in places.items()}
    used = {device for device in devices.values() if device is not None}
    # A process that sees only one device calls it device 0 on every host.
    if len(visible) > 1 or min(visible) < 2 or None in devices.values():
        return {}
    # Launchers fill one host after another, so rank r runs on device r modulo the number of devices
    # per host.
    for n_devices in (*visible, max(used) + 1):
        if len(used) > 1 and all(device == rank % n_devices for rank, device in devices.items()):
            return {rank: rank // n_devices for rank in devices}
    return {}
