"""Extremes of smooth quantities between equally spaced samples."""

import numpy as np

from treemech.topology.arrays import Floats

POINTS = 7  # through which a polynomial is laid


def extremes(values: Floats) -> Floats:
    """Return (least, greatest) value of a smooth quantity given at equally spaced times.

    At both places a polynomial runs through the nearest seven samples; its extreme counts if it lies within a
    step of the extreme sample.

    >>> extremes(np.cos(np.linspace(0.1, 6.2, 101))).round(6).tolist()
    [-1.0, 0.996542]
    """
    return np.array([-_greatest(-values), _greatest(values)])


def _greatest(y: Floats) -> float:
    k = int(np.argmax(y))
    if k in (0, len(y) - 1):
        return float(y[k])
    first = min(max(k - POINTS // 2, 0), len(y) - POINTS)
    x = np.arange(first, first + POINTS) - k
    curve = np.polynomial.Polynomial.fit(x, y[first : first + POINTS], POINTS - 1)
    roots = curve.deriv().roots()
    near = roots[(np.abs(roots.imag) < 1e-9) & (np.abs(roots.real) < 1.0)].real
    return float(max([y[k], *curve(near)]))
