# mypy: ignore-errors
"""Plan and Work in compiled code: the arrays behind the context that `make_context` wrote.

A kernel receives the context (one int64 array, called `plan`) and the two arrays the algorithms work in, W
(bodies) and S (speeds); it takes all other arrays from here. Passing all arrays as one tuple would nearly
double the time to compile.
"""

from numba import types

from treemech.elements.dual.numbers import DUAL_1

from ..kernel.language import floats, kernel, member
from . import arrays as _p
from .arrays import Plan, Work
from .columns import body, effort, point, speed

_AT = {name: _p.N_SIZES + k for k, name in enumerate(Plan._fields)}
_AT.update({"work_" + name: _p.FIRST_WORK + k for k, name in enumerate(Work._fields)})
(
    _ROWS, _NQ, _NU, _RUNS, _PRESCRIBED, _SIGNALS, _LINKS, _RECORD, _PARAMETERS, _EFFORTS, _ENDS, _ACTED, _SOURCES,
    _COMPOSITES, _POINTS, _N_EFFORT_RECORDS, _NZ, _NX, _ROTORS,
) = range(len(_p.SIZES))  # fmt: skip
_AUDIT, _N_EFFORT, _N_COMPOSITE, _N_POINT = _p.AUDIT, effort.N_COLUMNS, point.N_COMPOSITE, point.N_WORK
_N_BODY, _N_CONSTANTS, _N_DOF = body.N_COLUMNS, body.N_CONSTANTS, speed.N_COLUMNS
_N_WORK, _N_SPEED = body.N_WORK, speed.N_WORK
_BODY, _CONSTANTS, _FRAMES, _GRAVITY = _AT["body"], _AT["constants"], _AT["frames"], _AT["gravity"]
_DOF, _RUN_START, _RUN = _AT["dof"], _AT["run_start"], _AT["runs"]
_PRESCRIPTION, _SIGNAL, _LINK = _AT["prescribed"], _AT["signals"], _AT["links"]
_EFFORT_TABLE, _END_TABLE, _END_POINTS = _AT["efforts"], _AT["ends"], _AT["end_points"]
_ACTED_TABLE, _SOURCE_TABLE = _AT["acted"], _AT["sources"]
_COMPOSITE_TABLE, _POINT_TABLE, _ROTOR = _AT["composites"], _AT["points"], _AT["rotors"]
_W, _S, _SOA, _RECORDS = _AT["work_body"], _AT["work_speed"], _AT["work_soa"], _AT["work_record"]
_PARAMETER, _DUALS, _VALUES = _AT["work_parameters"], _AT["work_parameter_duals"], _AT["work_signal"]
_Q, _U, _UD, _TAU, _REQUIRED = (_AT["work_" + n] for n in ("q", "u", "ud", "tau", "required"))
_EFFORT, _EFFORT_RECORDS, _Z, _ZD, _POINT = (
    _AT["work_" + n] for n in ("effort", "effort_records", "z", "zd", "point")
)
_FLOAT, _INT = types.float64, types.int64
_N_ROWS, _N_SPEEDS = (_ROWS, 0), (_NU, 0)


@kernel
def counts(plan):
    """Return (rows of the body arrays, nq, nu)."""
    return plan[_ROWS], plan[_NQ], plan[_NU]


@kernel
def n_efforts(plan):
    return plan[_EFFORTS]


@kernel
def n_states(plan):
    """Return (numbers in z, states among them)."""
    return plan[_NZ], plan[_NX]


@kernel
def n_audit(plan):
    """Return how many numbers of the energy audit are integrated."""
    return plan[_AUDIT]


@kernel
def n_prescribed(plan):
    return plan[_PRESCRIBED]


bodies = member(_INT, _BODY, _N_ROWS, _N_BODY)
constants = member(_FLOAT, _CONSTANTS, _N_ROWS, _N_CONSTANTS, common=True)
frames = member(_FLOAT, _FRAMES, _N_ROWS, 12, common=True)
gravity = member(_FLOAT, _GRAVITY, 3, common=True)
dofs = member(_INT, _DOF, _N_SPEEDS, _N_DOF)
run_starts = member(_INT, _RUN_START, (_NU, 1))
ancestor_runs = member(_INT, _RUN, (_RUNS, 0), 2)
prescriptions = member(_INT, _PRESCRIPTION, (_PRESCRIBED, 0), 4)
rotors = member(_INT, _ROTOR, (_ROTORS, 0), 4)
signal_table = member(_INT, _SIGNAL, (_SIGNALS, 0), 2)
signal_links = member(_INT, _LINK, (_LINKS, 0), 2)
effort_table = member(_INT, _EFFORT_TABLE, (_EFFORTS, 0), _N_EFFORT)
end_table = member(_INT, _END_TABLE, (_ENDS, 0), 1)
end_points = member(_FLOAT, _END_POINTS, (_ENDS, 0), 12, common=True)
acted_table = member(_INT, _ACTED_TABLE, (_ACTED, 0), 2)
source_table = member(_INT, _SOURCE_TABLE, (_SOURCES, 0), 2)
composite_table = member(_INT, _COMPOSITE_TABLE, (_COMPOSITES, 0), _N_COMPOSITE)
point_table = member(_INT, _POINT_TABLE, (_POINTS, 0), point.N_TABLE)
body_work = member(_FLOAT, _W, _N_ROWS, _N_WORK)
speed_work = member(_FLOAT, _S, _N_SPEEDS, _N_SPEED)
soa_work = member(_FLOAT, _SOA, 9, _N_SPEEDS)
records = member(_FLOAT, _RECORDS, (_RECORD, 0))
parameters = member(_FLOAT, _PARAMETER, (_PARAMETERS, 0), stride=_p.LANE_STRIDE)
parameter_duals = member(DUAL_1, _DUALS, (_PARAMETERS, 0))
signal_values = member(_FLOAT, _VALUES, (_SIGNALS, 0), 3)
own_q = member(_FLOAT, _Q, (_NQ, 0))
own_u = member(_FLOAT, _U, _N_SPEEDS)
own_ud = member(_FLOAT, _UD, _N_SPEEDS)
own_required = member(_FLOAT, _REQUIRED, _N_SPEEDS)
own_tau = member(_FLOAT, _TAU, _N_SPEEDS)
own_effort = member(_FLOAT, _EFFORT, _N_SPEEDS)
effort_records = member(_FLOAT, _EFFORT_RECORDS, (_N_EFFORT_RECORDS, 0))
own_z = member(_FLOAT, _Z, (_NZ, 0))
own_zd = member(_FLOAT, _ZD, (_NZ, 0))
point_work = member(_FLOAT, _POINT, (_POINTS, 0), _N_POINT)


@kernel
def fill_parameter_duals(plan):
    """Copy the records of all elements into their dual numbers; the derivatives stay."""
    record, dual = parameters(plan), floats(plan[_DUALS], 2 * plan[_PARAMETERS])
    for k in range(record.shape[0]):
        dual[2 * k] = record[k]


@kernel
def soa_address(plan):
    return plan[_SOA]
