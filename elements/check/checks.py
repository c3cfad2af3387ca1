"""`tm.check` verifies the numbered duties of an element's contract, for built-in and foreign elements."""

from typing import Any

import numpy as np

from treemech.topology.errors import ElementError

from ..compilation.methods import check_methods, role_of
from ..constraint import Constraint
from ..coupling import Coupling
from ..element import Element
from ..energetic import Energetic
from ..hinge import Hinge
from ..load import Load
from ..signal import Signal
from .constraint import check_constraint
from .coupling import check_coupling
from .energetic import check_energetic
from .hinge import check_hinge
from .load import check_load
from .probe import probe
from .report import Report
from .signal import check_signal

__all__ = ["Report", "check", "probe"]


def check(element: Any, *, samples: int = 20, seed: int = 0) -> Report:
    """Check an element against its contract; raise an ElementError that names the broken duty.

    All elements: methods and counts, finite numbers, repeatable results, compiled equal to Python, no writes
    outside their arrays. Hinges, constraints, couplings and signals: partials, drifts and biases against
    differences. Energetic and active elements: loads against deformation and effort, the power balance with
    energy, dissipated and supplied power, no negative dissipation, no resultant, invariance under rigid
    motion (3.2.23), x' and memory.

    Parameters
    ----------
    element : hinge, constraint, coupling, energetic or active element, signal or load
        The element, built in or foreign. A coupling of any number of coordinates is checked with three of
        them, an energetic element of any number of ends with three.
    samples : int
        Number of random positions (and speeds, and times).
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> from treemech.elements import Screw
    >>> check(Screw(pitch=0.1), samples=3).rows[0].duty
    'rotation is orthonormal, det +1'
    """
    if isinstance(element, type):
        raise ElementError(
            f"check: {element.__name__} is a class; wanted an element, {element.__name__}(...)."
        )
    if not isinstance(element, Element):
        raise ElementError(
            f"check: {element!r} is not an element; wanted a hinge, a constraint, a coupling, an energetic element, "
            "a signal or a load."
        )
    if samples < 1:
        raise ElementError(f"check: samples is {samples}; wanted at least 1.")
    role = role_of(element)
    if isinstance(element, Coupling) and element.n_arguments is None:
        element = element.joining(3)
    if isinstance(element, Energetic) and element.n_ends is None:
        element = element.joining(3)
    check_methods(element)
    rng = np.random.default_rng(seed)
    report = Report(element.kind, samples)
    if isinstance(element, Hinge):
        check_hinge(element, samples, rng, report)
    elif isinstance(element, Constraint):
        check_constraint(element, samples, rng, report)
    elif isinstance(element, Coupling):
        check_coupling(element, samples, rng, report)
    elif isinstance(element, Energetic):
        check_energetic(element, samples, rng, report)
    elif isinstance(element, Signal):
        check_signal(element, samples, rng, report)
    elif isinstance(element, Load):
        check_load(element, samples, rng, report)
    else:
        raise ElementError(f"check: {element.kind} says it is a {role} but is no subclass of {role.title()}.")
    return report
