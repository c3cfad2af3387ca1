# mypy: ignore-errors
"""The entry points of the core: the functions that Python reaches by name, through an address.

They take flat arguments (numbers and addresses), return an int32 status (kernel.status), allocate nothing and
raise nothing. So the same source can be built into a plain shared library (dynamics.native.build), compiled
by the jit, or run as plain Python (dynamics.native.entry_points). Arrays over `count` states are contiguous,
one state a row, in the public order of the coordinates.
"""

from numba import types

from ..integrators.adams import adams_integrate
from ..integrators.alpha.loop import alpha_integrate
from ..integrators.radau import radau_integrate
from ..integrators.runge_kutta import integrate, loop_integrate
from .bodies import carry_chord_loads, end_jacobian, energy, momentum, pose, velocity
from .derivatives import DERIVATIVE_ENTRIES
from .drives import consistent, drive_loads, given_accelerations
from .duals import DUAL_ENTRIES
from .lane_loops import LANE_LOOP_ENTRIES
from .lanes import LANE_ENTRIES
from .loops import (
    constraints,
    loop_dynamics,
    loop_project,
    loop_residual,
    loop_rhs,
    loop_switch,
    loop_tangent,
)
from .parts import applied_loads, chord_element, composite, general_hinge, reactions
from .reach import reach
from .results import elements, states, trace
from .tree import forward_dynamics, inverse_dynamics, mass_matrix, positions, remember, rhs

_f, _n, _status = types.float64, types.int64, types.int32

# name -> function, C signature
ENTRIES = {
    "rhs": (rhs, _status(_f, _n, _n, _n)),
    "general_hinge": (general_hinge, _status(_n, _f, _n)),
    "applied_loads": (applied_loads, _status(_n, _f, _n)),
    "composite": (composite, _status(_n, _f, _n)),
    "reactions": (reactions, _status(_n, _f, _n)),
    "chord_element": (chord_element, _status(_n, _f, _n)),
    "states": (states, _status(*[_n] * 6)),
    "forward_dynamics": (forward_dynamics, _status(*[_n] * 7)),
    "inverse_dynamics": (inverse_dynamics, _status(*[_n] * 7)),
    "constraints": (constraints, _status(_f, *[_n] * 5)),
    "given_accelerations": (given_accelerations, _status(_f, _n, _n, _n)),
    "consistent": (consistent, _status(*[_n] * 6)),
    "drive_loads": (drive_loads, _status(*[_n] * 9)),
    "loop_rhs": (loop_rhs, _status(_f, _n, _n, _n)),
    "loop_residual": (loop_residual, _status(_f, _n, _n, _n)),
    "loop_project": (loop_project, _status(_f, _n, _n, _n)),
    "loop_switch": (loop_switch, _status(_f, _n, _n, _n)),
    "loop_tangent": (loop_tangent, _status(_f, _n, _n, _n)),
    "loop_dynamics": (loop_dynamics, _status(*[_n] * 16)),
    "elements": (elements, _status(*[_n] * 6)),
    "remember": (remember, _status(_f, _n, _n, _n)),
    "mass_matrix": (mass_matrix, _status(*[_n] * 6)),
    "positions": (positions, _status(*[_n] * 5)),
    "trace": (trace, _status(*[_n] * 8)),
    "pose": (pose, _status(*[_n] * 8)),
    "velocity": (velocity, _status(*[_n] * 8)),
    "end_jacobian": (end_jacobian, _status(*[_n] * 8)),
    "energy": (energy, _status(*[_n] * 8)),
    "momentum": (momentum, _status(*[_n] * 6)),
    "carry_chord_loads": (carry_chord_loads, _status(*[_n] * 9)),
    "reach": (reach, _status(_f, _n, _n, _n)),
    "integrate": (integrate, _status(*[_n] * 20)),
    "loop_integrate": (loop_integrate, _status(*[_n] * 20)),
    "adams_integrate": (adams_integrate, _status(*[_n] * 20)),
    "radau_integrate": (radau_integrate, _status(*[_n] * 20)),
    "alpha_integrate": (alpha_integrate, _status(*[_n] * 20)),
    **DERIVATIVE_ENTRIES,
    **DUAL_ENTRIES,
    **LANE_ENTRIES,
    **LANE_LOOP_ENTRIES,
}
