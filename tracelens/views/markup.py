"""HTML out of text that may be hostile: the one place where text becomes markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from typing import Any

from tracelens.views.format import printable

_VOID = ("meta", "br", "hr")
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Markup(str):
    """Text that is HTML already; any other string is escaped before it enters a page."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """The text as HTML shows it, invisible and control characters spelled out."""
    return text if isinstance(text, Markup) else Markup(html.escape(printable(text), quote=True))


def el(name: str, /, *children: str | None, **attributes: str | int | None) -> Markup:
    """One element. Children and attribute values are escaped; None is left out; `class_` is the attribute class."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(*children)}</{name}>")


def join(*children: str | None) -> Markup:
    """The children after each other."""
    return Markup("".join(escape(child) for child in children if child is not None))


def data_script(name: str, data: Any) -> Markup:
    """Data that a script reads: JSON whose text can end neither the element nor a JavaScript line."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT)
    return el("script", Markup(text), type="application/json", id=name)


def inline(name: str, code: str) -> Markup:
    """A style or script of our own. Raises ValueError when it would end its own element."""
    if f"</{name}" in code.lower() or "<!--" in code:
        raise ValueError(f"code for <{name}> contains its end tag or a comment opening")
    return Markup(f"<{name}>{code}</{name}>")


def content_hash(code: str) -> str:
    """The Content-Security-Policy source that allows exactly this inline code."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
