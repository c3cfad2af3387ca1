"""Plan and Work: the model as flat arrays, and the room its evaluation needs.

Objects live above the Plan, arrays below it. Row 0 of every body array is the ground, so an array index
*is* the thesis number and hinge k ends in body k. Inside the core a body is described in the base of its
own hinge end (origin in the end point): one constant placement per hinge is then all the geometry there
is. `frames` leads back to the base the user wrote.

Structure and constants stand apart: a new parameter value refills `constants`, `frames`, `parameters` and
`end_points` and needs neither a new tree nor any compilation.
"""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats, Ints

# Hinge kinds with a path of their own in the sweeps; every other hinge is called through its address.
RIGID, REVOLUTE, PRISMATIC, BALL, FREE, TABLE = range(6)

# Columns of Plan.body. SLOPES, here and among efforts: address of the element on numbers with a derivative, or 0
# (kinematics.plan.dual_addresses)
PARENT, KIND, Q, U, DOF, NQ, NU, N_FREE, REVERSED, EULER, ADDRESS, PARAMETER, RECORD, SLOPES = range(14)
N_BODY = 14

# Columns of Plan.constants: placement of the hinge on the parent, then the inertia of the body
PLACE_R, PLACE_P, MASS, COM, INERTIA, SIGN = 0, 9, 12, 13, 16, 22
N_CONSTANTS = 23

# Columns of Plan.dof: position in the public u, column of the hinge, body, signal that prescribes it or -1
PUBLIC, COLUMN, OWNER, SIGNAL = range(4)
N_DOF = 4

# Columns of Plan.prescribed, Plan.signals, Plan.links
PRESCRIBED_Q, PRESCRIBED_U, PRESCRIBED_DOF, PRESCRIBED_SIGNAL = range(4)
SIGNAL_ADDRESS, SIGNAL_PARAMETER = range(2)
LINK_SIGNAL, LINK_PARAMETER = range(2)

# Columns of Plan.efforts: energetic elements and external loads. FIRST_STATE and FIRST_MEMORY count in z; ROOM is where
# its motion record stands in Work.room, LOAD_ROOM that of its load (the last N_KEPT of N_LOAD numbers are kept from call
# to call); REACTION is the chord whose load it needs, or -1
(
    EFFORT_ADDRESS, EFFORT_PARAMETER, REMEMBER, FIRST_END, N_ENDS, FIRST_ACTED, N_ACTED, FIRST_STATE, N_STATES,
    FIRST_INPUT, N_INPUTS, FIRST_MEMORY, N_MEMORY, ROOM, LOAD_ROOM, N_LOAD, N_KEPT, REACTION, EXTERNAL,
    EFFORT_SLOPES,
) = range(20)  # fmt: skip
N_EFFORT = 20
# Columns of Plan.acted, Plan.sources (where an input comes from)
ACTED_Q, ACTED_U = range(2)
SOURCE_KIND, SOURCE_INDEX = range(2)
FROM_SIGNAL, FROM_MEMORY, FROM_Q, FROM_U = range(4)
# Columns of Plan.composites: consecutive efforts and points, its first two ends among all ends; of Plan.points:
# coordinates (1: along the line between those ends, 3 or 6), its place in z or -1
FIRST_PART, N_PARTS, FIRST_POINT, N_POINTS, N_UNKNOWNS, POINT_ROOM, LINE_A, LINE_B = range(8)
N_COMPOSITE = 8
POINT_COORDINATES, POINT_STATE = range(2)
# Columns of Work.point: pose and motion of an internal point, load on it; distance along the line and its rate
POINT_P, POINT_R, POINT_V, POINT_W, POINT_F, POINT_N, POINT_S, POINT_RATE = 0, 3, 12, 15, 18, 21, 24, 25
N_POINT = 26
# Numbers of the energy audit for each effort: work on the bodies, dissipated, supplied
N_AUDIT = 3

# A hinge record: offset 3, rotation 9, partials 2 x 3 nu, drifts 6, biases 6 (elements.hinge.motion_layout)
FRAME = 12

# Columns of Work.body
R, P, ARM = 0, 9, 12  # rotation, position, arm from the parent's origin
OMEGA, ALPHA, ACC = 15, 18, 21  # angular velocity, angular acceleration, acceleration less gravity
MOMENT, FORCE = 24, 27  # loads handed to the parent, about the body's origin
ART_A, ART_B, ART_M = 30, 36, 45  # articulated inertia: rotation (sym), coupling, translation (sym)
BIAS_N, BIAS_F = 51, 54  # articulated bias load
U_N, U_F, D_INV, U_LOAD = 57, 60, 63, 64  # one free speed: inertia column, 1/D, load
ZETA_W, ZETA_V = 65, 68  # accelerations without ud and without the parent's
DRIFT_W, DRIFT_V, HINGE_BIAS_W, HINGE_BIAS_V = 71, 74, 77, 80  # of a TABLE hinge, world components
VELOCITY = 83  # of the origin
APPLIED_N, APPLIED_F = 86, 89  # applied loads about the origin
N_WORK = 92

# Columns of Work.speed
PARTIAL_W, PARTIAL_V = 0, 3  # partials of the speed in world components
COLUMN_N, COLUMN_F = 6, 9  # articulated inertia column of a hinge with several speeds
REDUCED_N, REDUCED_F = 12, 15  # the same after elimination of the speeds before it
FACTOR, PIVOT, LOAD, REDUCED_LOAD = 18, 24, 25, 26  # LDL^T of the hinge, loads
N_SPEED = 27


