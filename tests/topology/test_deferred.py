"""Deferred dataclasses are those of dataclasses.dataclass, written at their first use."""

import copy
import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from treemech.topology.deferred import _Deferred, dataclass


@dataclass(frozen=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    first: float
    second: list = dataclasses.field(default_factory=list)
    third: float = dataclasses.field(default=3.0, init=False, repr=False)


def pair(decorate):
    """Return the same two classes, made by one of the decorators."""

    @decorate(frozen=True)
    class Base:
        """Text."""

        a: float
        b: "list[float]" = dataclasses.field(default_factory=list, compare=False)
        c: float = dataclasses.field(default=2.0, init=False, repr=False)

        def __post_init__(self):
            object.__setattr__(self, "c", 2.0 * self.a)

    @decorate(frozen=True, eq=False)
    class Derived(Base):
        d: int = 4

        def __repr__(self):
            return f"own of {super().__repr__()}"

    return Base, Derived


def waiting(cls):
    return {name for name, value in vars(cls).items() if isinstance(value, _Deferred)}


def test_nothing_is_written_until_it_is_used():
    base, derived = pair(dataclass)
    assert {"__init__", "__repr__", "__eq__"} <= waiting(base) and "__init__" in waiting(derived)
    one = base(1.0)
    assert waiting(base) - {"__replace__"} == {"__repr__", "__eq__", "__hash__", "__dataclass_params__"}
    assert repr(one) and not waiting(base)
    assert derived(1.0).d == 4 and "__init__" not in waiting(derived)


@pytest.mark.parametrize("k", [0, 1])
def test_it_is_what_dataclasses_make(k):
    ours, theirs = pair(dataclass)[k], pair(dataclasses.dataclass)[k]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert set(vars(ours)) == set(vars(theirs)) and ours.__match_args__ == theirs.__match_args__
    a, b = ours(1.0, [5.0]), theirs(1.0, [5.0])
    assert repr(a) == repr(b) and dataclasses.asdict(a) == dataclasses.asdict(b)
    for one, make in ((a, ours), (b, theirs)):
        assert one == make(1.0) and one != make(2.0) and isinstance(hash(one), int)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
            one.a = 2.0
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
            del one.a
        assert dataclasses.replace(one, a=3.0).c == 6.0
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
            make()


def test_a_mutable_one_has_no_hash_and_can_be_set():
    @dataclass
    class Mutable:
        a: int = 1

    one = Mutable()
    one.a = 3
    assert one == Mutable(3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_class_is_one_of_them_before_it_is_used():
    base, derived = pair(dataclass)
    assert dataclasses.is_dataclass(derived) and "__dataclass_fields__" in vars(base)
    base, derived = pair(dataclass)
    assert derived.d == 4 and not hasattr(base, "b")  # defaults stand in the class, factories do not


def test_an_author_may_derive_a_dataclass_of_his_own():
    base, _ = pair(dataclass)

    @dataclasses.dataclass(frozen=True)
    class Own(base):
        e: float = 1.0

    assert dataclasses.asdict(Own(1.0, [], 2.0)) == {"a": 1.0, "b": [], "c": 2.0, "e": 2.0}


def test_a_copy_needs_no_constructor():
    content = pickle.dumps(Kept(1.0, [2.0]))
    assert pickle.loads(content) == Kept(1.0, [2.0]) == copy.deepcopy(Kept(1.0, [2.0]))
    base, derived = pair(dataclass)
    one = object.__new__(derived)  # as pickle makes it in a process that has made none before
    vars(one).update(a=1.0, b=[])
    assert (
        one.c == 2.0
        and one.d == 4
        and repr(one).startswith("own of ")
        and dataclasses.replace(one, d=5).d == 5
    )


def test_threads_meet_no_half_written_class():
    for _ in range(50):
        _, derived = pair(dataclass)
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(derived, range(16)))
        assert [one.c for one in made] == [2.0 * k for k in range(16)]
