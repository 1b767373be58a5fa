"""`@record`: a frozen, keyword-only dataclass with slots that costs little to define.

A command imports some two hundred of them, and the standard decorator compiles six methods for each: a third of the
time of a small plan. Here a class's `__init__` is compiled when it is first called, and nothing else is. The rest of a
dataclass holds: `replace`, `fields`, `asdict`, `field(...)`, equality, hash, pickling, inheritance between records.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(dataclasses.field, dataclasses.Field)
)
def record(cls: type[_T]) -> type[_T]:
    """The class as a record of its annotated fields; methods that it defines itself stay."""
    own = set(vars(cls))
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    for name, method in {"__init__": _Init(made), **_methods(made)}.items():
        if name not in own:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


class _Init:
    """Stands in the place of a record's `__init__` until it is first asked for."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __get__(self, instance: object, owner: type) -> Any:
        init = self.cls.__init__ = _compiled_init(self.cls)
        return init.__get__(instance, owner)


def _compiled_init(cls: Any) -> Any:
    """An `__init__` that fills the slots themselves, as `__setattr__` refuses."""
    known: dict[str, Any] = {"_absent": object()}
    parameters, lines = [], []
    for field in dataclasses.fields(cls):
        name = value = parameter = field.name
        known[f"_set_{name}"] = getattr(cls, name).__set__
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
        parameters.append(parameter)
        lines.append(f"_set_{name}(self, {value})")
    lines.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "return")
    head = (
        f"def make({', '.join(known)}):\n def __init__(self{', *, ' if parameters else ''}{', '.join(parameters)}):\n  "
    )
    made: dict[str, Any] = {}
    exec(head + "\n  ".join(lines) + "\n return __init__", vars(sys.modules[cls.__module__]), made)
    init = made["make"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls)} | {"return": None}
    return init


def _methods(cls: Any) -> dict[str, Callable[..., Any]]:
    every = dataclasses.fields(cls)
    values = _getter(field.name for field in every)
    compared = _getter(field.name for field in every if field.compare)
    shown = tuple(field.name for field in every if field.repr)

    def __eq__(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(compared(self))

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __setattr__(self: Any, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> tuple[Any, ...]:
        return values(self)

    def __setstate__(self: Any, state: tuple[Any, ...]) -> None:
        for field, value in zip(every, state, strict=True):
            object.__setattr__(self, field.name, value)

    return {
        method.__name__: method
        for method in (__eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__)
    }


def _getter(names: Iterable[str]) -> Callable[[object], tuple[Any, ...]]:
    """The values of these attributes as a tuple, which attrgetter gives for two and more."""
    given = tuple(names)
    return attrgetter(*given) if len(given) > 1 else lambda record: tuple(getattr(record, name) for name in given)
