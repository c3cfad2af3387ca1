"""Examples of elements: every built-in element has one, which its contract accepts and which builds."""

from dataclasses import dataclass

import pytest

import treemech as tm
from tests.treemech.files.test_models import system_with
from treemech import elements
from treemech.elements.element import example_of, required

CONTRACTS = {
    tm.Element,
    tm.Hinge,
    tm.AxialHinge,
    tm.Signal,
    tm.Load,
    tm.Constraint,
    tm.Coupling,
    tm.Energetic,
}
MADE_OF_FUNCTIONS = (
    tm.Function, tm.Relation, tm.VelocityRelation, tm.ForceFunction, tm.MomentFunction, tm.PointOnImplicitSurface,
)  # fmt: skip
BUILT_IN = {
    cls: None
    for cls in (getattr(elements, name) for name in elements.__all__)
    if isinstance(cls, type) and issubclass(cls, tm.Element) and cls not in CONTRACTS
}


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.__name__)
def test_every_built_in_element_has_an_example(cls):
    example = example_of(cls)
    assert isinstance(example, cls) and example.kind == cls.__name__


@pytest.mark.parametrize("cls", MADE_OF_FUNCTIONS, ids=lambda cls: cls.__name__)
def test_examples_with_a_function_build(cls):
    """All others are built and written to files by tests/treemech/files/test_models.py."""
    assert system_with(example_of(cls)).build()


# tests/elements/check/test_energetic.py; a rotor has no method that could be checked
CHECKED_ELSEWHERE = (tm.Energetic, tm.RotorInertia)


@pytest.mark.parametrize(
    "cls", [c for c in BUILT_IN if not issubclass(c, CHECKED_ELSEWHERE)], ids=lambda cls: cls.__name__
)
def test_every_example_keeps_its_contract(cls):
    assert tm.check(example_of(cls), samples=4).kind == cls.__name__


def test_groups_hold_every_built_in_element_once_but_for_those_no_library_can_hold():
    groups = [cls for name in elements._GROUPS for cls in getattr(elements, name)]
    assert len(groups) == len(set(groups))
    assert set(BUILT_IN) - set(groups) == {*MADE_OF_FUNCTIONS, tm.Path, tm.MusclePath, tm.RotorInertia}


# ---------------------------------------------------------------- elements of users
@dataclass(frozen=True)
class WithField(tm.Hinge):
    """A user's hinge with a field of that name, which must stay a plain required field."""

    example: float
    n_coordinates = 1


@dataclass(frozen=True)
class WithDefaults(tm.Hinge):
    pitch: float = 0.5
    n_coordinates = 1


def test_a_field_may_be_called_example():
    assert required(WithField) == ["example"] and WithField(2.0).example == 2.0


def test_without_an_example_defaults_serve_or_an_error_says_what_to_write():
    assert example_of(WithDefaults) == WithDefaults()
    with pytest.raises(
        tm.ElementError, match=r"WithField has no example, and example without a default: write"
    ):
        example_of(WithField)
