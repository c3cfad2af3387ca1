"""Plan and Work: the model as flat arrays, and the workspace its evaluation needs.

Objects live above the Plan, arrays below it. Row 0 of every body array is the ground, so an array index
*is* the thesis number and hinge k ends in body k. Inside the core a body is described in the base of its
own hinge end (origin in the end point): one constant placement per hinge then holds all the geometry.
`frames` leads back to the base the user wrote.

Structure and constants are separate: a new parameter value refills `constants`, `frames`, `parameters` and
`end_points` and needs neither a new tree nor any compilation.
"""

from typing import NamedTuple

from treemech.topology.arrays import Floats, Ints


class Plan(NamedTuple):
    """Arrays that describe the model: read-only by convention."""

    body: Ints  # (nb+1, body.N_COLUMNS)
    constants: Floats  # (nb+1, body.N_CONSTANTS)
    frames: Floats  # (nb+1, 12) the user's body base in the core's: rotation, then origin
    gravity: Floats  # (3,)
    dof: Ints  # (nu, speed.N_COLUMNS) in regular order; the free speeds of a hinge come first
    run_start: Ints  # (nu+1,) first run of ancestors of each speed
    runs: Ints  # (nr, 2) consecutive speeds from .. to
    prescribed: Ints  # (ns, 4)
    signals: Ints  # (nsig, 2)
    links: Ints  # (nlink, 2) signals in the records of elements
    efforts: Ints  # (ne, effort.N_COLUMNS) parts of composites last
    ends: Ints  # (nend, 1) body, or (-1 - number) of an internal point
    end_points: Floats  # (nend, 12) the end in the core's body base
    acted: Ints  # (nacted, 2) coordinates elements act on
    sources: Ints  # (ninput, 2)
    composites: Ints  # (nc, point.N_COMPOSITE)
    points: Ints  # (np, 2) internal points of composites
    rotors: Ints  # (nr, 4) speeds with the inertia of a rotor


class Work(NamedTuple):
    """Arrays of the evaluation at hand."""

    body: Floats  # (nb+1, body.N_WORK)
    speed: Floats  # (nu, speed.N_WORK)
    soa: Floats  # (9, nu) w, v of each speed and the origin they refer to, one row per component
    record: Floats  # motion records of hinges by address
    parameters: Floats  # records of all elements; the slots of signals are rewritten for each t
    parameter_duals: Floats  # (., 2) the same as dual numbers (kinematics.layout.dual_addresses)
    signal: Floats  # (nsig, 3) value, rate, acceleration
    q: Floats
    u: Floats
    ud: Floats
    tau: Floats  # loads on the speeds, zero unless given
    required: Floats  # loads that the accelerations in ud require
    effort: Floats  # (nu,) loads of elements on the speeds
    effort_records: Floats  # motion and load records of all efforts
    z: Floats  # states of elements, then their memories
    zd: Floats  # rates of the states
    point: Floats  # (np, point.N_WORK)


# The context handed to the compiled core: sizes, entry points that only some models need (and compile), then
# the address of every array of Plan and Work.
SIZES = (
    "bodies", "nq", "nu", "runs", "prescribed", "signals", "links", "record", "parameters", "efforts", "ends", "acted",
    "sources", "composites", "points", "effort_records", "nz", "nx", "rotors",
)  # fmt: skip
GENERAL_HINGE, APPLIED_LOADS, COMPOSITE, REACTIONS, AUDIT, Z_ROWS, DERIVATIVES = (
    len(SIZES) + k for k in range(7)
)  # Z_ROWS: z of many states, or 0; DERIVATIVES: the table of dynamics.derivatives.layout, or 0
N_SIZES = len(SIZES) + 7
FIRST_WORK = N_SIZES + len(Plan._fields)
N_CONTEXT = FIRST_WORK + len(Work._fields)
# A context of lanes has a number more: bytes between the records of parameters of two states, 0 if they are common
LANE_STRIDE, N_LANE_CONTEXT = N_CONTEXT, N_CONTEXT + 1
