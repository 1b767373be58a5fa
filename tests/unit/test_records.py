"""Records behave like the dataclasses that they replace, and cost little to define."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from gpu_opt.records import record


@record
class Point:
    x: float
    label: str = "here"
    tags: dict[str, int] = field(default_factory=dict, compare=False)


@record
class Point3(Point):
    z: float

    def __post_init__(self) -> None:
        if self.z < 0:
            raise ValueError("below ground")


@record
class One:
    value: float

    def __repr__(self) -> str:
        return "one"


@record
class Nothing:
    pass


def test_fields_are_given_by_keyword_and_defaults_are_fresh() -> None:
    assert (Point(x=1.0).x, Point(x=1.0).label, Point(x=1.0).tags) == (1.0, "here", {})
    assert Point(x=1.0).tags is not Point(x=1.0).tags
    call: Any = Point
    for arguments, keywords in (((1.0,), {}), ((), {}), ((), {"x": 1.0, "y": 2.0})):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
            call(*arguments, **keywords)


def test_records_are_frozen_and_have_no_other_attributes() -> None:
    point: Any = Point(x=1.0)
    with pytest.raises(FrozenInstanceError):
        point.x = 2.0
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_equal_values_of_one_class_are_equal_and_hash_alike() -> None:
    assert Point(x=1.0, tags={"a": 1}) == Point(x=1.0)
    assert hash(Point(x=1.0, tags={"a": 1})) == hash(Point(x=1.0))
    assert Point(x=1.0) != Point(x=2.0)
    assert Point(x=1.0) != Point3(x=1.0, z=1.0)
    assert len({One(value=1.0), One(value=1.0), One(value=2.0), Nothing(), Nothing()}) == 3


def test_what_the_standard_library_does_with_dataclasses_works() -> None:
    high = Point3(x=1.0, z=2.0)
    assert dataclasses.replace(high, x=3.0) == Point3(x=3.0, z=2.0)
    assert dataclasses.asdict(high) == {"x": 1.0, "label": "here", "tags": {}, "z": 2.0}
    assert [f.name for f in dataclasses.fields(Point3)] == ["x", "label", "tags", "z"]
    assert pickle.loads(pickle.dumps(high)) == copy.deepcopy(high) == high
    assert list(inspect.signature(Point3).parameters) == ["x", "label", "tags", "z"]


def test_methods_of_the_class_stay() -> None:
    assert repr(Point3(x=1.0, z=2.0)) == "Point3(x=1.0, label='here', tags={}, z=2.0)"
    assert repr(One(value=1.0)) == "one"
    with pytest.raises(ValueError, match="below ground"):
        Point3(x=1.0, z=-1.0)


def test_a_subclass_that_is_no_record_builds_as_its_parent_does() -> None:
    class Named(Point):
        pass

    assert Named(x=1.0).label == "here"


def test_init_is_compiled_for_what_is_built_often_only() -> None:
    @record
    class Seldom:
        x: float

    for number in range(8):
        assert not inspect.isfunction(vars(Seldom)["__init__"])
        assert Seldom(x=float(number)).x == number
    assert Seldom(x=8.0).x == 8.0
    assert inspect.isfunction(vars(Seldom)["__init__"])


def test_fields_know_their_types_after_the_first_look_too() -> None:
    for _ in range(2):
        assert {f.name: f.type for f in dataclasses.fields(Point3)} == {
            "x": "float",
            "label": "str",
            "tags": "dict[str, int]",
            "z": "float",
        }
    assert dataclasses.is_dataclass(Nothing)
    assert dataclasses.fields(Nothing) == ()
