"""Names come in without paths, secrets and owners; every other name stays as it is."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.cases import make_trace
from tests.nsys_exports import KERNEL, NAMES, RUNTIME
from tests.nsys_exports import call as nsys_call
from tests.nsys_exports import kernel as nsys_kernel
from tests.nsys_exports import write as write_export
from tests.torch_files import call, kernel, span, write
from tracelens.cli.app import main
from tracelens.collectors import collect
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, SourceFile
from tracelens.trace.cleaning import _masked
from tracelens.trace.combine import combine

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
HF = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"
GHP = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
CLEANED = {
    "/home/alice/proj/train.py": "…/train.py",
    "/home/alice": "/home/…",
    "read /home/alice/a/x.bin, then /home/alice/b.bin": "read …/x.bin, then …/b.bin",
    "/opt/alice/model.pt": "…/model.pt",
    "/var/torchinductor_alice/ab/cab.py(34): call": "…/cab.py(34): call",
    "/data/alice/run/train.py": "…/train.py",
    r"C:\Users\alice\net.py": "…/net.py",
    r"C:\Users\alice": "…/Users\\…",
    "file:///home/alice/train.py": "…/train.py",
    "~/proj/net.py": "…/net.py",
    '["/home/alice/x.bin", [2, 3]]': '["…/x.bin", [2, 3]]',
    "2.1.0+/home/alice/build": "2.1.0+…/build",
    "-I/home/alice/include": "-I…/include",
    "key AKIAIOSFODNN7EXAMPLE end": "key … end",
    "AIzaSyA1234567890abcdefghijklmnopqrstuvw": "…",
    GHP: "…",
    "github_pat_11ABCDEFG0abcdefghijklmnopqrstuvwxyz": "…",
    f"push {HF}": "push …",
    "sk-proj-abcdefghijklmnopqrstuvwx": "…",
    "Authorization: Bearer abc.def-ghi123": "Authorization: Bearer …",
    f"jwt={JWT}": "jwt=…",
    "s3://alice:hunter2@bucket/x": "s3://…@bucket/x",
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu==;x": "AccountKey=…;x",
    "password=hunter2 next": "password=… next",
    '{"password": "hunter2"}': '{"password": "…"}',
    "HF_TOKEN=hunter2": "HF_TOKEN=…",
    "nvapi-" + "Ab1_-" * 12: "…",
    "pay sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc": "pay …",
    "npm_" + "a1B2" * 9: "…",
    "pypi-AgEIcHlwaS5vcmc" + "CJDNh_-x" * 10: "…",
    "pypi-" + "a1B2" * 8: "…",
    "SG." + "a" * 22 + "." + "b" * 43: "…",
    "dapi" + "0123456789abcdef" * 2: "…",
    "dckr_pat_" + "a1B2_-x" * 4: "…",
    "glrt-" + "a1B2_" * 5: "…",
    "sq0csp-" + "a" * 43: "…",
    "0123456789abcdef" * 2 + "-us12": "…",
    "https://hooks.slack.com/services/T0AB/B0CD/xyz": "https://hooks.slack.com/services/…",
    "Authorization: Basic YWxpY2U6aHVudGVyMg==": "Authorization: Basic …",
    "token: hunter2": "token: …",
    '{"token": "hunter2", "n": 1}': '{"token": "…", "n": 1}',
    "run.py --token hunter2 --n 3": "run.py --token … --n 3",
    "run.py --hf-token hunter2": "run.py --hf-token …",
    "run.py --password 1234 x": "run.py --password … x",
    "Cookie: session=abc; user=alice": "Cookie: …",
    '{"Set-Cookie": "session=abc; user=alice"}': '{"Set-Cookie": "…"}',
    "postgres://alice:hun/ter2@db/x": "postgres://…@db/x",
    "postgres://alice:12/hunter@db/x": "postgres://alice:12/hunter@db/x",  # a port and a path
    "/users/alice": "/users/…",
    "/users/alice/net.py": "…/net.py",
    "/data/alice": "/data/…",
    "/data/alice/run": "…/run",
    "/cluster/home/alice": "…/home/…",
    "/cluster/home/alice/run": "…/run",
    "/gscratch/lab/alice/x": "…/x",
    "/projects/ab12": "/projects/…",
    "AKC" + "a1B2" * 4: "…",
    "GR1348941" + "a1B2_" * 5: "…",
    "glcbt-1f_" + "a1B2_" * 5: "…",
    "glimt-" + "a1B2_" * 5: "…",
    "glptt-" + "a1B2" * 10: "…",
    "glagent-" + "a1B2" * 13: "…",
    "gloas-" + "a1B2" * 16: "…",
    "AROA" + "ABCD" * 4: "…",
    "ya29." + "a1B2" * 5: "…",
    "xoxb-1234567890-" + "a1B2" * 4: "…",
    "abc8Q~" + "a1B2" * 8: "…",
    "rk_test_" + "a1B2" * 4: "…",
    "-----BEGIN RSA PRIVATE KEY-----MIIE": "…",
    "https://0123abcd@example.org/x": "https://…@example.org/x",
    "https://example.org/x?sig=a%2Fb&n=1": "https://example.org/x?sig=…&n=1",
    "../../alice": "../../…",
    "../../alice/x.py": "…/x.py",
}
KEPT = (
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,"
        " std::array<char*, 1ul> >(int)"
    ),
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "std::pair<a, b>::password::check()",
    "aten::_scaled_dot_product_flash_attention",
    "operator/(std::complex)",
    "triton_poi_fused__native_batch_norm_legit_no_training_relu_5",
    "layer1.0.conv1",
    "/model/layer1/layer1.0/Conv",
    "torch/nn/modules/module.py(1501): _call_impl",
    "forward/backward",
    "~Foo()",
    "max_tokens=5",
    "token=128",
    "## Call CompiledFxGraph fjxk2abc3jhk2 ##",
    "<built-in method sk-learn of type>",
    "https://pytorch.org/docs/home/x",
    "cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>(T1::Params)",
    "/root",
    "../x.py",
    "Token: 5",
    "tokenize: fast",
    "std::token::Kind",
    "--max-tokens 5",
    "cookie::Jar",
    "npm_config",
    "sk_live",
    "SG.x",
    "pypi-some-package-of-someone",
    "https://host:8080/@scope/x",
)


def names_after(*names: str) -> list[str]:
    """Kernels of these names, as a trace has them."""
    tables = make_trace(kernels=[{"name": name} for name in names])
    source = SourceFile("t", "torch", 1, "0" * 64)
    trace = combine(
        [Capture("torch", source, {"kernels": tables.kernels.drop("rank")}, producer="p")]
    )
    return trace.kernels["name"].to_list()


def test_what_tells_who_and_where_is_masked() -> None:
    assert names_after(*CLEANED, "aten::mm") == [*CLEANED.values(), "aten::mm"]


def test_a_name_that_merely_looks_long_stays() -> None:
    assert names_after(*KEPT) == [*KEPT]


class Event(msgspec.Struct):
    """The fields of an event that tell whose its name is."""

    name: Any = None
    cat: Any = None
    ph: Any = None


class Document(msgspec.Struct):
    """A trace as torch writes it."""

    traceEvents: list[Event]  # noqa: N815 - torch's spelling


def names_of_captures() -> pl.Series:
    """Return the names of kernels, ops and calls: raw where a sample has them, else as stored."""
    names: set[str] = set()
    for source in sorted(SAMPLES.rglob("*.pt.trace.json.gz")):
        document = msgspec.json.decode(gzip.decompress(source.read_bytes()), type=Document)
        named = (event for event in document.traceEvents if event.cat != "python_function")
        names |= {str(event.name) for event in named if event.ph == "X"}
    for folder in sorted(SAMPLES.rglob("*.tracelens")):
        for table in ("kernels", "api_calls"):
            for part in folder.glob(f"{table}/*/*.parquet"):
                column = "name" if table == "kernels" else "api"
                names |= set(pl.read_parquet(part, columns=[column])[column].cast(pl.String))
    return pl.Series("text", sorted(names), pl.String)


@pytest.mark.slow
def test_the_masked_share_of_the_captures_names_is_0() -> None:
    names = names_of_captures()
    assert len(names) > 500
    assert _masked(names, ())["text"].to_list() == []


def test_what_was_cleaned_stays_and_is_counted_by_kind_once() -> None:
    once = names_after(*CLEANED)
    assert names_after(*once) == once
    rows = [{"name": "/home/alice/a.py"}] * 3 + [{"name": f"/home/alice/b.py {HF}"}]
    source = SourceFile("t", "torch", 1, "0" * 64)
    capture = Capture(
        "torch", source, {"kernels": make_trace(kernels=rows).kernels.drop("rank")}, producer="p"
    )
    combine([capture])
    counted = combine([capture]).diagnostics.select("severity", "code", "count").rows()
    assert sorted(counted) == [("info", "masked_path", 4), ("info", "masked_secret", 1)]


def private_trace(folder: Path) -> Path:
    """A torch trace with a path and a token wherever text stands.

    Names are long enough that nothing else is like them.
    """
    path, said = f"/home/alice/{HF}/x.py", f"/home/alice/x.py password=hunter2 {HF}"
    dims = {"Input Dims": [[2, 3], path, said], "Input type": ["float", said, said]}
    facts: dict[str, Any] = {
        "torch_version": said,
        "schemaVersion": 1,
        "cuda_runtime_version": said,
        "deviceProperties": [{"id": 0, "name": f"\ud800 {said}", "numSms": 4}],
    }
    events = [
        span(said, 0, 100, args=dims),
        span(f"nn.Module: {said}_0", 1, 90, cat="python_function"),
        span("file:///home/alice/x.py(3): f", 2, 80, cat="python_function"),
        span("~/alice/x.py(3): f", 3, 70, cat="python_function"),
        span(f"note {said}", 4, 60, cat="user_annotation"),
        call(f"cudaLaunchKernel {said}", 5, 5, 1),
        kernel(f"k {said}", 20, 5, 1),
        span("odd", 30, 1, cat=said),
    ]
    beside = {
        "module_paths": {f"{said}_0": f"\udc00.{path}"},
        "layers": {path: {"class_name": f"\ud800 {said}"}},
    }
    (folder / "run.live.json").write_text(json.dumps(beside))
    return write(folder / "run.pt.trace.json", events, **facts)


def texts_of(trace: Trace) -> list[str]:
    """All text of a trace: of its manifest and of every table."""
    return [
        json.dumps(trace.manifest.as_dict()),
        *(trace.frame(name).write_json() for name in TABLES),
    ]


@pytest.mark.parametrize("way", ["in memory", "stored"])
def test_no_text_of_a_torch_trace_tells_who_and_where(tmp_path: Path, way: str) -> None:
    source = private_trace(tmp_path)
    if way == "stored":
        with pytest.raises(SystemExit) as ended:
            main(["collect", "torch", str(source), "--out", str(tmp_path / "t.tracelens")])
        assert not ended.value.code
        trace = Trace.open(tmp_path / "t.tracelens")
    else:
        trace = collect(source)
    for text in texts_of(trace):
        text.encode()
        assert "alice" not in text
        assert "hunter2" not in text
        assert HF not in text
    assert any("…/x.py" in name for name in trace.spans["name"])
    assert {"masked_path", "masked_secret"} <= set(trace.diagnostics["code"])


def test_owners_in_an_nsys_export_are_masked(tmp_path: Path) -> None:
    named = [*NAMES, {"id": 91, "value": "step of alice on tower7: alices(x)"}]
    environment = [
        {"name": "Hostname", "value": "tower7"},
        {"name": "PROCESS_0:ARGUMENT_0", "value": "/home/alice/w"},
    ]
    message = "Collected for alice with the password swordfish"
    tables = {
        "StringIds": named,
        "TARGET_INFO_SYSTEM_ENV": environment,
        "DIAGNOSTIC_EVENT": [{"severity": 2, "text": message}],
        RUNTIME: [nsys_call(0, 10, 1, 1)],
        KERNEL: [nsys_kernel(20, 30, 91, 1)],
    }
    trace = collect(write_export(tmp_path / "export.sqlite", tables))
    assert trace.kernels["name"].to_list() == ["step of … on …: alices(x)"]
    (said,) = trace.diagnostics.filter(pl.col("code").str.starts_with("nsys_"))["text"]
    assert said == "nsys: Collected for … with the password …"
