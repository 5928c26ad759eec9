"""Run a job's tasks in processes of this machine or on a Ray cluster."""

import logging
import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from tracelens.errors import SourceError, ToolError, TracelensError, UsageError, first_line
from tracelens.jobs.job import Engine, Work, attempted
from tracelens.jobs.tasks import Task
from tracelens.running.subprocess_reader import needs_of_size, plan, processes

Result: TypeAlias = tuple[Task, Any]
LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
_RETRIES = 3
_POOLS = 2
"""Number of process pools to try if processes are killed.

After that, each task gets its own process.
"""
_CONNECT_S = 5
_GET_RAY = "--engine ray needs Ray, which is not installed: pip install ray obstore"


def engine_of(
    name: str | None,
    address: str | None = None,
    limit_bytes: int | None = None,
) -> Engine:
    """Return the engine with this name, by default processes of this machine.

    `address` is the HOST:PORT of a running Ray cluster. `limit_bytes` limits the memory of all
    local processes together. Raises UsageError for an unknown name, and ToolError if Ray is not
    installed or nothing listens at the address.
    """
    if name not in (None, *ENGINES):
        raise UsageError(f"--engine {name}: the engines are {', '.join(ENGINES)}")
    if name == RAY:
        ray = _imported()
        if address is not None:
            _check_address(address)
        return partial(_on_ray, ray=ray, address=address)
    if address is not None:
        raise UsageError(f"--address is that of a Ray cluster: give --engine {RAY} too")
    return partial(_in_processes, limit_bytes=limit_bytes)


def _needs(task: Task) -> int:
    """Return the estimated memory of a task in bytes, from the sizes of its sources."""
    return sum(needs_of_size(source.size_bytes, source.name) for source in task.sources)


def _in_processes(
    tasks: Sequence[Task],
    work: Work,
    limit_bytes: int | None = None,
) -> Iterator[Result]:
    """Run tasks in processes, as many at a time as memory and cores allow; yield their results."""
    left = list(tasks)
    for _ in range(_POOLS if left else 0):
        begun, left = left, []
        with processes(plan([*map(_needs, begun)], limit_bytes).n_workers) as pool:
            futures = {pool.submit(attempted, task, work): task for task in begun}
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except BrokenProcessPool:
                    left.append(futures[future])
        if not left:
            return
    # If a process of a pool is killed, all running tasks are lost. Alone, a task fails only if its
    # own process is killed.
    for task in left:
        try:
            with processes(1) as pool:
                result = pool.submit(attempted, task, work).result()
        except BrokenProcessPool:
            result = SourceError(
                f"{task.name}: the process that read it was killed, perhaps for want of memory;"
                " read it on a machine with more"
            )
        yield task, result


def _on_ray(
    tasks: Sequence[Task],
    work: Work,
    ray: Any,
    address: str | None,
) -> Iterator[Result]:
    """Run tasks on a Ray cluster, and yield their results.

    A task runs again up to three times if its process or node is lost. Raises ToolError for a node
    with another version of Python or tracelens.
    """
    if not tasks:
        return
    with _connected(ray, address):
        # By value, so that `_on_node` also runs on nodes without tracelens.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        most = max(
            (node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]),
            default=0,
        )
        run = ray.remote(max_retries=_RETRIES, num_cpus=1, scheduling_strategy="SPREAD")(_on_node)
        begun = {
            # Each task reserves its estimated memory, at most all memory of the largest node.
            run.options(memory=min(_needs(task), most)).remote(
                _versions(),
                pickle.dumps(partial(attempted, task, work)),
            ): task
            for task in tasks
        }
        while begun:
            (done,), _ = ray.wait([*begun], num_returns=1)
            task = begun.pop(done)
            result = _awaited(ray, done, task)
            if isinstance(result, str):
                raise ToolError(
                    f"a node of the cluster has {result}, here is {_versions()}; install the same"
                    " on all"
                )
            yield task, result


def _awaited(ray: Any, done: Any, task: Task) -> Any:
    """Return what `_on_node` returned for a finished task.

    If the task was lost or raised an unforeseen error, the result is a SourceError. If the task
    raised a TracelensError, that error is raised again.
    """
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TracelensError):
            raise error.cause from None
        return SourceError(
            f"{task.name}: cannot be read: {type(error.cause).__name__}: {first_line(error.cause)}"
        )
    except ray.exceptions.RayError as error:
        why = type(error).__name__
        return SourceError(
            f"{task.name}: its process or node was lost {_RETRIES + 1} times ({why})"
        )


def _versions() -> str:
    """Return the versions of Python and tracelens in words, also on a node without tracelens."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415
    from platform import python_version_tuple  # noqa: PLC0415

    try:
        installed = version("tracelens-toolkit")
    except PackageNotFoundError:
        installed = "that is not installed"
    return f"Python {'.'.join(python_version_tuple()[:2])} and tracelens {installed}"


def _on_node(expected: str, task: bytes) -> Any:
    """Run a pickled task and return its result.

    If the node has other versions than `expected`, return its versions instead.
    """
    import pickle  # noqa: PLC0415

    versions_here = _versions()
    if versions_here != expected:
        return versions_here
    run: Callable[[], Any] = pickle.loads(task)  # noqa: S301 - written by the driver
    return run()


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Otherwise Ray 2.60 warns that it will change the default of this setting
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise ToolError(_GET_RAY) from error


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to the cluster at the address while the body runs.

    Without an address, a cluster on this machine is started. Raises ToolError if no cluster can be
    joined.
    """
    # If this program is connected already, it stays connected.
    if ray.is_initialized():
        yield
        return
    os.environ.pop("RAY_ADDRESS", None)  # Ray would prefer this variable to the given address
    try:
        ray.init(
            address=address or "local",
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray 2.60 raises a bare Exception if a node starts too late
        reason = " ".join(str(error).split())
        raise ToolError(f"--engine ray: no cluster could be joined: {reason}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise UsageError for an invalid address, and ToolError if nothing listens there.

    Without this check, Ray would wait for minutes.
    """
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise UsageError(
            f"--address {address}: expected HOST:PORT of a running cluster's head, or auto"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise ToolError(
            f"--address {address}: no Ray cluster answers there ({first_line(error)}); start one"
            " with ray start --head"
        ) from error
