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

from treemech.topology.arrays import Floats, Ints, address

from .columns import body, point, speed


class Plan(NamedTuple):
    """What the model IS: read-only by convention."""

    body: Ints  # (nb+1, body.N_COLUMNS)
    constants: Floats  # (nb+1, body.N_CONSTANTS)
    frames: Floats  # (nb+1, 12) the user's body base in the core's: rotation, then origin
    gravity: Floats  # (3,)
    dof: Ints  # (nu, speed.N_COLUMNS) in regular order; of one hinge the free ones come first
    run_start: Ints  # (nu+1,) first run of ancestors of each speed
    runs: Ints  # (nr, 2) consecutive speeds from .. to
    prescribed: Ints  # (ns, 4)
    signals: Ints  # (nsig, 2)
    links: Ints  # (nlink, 2) signals that stand in an element's record
    efforts: Ints  # (ne, effort.N_COLUMNS) those in composites last
    ends: Ints  # (nend, 1) body, or -1 - number of an internal point
    end_points: Floats  # (nend, 12) the end in the core's body base
    acted: Ints  # (nacted, 2) coordinates elements act on
    sources: Ints  # (ninput, 2)
    composites: Ints  # (nc, point.N_COMPOSITE)
    points: Ints  # (np, 2) internal points of composites


class Work(NamedTuple):
    """What is computed NOW."""

    body: Floats  # (nb+1, body.N_WORK)
    speed: Floats  # (nu, speed.N_WORK)
    soa: Floats  # (9, nu) w, v of each speed and the origin they refer to, one row per component
    record: Floats  # motion records of hinges by address
    parameters: Floats  # records of all elements; the slots of signals are rewritten for each t
    parameter_duals: Floats  # (., 2) the same with derivatives, zero, for slopes of elements (kinematics.plan.dual_addresses)
    signal: Floats  # (nsig, 3) value, rate, acceleration
    q: Floats
    u: Floats
    ud: Floats
    tau: Floats  # loads on the speeds, zero unless given
    required: Floats  # loads the accelerations in ud ask for
    effort: Floats  # (nu,) loads of elements on the speeds
    effort_records: Floats  # motion and load records of all efforts
    z: Floats  # states of elements, then what they remember
    zd: Floats  # rates of the states
    point: Floats  # (np, point.N_WORK)


# The context handed to the compiled core: sizes, four entry points only some models need (and only they compile), then
# the address of every array of Plan and Work.
SIZES = (
    "bodies", "nq", "nu", "runs", "prescribed", "signals", "links", "record", "parameters", "efforts", "ends", "acted",
    "sources", "composites", "points", "effort_records", "nz", "nx",
)  # fmt: skip
GENERAL_HINGE, APPLIED_LOADS, COMPOSITE, REACTIONS, AUDIT, Z_ROWS, DERIVATIVES = (
    len(SIZES) + k for k in range(7)
)  # Z_ROWS: z of many states, or 0; DERIVATIVES: the table of dynamics.derivatives.layout, or 0
N_SIZES = len(SIZES) + 7
FIRST_WORK = N_SIZES + len(Plan._fields)
N_CONTEXT = FIRST_WORK + len(Work._fields)


def make_work(plan: Plan, nq: int, parameters: Floats, workspace: int = 0, nz: int = 0) -> Work:
    """Room for one evaluation at a time; use one Work per thread."""
    nu = len(plan.dof)
    rows = len(plan.body)
    table = plan.body[:, body.KIND] == body.BY_ADDRESS
    record = int(np.sum(24 + 6 * plan.body[table, body.NU])) if table.any() else 0
    bodies = np.zeros((rows, body.N_WORK))
    bodies[0, [0, 4, 8]] = 1.0
    zeros = np.zeros
    return Work(
        body=bodies,
        speed=zeros((nu, speed.N_WORK)),
        soa=zeros((9, nu)),
        record=zeros(max(record, 1)),
        parameters=np.array(parameters, dtype=np.float64),
        parameter_duals=zeros((len(parameters), 2)),
        signal=zeros((max(len(plan.signals), 1), 3)),
        q=zeros(max(nq, 1)),
        u=zeros(max(nu, 1)),
        ud=zeros(max(nu, 1)),
        tau=zeros(max(nu, 1)),
        required=zeros(max(nu, 1)),
        effort=zeros(max(nu, 1)),
        effort_records=zeros(max(workspace, 1)),
        z=zeros(max(nz, 1)),
        zd=zeros(max(nz, 1)),
        point=zeros((len(plan.points), point.N_WORK)),
    )


def make_context(plan: Plan, work: Work, nq: int, nz: int = 0, nx: int = 0) -> Ints:
    """The int64 table by which the compiled core finds Plan and Work; keep both alive beside it."""
    context = np.zeros(N_CONTEXT, dtype=np.int64)
    context[: len(SIZES)] = (
        len(plan.body), nq, len(plan.dof), len(plan.runs), len(plan.prescribed), len(plan.signals),
        len(plan.links), len(work.record), len(work.parameters), len(plan.efforts), len(plan.ends), len(plan.acted),
        len(plan.sources), len(plan.composites), len(plan.points), len(work.effort_records), nz, nx,
    )  # fmt: skip
    for k, array in enumerate((*plan, *work)):
        if not array.flags.c_contiguous:
            raise AssertionError("the core takes C-contiguous arrays only")
        context[N_SIZES + k] = address(array)
    return context
