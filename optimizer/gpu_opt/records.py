"""`@record`: a frozen, keyword-only dataclass with slots that costs little to define.

A command imports more than a hundred of them, and the standard decorator compiles six methods for each: a third of the
time of a small plan. Here a class's `__init__` is compiled when more than a few records were built, and nothing else
is. The rest of a dataclass holds: `replace`, `fields`, `asdict`, `field(...)`, equality, hash, pickling, inheritance
between records.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")
_FEW = 8  # compiling takes as long as filling some fifty records one by one

_Parts = dict[str, "dataclasses.Field[Any]"]


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(dataclasses.field, dataclasses.Field)
)
def record(cls: type[_T]) -> type[_T]:
    """The class as a record of its annotated fields, all of which are fields; methods that it defines itself stay."""
    given = dict(vars(cls))
    own: _Parts = {name: _part(given.pop(name, dataclasses.MISSING)) for name in inspect.get_annotations(cls)}
    inherited: _Parts = getattr(cls, "__record_parts__", {})
    parts = {**inherited, **own}
    given.pop("__dict__", None)
    given.pop("__weakref__", None)
    init = _Init(parts)
    namespace = {
        **_methods(parts),
        "__init__": init,
        "__match_args__": (),
        **given,
        "__qualname__": cls.__qualname__,
        "__slots__": tuple(name for name in own if name not in inherited),
        "__record_parts__": parts,
        "__dataclass_fields__": _Fields(),
    }
    metaclass: Any = type(cls)
    init.cls = metaclass(cls.__name__, cls.__bases__, namespace)
    return init.cls  # type: ignore[no-any-return]


def _part(default: Any) -> dataclasses.Field[Any]:
    return default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)


class _Fields:
    """`__dataclass_fields__`, made by the standard decorator when somebody asks for it."""

    def __get__(self, instance: object, owner: Any) -> Any:
        home = next(cls for cls in owner.__mro__ if vars(cls).get("__dataclass_fields__") is self)
        types = {name: type_ for cls in reversed(home.__mro__) for name, type_ in inspect.get_annotations(cls).items()}
        namespace = {**home.__record_parts__, "__annotations__": types, "__module__": home.__module__, "__doc__": "-"}
        plain: Any = type(home.__name__, (), namespace)
        made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(plain)
        home.__dataclass_params__ = made.__dataclass_params__
        home.__dataclass_fields__ = made.__dataclass_fields__
        return home.__dataclass_fields__


class _Init:
    """A record's `__init__`: fills the first few one by one, then puts a compiled one in its own place."""

    def __init__(self, parts: _Parts) -> None:
        self.cls: Any = None
        self.parts = parts
        self.calls = 0

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None or self.calls == _FEW:
            return self.compiled().__get__(instance, owner)
        self.calls += 1
        return partial(self.fill, instance)

    def compiled(self) -> Any:
        """The real one, from now on the class's."""
        self.cls.__init__ = _compiled_init(self.cls, self.parts)
        return self.cls.__init__

    def fill(self, instance: Any, /, *args: object, **given: object) -> None:
        """Sets the slots themselves, as `__setattr__` refuses. The compiled one finds the words for what is wrong."""
        if args or not given.keys() <= self.parts.keys():
            self.compiled()(instance, *args, **given)
        for name, part in self.parts.items():
            if name in given:
                value = given[name]
            elif part.default is not dataclasses.MISSING:
                value = part.default
            elif part.default_factory is not dataclasses.MISSING:
                value = part.default_factory()
            else:
                self.compiled()(instance, **given)
            getattr(self.cls, name).__set__(instance, value)
        if hasattr(self.cls, "__post_init__"):
            instance.__post_init__()


def _compiled_init(cls: Any, parts: _Parts) -> Any:
    known: dict[str, Any] = {"_absent": object()}
    parameters, lines = [], []
    for name, part in parts.items():
        value = parameter = name
        known[f"_set_{name}"] = getattr(cls, name).__set__
        if part.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = part.default
            parameter = f"{name}=_default_{name}"
        elif part.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = part.default_factory
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


def _methods(parts: _Parts) -> dict[str, Callable[..., Any]]:
    names = tuple(parts)
    values = _getter(names)
    compared = _getter(name for name, part in parts.items() if part.compare)

    def __eq__(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(compared(self))

    def __repr__(self: Any) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, part in parts.items() if part.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self: Any, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> tuple[Any, ...]:
        return values(self)

    def __setstate__(self: Any, state: tuple[Any, ...]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    made = (__eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__)
    return {method.__name__: method for method in made}


def _getter(names: Iterable[str]) -> Callable[[object], tuple[Any, ...]]:
    """The values of these attributes as a tuple, which attrgetter gives for two and more."""
    given = tuple(names)
    return attrgetter(*given) if len(given) > 1 else lambda record: tuple(getattr(record, name) for name in given)
