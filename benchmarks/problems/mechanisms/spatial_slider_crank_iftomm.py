"""The spatial slider-crank with the rod inertia that reproduces the curve in the IFToMM library.

Data: the library's, the small moment of inertia of the rod about the axis that gives its curve; `spatial_slider_crank` has a slender rod.
"""

import treemech as tm

from ..problem import load
from .spatial_slider_crank import mechanism, observe, state

__all__ = ["REFERENCE", "observe", "state", "system"]

REFERENCE = load("spatial_slider_crank_iftomm")
PLOTS = [("D.q",), ("D.u",), ("A.u",)]


def system() -> tm.System:
    return mechanism(REFERENCE)
