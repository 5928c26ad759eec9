"""A store that speaks S3, run on this machine."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SECRET = "q7-Zk/secret+of/the+environment"  # noqa: S105 - of no account
_STARTS_WITHIN_S = 30


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """Run a store during the block; yield the environment variables for programs that use it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("moto_server")),
        "-H",
        "127.0.0.1",
        "-p",
        str(port),
    ]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + _STARTS_WITHIN_S
        while not _answers(address):
            if server.poll() is not None or time.monotonic() > ends:
                raise RuntimeError("moto_server did not start")
            time.sleep(0.02)
        yield {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "key-of-the-tests",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.kill()
        server.wait()


def _answers(address: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{address}/moto-api/", timeout=5):  # noqa: S310 - our own
        return True
    return False


def make_bucket(name: str) -> str:
    """Make a bucket in the store that the environment names; return its URL."""
    request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/{name}", method="PUT")  # noqa: S310
    request.add_header(
        "Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request"
    )
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310
        return f"s3://{name}"
