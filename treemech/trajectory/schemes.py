"""Transcriptions: how the equations of motion hold on an interval.

Collocation at the points c of an interval of length h, with the integrals A of the polynomials through them::

    y_j - y_0 = h sum_k A_jk y'_k        j = 1 ... s

"trapezoid" (order 2), "hermite-simpson" (Lobatto IIIA, order 4), "lobatto" (4 points, order 6) and "radau" (Radau IIA with 3
points, order 5, stiffly stable, known as LGR). "shooting": each interval is integrated by RK4 with inputs linear in time.
"""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats


class Scheme(NamedTuple):
    """Points of an interval, integrals up to each of them (s, s + 1), and the degree of the inputs."""

    name: str
    points: Floats  # c_0 = 0 ... c_s = 1
    integrals: Floats

    @property
    def weights(self) -> Floats:
        """Weights (s + 1,) of an integral over the interval."""
        weights: Floats = self.integrals[-1]
        return weights


def collocation(name: str, points: Floats, used: list[int]) -> Scheme:
    """Make a scheme from its points and those among them whose rates count.

    >>> collocation("hermite-simpson", np.array([0.0, 0.5, 1.0]), [0, 1, 2]).weights.round(4).tolist()
    [0.1667, 0.6667, 0.1667]
    """
    own, powers = points[used], np.arange(1, len(used) + 1)
    A = np.zeros((len(points) - 1, len(points)))
    A[:, used] = np.linalg.solve(np.vander(own, increasing=True).T, (points[1:, None] ** powers / powers).T).T
    return Scheme(name, points, A)


_ROOT5, _ROOT6 = np.sqrt(5.0), np.sqrt(6.0)
COLLOCATION = {
    scheme.name: scheme
    for scheme in (
        collocation("trapezoid", np.array([0.0, 1.0]), [0, 1]),
        collocation("hermite-simpson", np.array([0.0, 0.5, 1.0]), [0, 1, 2]),
        collocation("lobatto", np.array([0.0, 0.5 - 0.1 * _ROOT5, 0.5 + 0.1 * _ROOT5, 1.0]), [0, 1, 2, 3]),
        collocation("radau", np.array([0.0, 0.4 - 0.1 * _ROOT6, 0.4 + 0.1 * _ROOT6, 1.0]), [1, 2, 3]),
    )
}
SHOOTING = Scheme("shooting", np.array([0.0, 1.0]), np.array([[0.5, 0.5]]))
SCHEMES = {**COLLOCATION, "shooting": SHOOTING}


class Grid(NamedTuple):
    """Points of all phases in a row: the phase of every interval, its points, and parts of time at points."""

    scheme: Scheme
    phases: list[int]  # of every interval
    counts: list[int]  # intervals of every phase
    members: list[list[int]]  # points of every interval
    first: list[int]  # first point of every phase, and the last point of all

    @property
    def size(self) -> int:
        """Number of points."""
        return self.members[-1][-1] + 1

    def times(self, durations: Floats) -> Floats:
        """Return the times of all points."""
        t, start = np.zeros(self.size), 0.0
        for phase, points in zip(self.phases, self.members, strict=True):
            h = durations[phase] / self.counts[phase]
            t[points] = start + h * self.scheme.points
            start += h
        return t


def grid(scheme: Scheme, counts: list[int]) -> Grid:
    """Lay out the points of phases with so many intervals.

    >>> grid(SCHEMES["hermite-simpson"], [2, 1]).members
    [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    """
    s, phases, members, first, at = len(scheme.points) - 1, list[int](), list[list[int]](), list[int](), 0
    for phase, count in enumerate(counts):
        first.append(at)
        for _ in range(count):
            phases.append(phase)
            members.append(list(range(at, at + s + 1)))
            at += s
    return Grid(scheme, phases, counts, members, [*first, at])
