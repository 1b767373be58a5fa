"""Bytes of a CSV file into lines and cells, without trusting them."""

from __future__ import annotations

import csv
import stat
from pathlib import Path

from gpu_opt.errors import InputError, Problem

MAX_FILE_BYTES = 64 * 2**20
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class BadLine(Exception):
    """A line that is no row of a CSV file."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def file_bytes(path: Path, name: str) -> bytes:
    """What a file holds, or InputError when it is missing, no file, unreadable or larger than 64 MiB."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            raise InputError(Problem(file=name, what="is a folder, not a file of prices."))
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Problem(file=name, what="there is no such file.", remedy="Check the path.")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(Problem(file=name, what=f"can't be read: {why}.")) from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(Problem(file=name, what="is larger than 64 MiB.", remedy="Keep the rows that you need."))
    return data


def decode(data: bytes, name: str) -> str:
    """UTF-8 text, with or without a byte order mark; bytes that are none become lone surrogates, for row checks."""
    if data.startswith(_UTF16_MARKS):
        raise InputError(Problem(file=name, what="is UTF-16.", remedy="Save it as UTF-8."))
    return data.decode("utf-8-sig", errors="surrogateescape")


def split_lines(text: str) -> list[str]:
    """Lines ended by LF, CRLF or CR; other separators of Unicode stay inside."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def cells_of(line: str) -> list[str]:
    """The cells of one line, or BadLine. A row never spans lines."""
    if not line.isascii() and any("\ud800" <= char <= "\udfff" for char in line):
        raise BadLine("encoding", "the row is not UTF-8")
    if "\0" in line:
        raise BadLine("nul", "the row has a NUL character")
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        raise BadLine("quoting", "the row's quotes don't pair up, or a cell spans lines") from None