class Plan(NamedTuple):
    """What the model IS: read-only by convention."""

    body: Ints  # (nb+1, N_BODY)
    constants: Floats  # (nb+1, N_CONSTANTS)
    frames: Floats  # (nb+1, 12) the user's body base in the core's: rotation, then origin
    gravity: Floats  # (3,)
    dof: Ints  # (nu, N_DOF) in regular order; of one hinge the free ones come first
    run_start: Ints  # (nu+1,) first run of ancestors of each speed
    runs: Ints  # (nr, 2) consecutive speeds from .. to
    prescribed: Ints  # (ns, 4)
    signals: Ints  # (nsig, 2)
    links: Ints  # (nlink, 2) signals that stand in an element's record
    efforts: Ints  # (ne, N_EFFORT) those in composites last
    ends: Ints  # (nend, 1) body, or -1 - number of an internal point
    end_points: Floats  # (nend, 12) the end in the core's body base
    acted: Ints  # (nacted, 2) coordinates elements act on
    sources: Ints  # (ninput, 2)
    composites: Ints  # (nc, N_COMPOSITE)
    points: Ints  # (np, 2) internal points of composites


class Work(NamedTuple):
    """What is computed NOW."""

    body: Floats  # (nb+1, N_WORK)
    speed: Floats  # (nu, N_SPEED)
    soa: Floats  # (9, nu) w, v of each speed and the origin they refer to, one row per component
    record: Floats  # motion records of TABLE hinges
    parameters: Floats  # records of all elements; the slots of signals are rewritten for each t
    parameter_pairs: Floats  # (., 2) the same with derivatives, zero, for slopes of elements (kinematics.plan.dual_addresses)
    signal: Floats  # (nsig, 3) value, rate, acceleration
    q: Floats
    u: Floats
    ud: Floats
    tau: Floats  # loads on the speeds, zero unless given
    required: Floats  # loads the accelerations in ud ask for
    effort: Floats  # (nu,) loads of elements on the speeds
    room: Floats  # motion and load records of all efforts
    z: Floats  # states of elements, then what they remember
    zd: Floats  # rates of the states
    point: Floats  # (np, N_POINT)


# The context handed to the compiled core: sizes, four entry points only some models need (and only they compile), then
# the address of every array of Plan and Work.
SIZES = (
    "bodies", "nq", "nu", "runs", "prescribed", "signals", "links", "record", "parameters", "efforts", "ends", "acted",
    "sources", "composites", "points", "room", "nz", "nx",
)  # fmt: skip
TABLE_HINGE, APPLIED_LOADS, COMPOSITE, REACTIONS, AUDIT, Z_ROWS, DERIVATIVES = (
    len(SIZES) + k for k in range(7)
)  # Z_ROWS: z of many states, or 0; DERIVATIVES: the table of dynamics.derivatives.layout, or 0
N_SIZES = len(SIZES) + 7
FIRST_WORK = N_SIZES + len(Plan._fields)
N_CONTEXT = FIRST_WORK + len(Work._fields)


def make_work(plan: Plan, nq: int, parameters: Floats, room: int = 0, nz: int = 0) -> Work:
    """Room for one evaluation at a time; use one Work per thread."""
    nu = len(plan.dof)
    rows = len(plan.body)
    table = plan.body[:, KIND] == TABLE
    record = int(np.sum(24 + 6 * plan.body[table, NU])) if table.any() else 0
    body = np.zeros((rows, N_WORK))
    body[0, [0, 4, 8]] = 1.0
    zeros = np.zeros
    return Work(
        body=body,
        speed=zeros((nu, N_SPEED)),
        soa=zeros((9, nu)),
        record=zeros(max(record, 1)),
        parameters=np.array(parameters, dtype=np.float64),
        parameter_pairs=zeros((len(parameters), 2)),
        signal=zeros((max(len(plan.signals), 1), 3)),
        q=zeros(max(nq, 1)),
        u=zeros(max(nu, 1)),
        ud=zeros(max(nu, 1)),
        tau=zeros(max(nu, 1)),
        required=zeros(max(nu, 1)),
        effort=zeros(max(nu, 1)),
        room=zeros(max(room, 1)),
        z=zeros(max(nz, 1)),
        zd=zeros(max(nz, 1)),
        point=zeros((len(plan.points), N_POINT)),
    )


def make_context(plan: Plan, work: Work, nq: int, nz: int = 0, nx: int = 0) -> Ints:
    """The int64 table by which the compiled core finds Plan and Work; keep both alive beside it."""
    context = np.zeros(N_CONTEXT, dtype=np.int64)
    context[: len(SIZES)] = (
        len(plan.body), nq, len(plan.dof), len(plan.runs), len(plan.prescribed), len(plan.signals),
        len(plan.links), len(work.record), len(work.parameters), len(plan.efforts), len(plan.ends), len(plan.acted),
        len(plan.sources), len(plan.composites), len(plan.points), len(work.room), nz, nx,
    )  # fmt: skip
    for k, array in enumerate((*plan, *work)):
        if not array.flags.c_contiguous:
            raise AssertionError("the core takes C-contiguous arrays only")
        context[N_SIZES + k] = array.__array_interface__["data"][0]
    return context
