"""Names that people type: compared without case, spaces, underscores and hyphens; unknown ones name the nearest."""

from __future__ import annotations

from collections.abc import Iterable

_SEPARATORS = str.maketrans("", "", " _-\t")


def folded(name: str) -> str:
    """The name as it is compared: `RTX_PRO 6000-WS` and `rtx-pro-6000-ws` fold to the same text."""
    return name.translate(_SEPARATORS).casefold()


def nearest(name: str, choices: Iterable[str]) -> str:
    """The choice that looks most like a name, empty when none does."""
    from difflib import SequenceMatcher  # only on the way to an error

    wanted = folded(name)
    best, best_ratio = "", 0.5
    for choice in sorted(choices):
        ratio = SequenceMatcher(None, wanted, folded(choice)).ratio()
        if ratio > best_ratio:
            best, best_ratio = choice, ratio
    return best


class UnknownName(KeyError):
    """A name that no table knows. `kind` says of what ("GPU", "model"), `nearest` is the likeliest meant."""

    def __init__(self, kind: str, name: str, nearest_name: str = "") -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest_name
        super().__init__(name)

    def __str__(self) -> str:
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        return f"unknown {self.kind} {self.name!r}{hint}"
