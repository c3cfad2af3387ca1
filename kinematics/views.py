# mypy: ignore-errors
"""Plan and Work as compiled code sees them: the arrays behind the context that `make_context` wrote.

A kernel receives the context (one int64 array, called `plan`) and the two arrays the algorithms live in, W
(bodies) and S (speeds); what else it needs it asks for here. Handing over all arrays as one tuple would
triple the time to compile.
"""

from . import plan as _p
from .kernel import floats, floats2, ints, ints2, kernel
from .plan import Plan, Work

_AT = {name: _p.N_SIZES + k for k, name in enumerate(Plan._fields)}
_AT.update({"work_" + name: _p.FIRST_WORK + k for k, name in enumerate(Work._fields)})
_ROWS, _NQ, _NU, _RUNS, _PRESCRIBED, _SIGNALS, _LINKS, _LOADS, _RECORD, _PARAMETERS = range(_p.N_SIZES)
_N_BODY, _N_CONSTANTS, _N_DOF = _p.N_BODY, _p.N_CONSTANTS, _p.N_DOF
_N_WORK, _N_SPEED = _p.N_WORK, _p.N_SPEED
_BODY, _CONSTANTS, _FRAMES, _GRAVITY = _AT["body"], _AT["constants"], _AT["frames"], _AT["gravity"]
_DOF, _RUN_START, _RUN = _AT["dof"], _AT["run_start"], _AT["runs"]
_PRESCRIPTION, _SIGNAL, _LINK = _AT["prescribed"], _AT["signals"], _AT["links"]
_LOAD, _POINTS = _AT["loads"], _AT["load_points"]
_W, _S, _SOA, _RECORDS = _AT["work_body"], _AT["work_speed"], _AT["work_soa"], _AT["work_record"]
_PARAMETER, _VALUES = _AT["work_parameters"], _AT["work_signal"]
_Q, _U, _UD, _TAU, _END = (_AT["work_" + n] for n in ("q", "u", "ud", "tau", "load"))


@kernel
def counts(plan):
    """(rows of the body arrays, nq, nu)"""
    return plan[_ROWS], plan[_NQ], plan[_NU]


@kernel
def n_loads(plan):
    return plan[_LOADS]


@kernel
def n_prescribed(plan):
    return plan[_PRESCRIBED]


@kernel
def bodies(plan):
    return ints2(plan[_BODY], plan[_ROWS], _N_BODY)


@kernel
def constants(plan):
    return floats2(plan[_CONSTANTS], plan[_ROWS], _N_CONSTANTS)


@kernel
def frames(plan):
    return floats2(plan[_FRAMES], plan[_ROWS], 12)


@kernel
def gravity(plan):
    return floats(plan[_GRAVITY], 3)


@kernel
def dofs(plan):
    return ints2(plan[_DOF], plan[_NU], _N_DOF)


@kernel
def ancestor_runs(plan):
    return ints(plan[_RUN_START], plan[_NU] + 1), ints2(plan[_RUN], plan[_RUNS], 2)


@kernel
def prescriptions(plan):
    return ints2(plan[_PRESCRIPTION], plan[_PRESCRIBED], 4)


@kernel
def signal_table(plan):
    return ints2(plan[_SIGNAL], plan[_SIGNALS], 2), ints2(plan[_LINK], plan[_LINKS], 2)


@kernel
def load_table(plan):
    return ints2(plan[_LOAD], plan[_LOADS], 3), floats2(plan[_POINTS], plan[_LOADS], 12)


@kernel
def body_work(plan):
    return floats2(plan[_W], plan[_ROWS], _N_WORK)


@kernel
def speed_work(plan):
    return floats2(plan[_S], plan[_NU], _N_SPEED)


@kernel
def soa_work(plan):
    return floats2(plan[_SOA], 9, plan[_NU])


@kernel
def soa_address(plan):
    return plan[_SOA]


@kernel
def records(plan):
    return floats(plan[_RECORDS], plan[_RECORD])


@kernel
def parameters(plan):
    return floats(plan[_PARAMETER], plan[_PARAMETERS])


@kernel
def signal_values(plan):
    return floats2(plan[_VALUES], plan[_SIGNALS], 3)


@kernel
def own_state(plan):
    """(q, u) of the work arrays"""
    return floats(plan[_Q], plan[_NQ]), floats(plan[_U], plan[_NU])


@kernel
def own_loads(plan):
    """(ud, tau) of the work arrays"""
    return floats(plan[_UD], plan[_NU]), floats(plan[_TAU], plan[_NU])


@kernel
def end_motion(plan):
    return floats(plan[_END], 24)
