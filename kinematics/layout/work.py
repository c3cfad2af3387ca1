"""Make the arrays of Work and ChordWork, and the contexts by which the compiled core finds all arrays."""

import numpy as np

from treemech.elements.constraint import rows_size
from treemech.topology.arrays import Floats, Ints, addresses

from ..plan.arrays import N_CONTEXT, N_SIZES, SIZES, Plan, Work
from ..plan.chord_arrays import ChordWork
from ..plan.columns import body, chord, point, row, speed
from .chords import ChordLayout


def make_work(plan: Plan, nq: int, parameters: Floats, workspace: int = 0, nz: int = 0) -> Work:
    """Make the arrays for one evaluation at a time; use one Work per thread."""
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
    """Make the int64 table by which the compiled core finds Plan and Work; keep both alive beside it."""
    context = np.zeros(N_CONTEXT, dtype=np.int64)
    context[: len(SIZES)] = (
        len(plan.body), nq, len(plan.dof), len(plan.runs), len(plan.prescribed), len(plan.signals),
        len(plan.links), len(work.record), len(work.parameters), len(plan.efforts), len(plan.ends), len(plan.acted),
        len(plan.sources), len(plan.composites), len(plan.points), len(work.effort_records), nz, nx, len(plan.rotors),
    )  # fmt: skip
    arrays = (*plan, *work)
    if not all(array.flags.c_contiguous for array in arrays):
        raise AssertionError("the core takes C-contiguous arrays only")
    context[N_SIZES : N_SIZES + len(arrays)] = addresses(arrays)
    return context


def make_chord_work(layout: ChordLayout) -> ChordWork:
    """Make the arrays for one evaluation of the chords at a time."""
    plan_chord = layout.plan.chord
    entries = int(
        np.sum(
            (plan_chord[:, chord.PATH_END] - plan_chord[:, chord.PATH_START]) * plan_chord[:, chord.N_ROWS]
        )
    )
    record = np.zeros(max(layout.n_record, 1))
    # Without auxiliary unknowns the rows are those the element writes
    for index in plan_chord[(plan_chord[:, chord.KIND] == chord.CONSTRAINT) & (plan_chord[:, chord.NU] == 0)]:
        n, first = (
            int(index[chord.HOLONOMIC]),
            int(index[chord.RECORD] + rows_size(int(index[chord.N_ROWS]), 0)),
        )
        record[first : first + n * n] = np.eye(n).ravel()
    return ChordWork(
        row=np.zeros((len(layout.rows), row.N_COLUMNS)),
        chord=np.zeros((len(plan_chord), chord.N_WORK)),
        partials=np.zeros(max(entries, 1)),
        record=record,
        q=layout.start.copy(),
        u=np.zeros(int(np.sum(plan_chord[:, chord.NU]))),
        pivot=np.full((len(plan_chord), 6), -1, dtype=np.int64),
    )


def make_chord_context(tree_context: int, layout: ChordLayout, work: ChordWork) -> Ints:
    """Make the int64 table by which the compiled core finds the chords; keep plan and work alive."""
    arrays = (*layout.plan, *work)
    head = (
        tree_context, len(layout.plan.chord), len(layout.plan.path), len(layout.rows), len(work.partials),
        len(work.record), len(work.q), len(work.u), 0, 0,
    )  # fmt: skip
    return np.array([*head, *addresses(arrays)], dtype=np.int64)
