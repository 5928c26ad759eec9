"""A pytest plugin: the native library that checks every access and every sum (`make sanitized`)."""

import importlib.util
import sys
from pathlib import Path

(_FILE,) = (Path(__file__).resolve().parents[1] / "build" / "sanitized").rglob("_library*.so")
_SPEC = importlib.util.spec_from_file_location("tracelens.native._library", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
_LIBRARY = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = _LIBRARY
_SPEC.loader.exec_module(_LIBRARY)
