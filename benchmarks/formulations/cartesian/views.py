# mypy: ignore-errors
"""The context of Cartesian formulations as compiled code sees it: sizes, addresses of functions, arrays."""

from numba import types

from treemech.kinematics.kernel.language import member
from treemech.kinematics.plan.columns import body

from .. import sparse_lu

# the context: sizes and addresses of functions, then addresses of arrays
(
    BODIES, ROWS, ACTIVE, KIND, SPARSE, SIZE, ENTRIES, CORE, LOADS, GETRF, GETRS, MATRIX, CAPACITY, FACTORED, GAIN, NQ, NV,
    FULL, POTRF, POTRS, MEASURED, ENDS, ACTED, SOURCES, STATES, TOUCHED, BASE, BLOCKS, CHORDS, N_PLACES, N_ELEMENT_ROWS,
    TURNS, CARRIED,
) = range(33)  # fmt: skip
SIZES = 33
# columns of `row_ints`: the two bodies of a row between two, its signal or -1, its blocks in `jacobian` (from, to)
ROW_KIND, BODY_I, BODY_J, SIGNAL, RATE_ONLY, FIRST, STOP = range(7)
# columns of `state`: position, Euler parameters, velocity, angular velocity in body axes and in the world
PLACE, EULER, VELOCITY, SPIN, OMEGA = 0, 3, 7, 10, 13
# columns of `level`: residual, its rate, gamma#
PHI, PHI_RATE, GAMMA = range(3)
_F, _I = types.float64, types.int64
_FIELDS = (
    ("body", _F, ((BODIES, 1), 16)),  # mass, inertia (9)
    ("gravity", _F, (3,)),
    ("row_ints", _I, ((MEASURED, 0), 7)),  # behind the rows the coordinates elements ask for
    ("row_constants", _F, ((MEASURED, 0), 20)),  # a, b, point_i, point_j, x_i, x_j, number, -
    ("active", _I, ((ROWS, 0),)),
    ("end_bodies", _I, ((ENDS, 0),)),  # of force elements
    ("end_points", _F, ((ENDS, 0), 12)),  # rotation of the end, its point from the centre of mass
    ("acted_rows", _I, ((ACTED, 0),)),  # rows that measure the coordinates elements act on
    ("source_rows", _I, ((SOURCES, 0),)),  # the same for inputs
    ("turns", _F, ((MEASURED, 0),)),  # measured angles as last seen, counted beyond half a turn
    (
        "turn_rows",
        _I,
        ((TURNS, 0),),
    ),  # rows of measured angles; they are carried in y, then what chords carry
    ("element_rows", _I, ((N_ELEMENT_ROWS, 0),)),  # our rows of the rows of constraint elements and couplings
    (
        "argument_blocks",
        _I,
        ((N_PLACES, 0), 2),
    ),  # of each argument of a coupling: blocks of its bodies in the row, or -1
    (
        "poses",
        _F,
        ((BODIES, 1), body.N_WORK),
    ),  # the bodies as the engine's relative motion of two ends takes them
    ("block_bodies", _I, ((BLOCKS, 0),)),
    ("touched", _I, ((TOUCHED, 0),)),  # bodies an element acts on, element by element
    ("touched_from", _I, ((LOADS, 1),)),
    ("turn", _F, ((BODIES, 1), 9)),
    ("state", _F, ((BODIES, 1), 16)),
    ("applied", _F, ((BODIES, 1), 6)),  # force in the world, moment in body axes
    ("jacobian", _F, ((BLOCKS, 0), 6)),  # on (r', w) of the body of each block
    ("level", _F, ((MEASURED, 0), 3)),
    ("multipliers", _F, ((ROWS, 0),)),
    ("whole", _I, (8,)),  # numbers LAPACK takes by address
    *sparse_lu.context_fields(SIZE, ENTRIES, MATRIX, CAPACITY, FULL),  # FULL is 3 n
    ("monitor", _F, (64,)),
    ("factors", _F, (8,)),  # penalty and the like
    ("scratch", _F, ((FULL, 0),)),
    ("start", _F, ((BODIES, 1), 9)),  # planar: rotations at the start
    ("flat", _F, ((BODIES, 1), 8)),  # planar: coordinates, velocities, cosine and sine of phi
    ("frame", _F, (9,)),  # planar: e1, e2 and the normal
    ("independent", _I, ((NQ, 0),)),  # planar: 1 for independent coordinates
)
NAMES = [name for name, _, _ in _FIELDS]
N_CARTESIAN = SIZES + len(_FIELDS)
_view = {name: member(dtype, SIZES + k, *shape) for k, (name, dtype, shape) in enumerate(_FIELDS)}
body_, gravity_, row_ints, row_constants, active_ = (
    _view[n] for n in ("body", "gravity", "row_ints", "row_constants", "active")
)
end_bodies, end_points, acted_rows, source_rows = (
    _view[n] for n in ("end_bodies", "end_points", "acted_rows", "source_rows")
)
turns_, touched_, touched_from = (_view[n] for n in ("turns", "touched", "touched_from"))
turn_rows, element_rows, argument_blocks, poses_, block_bodies = (
    _view[n] for n in ("turn_rows", "element_rows", "argument_blocks", "poses", "block_bodies")
)
turn_, state_, applied_, jacobian_ = (_view[n] for n in ("turn", "state", "applied", "jacobian"))
level_, multipliers_, values_, slot_ = (_view[n] for n in ("level", "multipliers", "values", "slot"))
matrix_, right_, workspace_, whole_, pivots_ = (
    _view[n] for n in ("matrix", "right", "workspace", "whole", "pivots")
)
order_, Ap_, Ai_, Lp_, Li_, Lx_ = (_view[n] for n in ("order", "Ap", "Ai", "Lp", "Li", "Lx"))
Up_, Ui_, Ux_, pinv_, stack_, mark_ = (_view[n] for n in ("Up", "Ui", "Ux", "pinv", "stack", "mark"))
monitor_, factors_, scratch_, start_, frame_, flat_, independent_ = (
    _view[n] for n in ("monitor", "factors", "scratch", "start", "frame", "flat", "independent")
)
