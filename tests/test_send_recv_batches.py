"""Kernels of NCCL that serve a batch of sends and receives, as `batch_isend_irecv` has."""

import polars as pl

from tracelens.collectors.torch.distributed import OF_PAIRS, describe_pairs

THREAD = {"process_id": 1, "thread_id": 2}


def call(start: int, what: str | None, peer: int | None) -> dict[str, object]:
    """A send or receive as torch records it on the host; None is a batch of those before it."""
    name = "nccl:coalesced" if what is None else "record_param_comms"
    told = dict.fromkeys(OF_PAIRS) | {"collective": what, "peer": peer, "group_id": "0"}
    return {"name": name, "start_ns": start, "duration_ns": 8, **THREAD, **told}


def test_a_batch_of_one_call_tells_its_kernel_to_whom() -> None:
    """The first batch sends to rank 1; the second sends and receives, so its kernel has no peer."""
    rows = [(0, "send", 1), (10, None, None), (20, "send", 1), (30, "recv", 2), (40, None, None)]
    spans = pl.DataFrame([call(*row) for row in rows], infer_schema_length=None)
    launches = pl.DataFrame(
        [{"correlation_id": at, "start_ns": at, **THREAD} for at in (12, 42, 60)]
    )
    name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    kernels = pl.DataFrame(
        [
            {"name": name, "correlation_id": at, **dict.fromkeys(OF_PAIRS)}
            for at in (42, 12, 60)  # the last one was launched outside of any batch
        ],
        infer_schema_length=None,
    )
    found = describe_pairs(kernels, {"spans": spans, "api_calls": launches})
    assert found.select("collective", "peer").rows() == [(None, None), ("send", 1), (None, None)]
