"""Inertia of a coordinate: the rotor of a motor behind a gear, seen at the hinge that it drives."""

from dataclasses import dataclass
from typing import ClassVar

from ..element import Element
from ..fields import make_numbers, refuse_negative


@dataclass(frozen=True)
class RotorInertia(Element):
    """Inertia on the speed u of a hinge, as motors with gears have; MJCF calls it armature.

    A rotor of inertia I about its axis that turns n times as fast as its hinge stores I n^2 u^2 / 2 and takes the load
    I n^2 u' of the drive. So I n^2 is added to the diagonal of the mass matrix A (6.2.12), in all analyses. What the rotor has
    of a body else (its mass, the gyroscopic moment of its spin) is neglected, or belongs to the body that carries it.

    It goes on a hinge of one freedom, or on a `Ball`, where it resists relative rotation about all axes alike. The hinge stays
    a branch of the tree. Several on one hinge add up.

    Parameters
    ----------
    inertia : float [kg m2], of a sliding hinge [kg]
        I.
    ratio : float
        n, turns of the rotor per turn of the hinge [rad/rad] or [rad/m].

    Examples
    --------
    >>> RotorInertia(2e-5, ratio=100.0).reflected
    0.2
    """

    is_inertia: ClassVar[bool] = True

    inertia: float = 0.0
    ratio: float = 1.0

    @classmethod
    def example(cls) -> "RotorInertia":
        return cls(1e-4, 50.0)

    def __post_init__(self) -> None:
        make_numbers(self, "inertia", "ratio")
        refuse_negative(self, "inertia")

    @property
    def reflected(self) -> float:
        """I n^2, what the hinge feels."""
        return self.inertia * self.ratio * self.ratio
