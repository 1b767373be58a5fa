"""Text from users, neutralised where it could act: terminals, Markdown, HTML, spreadsheets (contract, 7.12)."""

from __future__ import annotations

import re
from html import escape

_CODES = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
# C0 and C1 controls and DEL can drive a terminal; bidirectional overrides and separators can disguise text.
_CONTROLS = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CODES}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#!|~])")
_LEADING_MARKDOWN = re.compile(r"^(\s*)([-+>]|\d+[.)])(?=\s|$)")
_FORMULA_STARTS = ("=", "+", "-", "@")


def plain(text: str) -> str:
    """The text with every control character written out (`\\x1b`)."""
    return text.translate(_CONTROLS)


def markdown(text: str) -> str:
    """Text that Markdown, and HTML inside it, show as it is."""
    shown = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LEADING_MARKDOWN.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", shown))


def html(text: str) -> str:
    """Text for HTML content and quoted attributes."""
    return escape(plain(text), quote=True)


def cell(text: str) -> str:
    """Text for a cell of CSV: a spreadsheet must not take it for a formula. Numbers are written without this."""
    shown = plain(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA_STARTS) else shown
