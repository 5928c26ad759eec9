"""Write files for other programs' viewers.

Each export has a module in this folder, a test, and one line below.
"""
# ruff: noqa: F401 - importing registers

from tracelens.exports.export import Export
from tracelens.exports.folded import EXPORT as FOLDED
from tracelens.exports.folded import HOST as FOLDED_HOST
from tracelens.exports.perfetto import EXPORT as PERFETTO
from tracelens.exports.speedscope import EXPORT as SPEEDSCOPE

EXPORTS: dict[str, Export] = {
    one.name: one for one in tuple(globals().values()) if isinstance(one, Export)
}
"""Exports by name."""
