"""The table of ranks: where each ran, as far as the sources tell, without the names of hosts."""

from collections.abc import Mapping, Sequence

import polars as pl

from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture
from tracelens.trace.same_run import WORLD_SIZE


def places(settled: Sequence[tuple[int, Capture]]) -> list[tuple[int, pl.DataFrame]]:
    """Return one row of the table `ranks` per rank, in their order.

    It comes from the first capture of each. Clocks come later.
    """
    captures: dict[int, Capture] = {}
    for rank, capture in settled:
        captures.setdefault(rank, capture)
    rows = {rank: _row(capture) for rank, capture in sorted(captures.items())}
    if all(row["node"] is None for row in rows.values()):
        for rank, node in _nodes(
            captures, {rank: row["device_id"] for rank, row in rows.items()}
        ).items():
            rows[rank]["node"] = node
    table = TABLES["ranks"].without("rank")
    return [
        (rank, table.conform(pl.DataFrame([row], schema=table.schema)))
        for rank, row in rows.items()
    ]


def _row(capture: Capture) -> dict[str, int | None]:
    """Return the facts that the capture has of its rank.

    Without such a table, its number of ranks and its device.
    """
    own, size = capture.table("ranks"), capture.settings.get(WORLD_SIZE)
    table = TABLES["ranks"].without("rank")
    row = {"world_size": size if isinstance(size, int) else None}
    if own is not None:
        row |= table.conform(own.lazy().collect()).row(0, named=True)
    return dict.fromkeys(table.names) | row | {"device_id": _device(capture)}


def _device(capture: Capture) -> int | None:
    """Return the device that ran most kernels, the first of several."""
    kernels = capture.table("kernels")
    if kernels is None:
        return None
    counts = kernels.lazy().filter(pl.col("device_id") >= 0).group_by("device_id").len().collect()
    devices: list[int] = counts.sort(["len", "device_id"], descending=[True, False])[
        "device_id"
    ].to_list()
    return devices[0] if devices else None


def _nodes(captures: Mapping[int, Capture], devices: Mapping[int, int | None]) -> dict[int, int]:
    """Return the number of each rank's host.

    It is counted by the hosts' names, else from how launchers place ranks. Launchers fill one host
    after another: rank r runs on device r modulo the devices of a host. Empty where nothing tells,
    and for one rank, which has no other to be counted with.
    """
    if len(devices) == 1:
        return {}
    hosts = [captures[rank].place.host for rank in devices]
    if None not in hosts:
        numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
        return {rank: numbers[captures[rank].place.host] for rank in devices}
    visible = {
        0 if (rows := capture.table("devices")) is None else rows.height
        for capture in captures.values()
    }
    used = {device for device in devices.values() if device is not None}
    # A process that sees one device runs on the first, on every host.
    if len(visible) > 1 or min(visible) < 2 or None in devices.values():
        return {}
    for n_devices in (*visible, max(used) + 1):
        if len(used) > 1 and all(device == rank % n_devices for rank, device in devices.items()):
            return {rank: rank // n_devices for rank in devices}
    return {}
