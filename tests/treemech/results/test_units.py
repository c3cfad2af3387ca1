"""Units belong to the class of a hinge; without a word of the author the motion space decides."""

from dataclasses import dataclass
from math import cos, sin

import pytest

import treemech as tm
from tests.support.driven import loops
from treemech.results.units import hinge_units, unit_of


@dataclass(frozen=True)
class Corkscrew(tm.Hinge):
    n_coordinates = 2

    def pose(self, q, t, offset, rotation):
        offset[2] = q[0]
        rotation[0, 0] = rotation[1, 1] = cos(q[1])
        rotation[1, 0] = sin(q[1])
        rotation[0, 1] = -rotation[1, 0]


@dataclass(frozen=True)
class Dial(Corkscrew):
    units = ("mm", "deg")


@dataclass(frozen=True)
class Wrong(Corkscrew):
    units = "rad"


def test_hinges_of_authors_have_units():
    assert hinge_units(Corkscrew()) == ("m", "rad") and hinge_units(Dial()) == ("mm", "deg")
    with pytest.raises(tm.ElementError, match=r"Wrong\.units"):
        hinge_units(Wrong())


def test_the_table_of_built_in_hinges_is_what_their_motion_says():
    from treemech.results import units

    for name, known in units._OF_HINGES.items():
        if name in ("Rigid", "Curve", "Ball", "Free"):  # a curve turns as it shifts
            continue
        example = getattr(tm, name)
        hinge = example.example() if hasattr(example, "example") and name == "Screw" else example()
        found = hinge.motion(hinge.reference()).rotation_partials
        turning = ["rad" if (row != 0).any() else "m" for row in found]
        if name == "Polar":  # its first angle turns only the point
            turning[0] = known[0]
        assert tuple(turning) == known, name


def test_units_of_rates_and_euler_parameters():
    assert [unit_of(("m", "rad"), None, what, 1) for what in ("q", "u", "ud")] == ["rad", "rad/s", "rad/s²"]
    assert unit_of(("rad",) * 3, 0, "q", 2) == "1" and unit_of((), None, "q", 0) == ""


def test_cut_hinges_know_their_units():
    mech, _ = loops()
    assert all(len(c.units) == c.nu for c in mech.info.chords if c.nu)
