"""Derivatives of q by time from speeds and their rates, and back: they differ for Euler parameters."""

import numpy as np

from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange


class CoordinateRates:
    """Places of plain coordinates, and of Euler parameters with their angular speeds, in q and u."""

    def __init__(self, lagrange: Lagrange) -> None:
        self.nq, self.nu = lagrange.nq, lagrange.nu
        self.q, self.u, self.euler = lagrange.places

    def derivatives(self, q: Floats, u: Floats, ud: Floats) -> tuple[Floats, Floats]:
        """Return q', q''. For Euler parameters e' = (0, w) e / 2."""
        q1, q2 = np.zeros(self.nq), np.zeros(self.nq)
        q1[self.q], q2[self.q] = u[self.u], ud[self.u]
        for i, j in self.euler:
            e, w, wd = q[i : i + 4], u[j : j + 3], ud[j : j + 3]
            q1[i : i + 4] = _product(w, e)
            q2[i : i + 4] = _product(wd, e) + _product(w, q1[i : i + 4])
        return q1, q2

    def speeds(self, q: Floats, q1: Floats, q2: Floats) -> tuple[Floats, Floats, Floats]:
        """Return q with Euler parameters of length 1, u, ud: the inverse of `derivatives`."""
        q, u, ud = q.copy(), np.zeros(self.nu), np.zeros(self.nu)
        u[self.u], ud[self.u] = q1[self.q], q2[self.q]
        for i, j in self.euler:
            q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
            e0, e = q[i], q[i + 1 : i + 4]
            for x, rate in ((u, q1), (ud, q2)):
                r = rate[i : i + 4]
                x[j : j + 3] = 2.0 * (e0 * r[1:] - r[0] * e - np.cross(r[1:], e))
        return q, u, ud


def _product(w: Floats, e: Floats) -> Floats:
    """Return the quaternion product (0, w) e / 2."""
    return 0.5 * np.concatenate(([-w @ e[1:]], e[0] * w + np.cross(w, e[1:])))
