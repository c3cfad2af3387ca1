"""Run an author's methods once in plain Python, before they are compiled."""

import re

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.callback import python_self
from ..compilation.methods import check_methods, methods_of, remembers
from ..constraint import Constraint
from ..coupling import Coupling
from ..energetic import Energetic
from ..hinge import Hinge, has_pose
from ..load import EndLoad, Load
from .blame import blame, by_the_author
from .python_forms import (
    n_rates,
    python_equations,
    python_load,
    python_memory,
    python_pose,
    relative_motion,
    resting_end,
    sampled,
    sampled_motion,
)
from .report import locked

MISTAKES = (IndexError, ValueError, AttributeError, TypeError, NameError)  # programming errors, not physics
# A ValueError such as that of math.sqrt(-1.0) comes from physics
_PHYSICS = re.compile(r"math (domain|range) error|expected a (non|pos|fin|num)")


def probe(element: Hinge | Constraint | Coupling | Energetic | Load) -> None:
    """Run the author's methods once in Python at one position; refuse programming errors.

    Compiled code checks no bounds, so an index out of range is found here or never. Exceptions that the
    author raises with `raise` are left for run time: the position may lie outside the element's physics.
    """
    check_methods(element)
    rng = np.random.default_rng(0)
    place: tuple[Floats, ...] = ()
    if isinstance(element, (Constraint, Coupling)):
        place = sampled(element, rng, 0.0)
    try:
        if isinstance(element, Energetic):
            motion = sampled_motion(element, rng, 0.0)
            python_load(element, motion, 0.0)
            if remembers(element):
                python_memory(element, motion, 0.0)
        elif isinstance(element, Load):
            type(element).evaluate(
                python_self(element, 0.0), resting_end(), 0.0, EndLoad(np.zeros(3), np.zeros(3))
            )  # type: ignore[arg-type]
        elif isinstance(element, Hinge):
            q = element.reference()
            if has_pose(element):
                python_pose(element, q, 0.0)
            else:
                element.motion(q, np.zeros(element.n_speeds), 0.0)
        elif "evaluate" not in methods_of(element):
            python_equations(element, place, locked(np.zeros(n_rates(element))), 0.0)
        elif isinstance(element, Constraint):
            element.rows(relative_motion(place, locked(np.zeros(n_rates(element)))))
        else:
            element.rows(place[0])
    except ElementError:
        raise
    except MISTAKES as error:
        if not by_the_author(error) and not (isinstance(error, ValueError) and _PHYSICS.search(str(error))):
            raise ElementError(blame(element, error)) from error
    except Exception:
        return
