"""Small motions about a state: A, B, C, D in independent coordinates.

Displacements of all coordinates follow from those of independent ones, dq = N x (the holonomic rows hold),
and rates from independent rates, du = M x + K y (all rows hold, nonholonomic ones too, also where the
displacement turns them). x, y are displacements and rates of the chosen coordinates themselves, so that
states have their names::

    x' = (M + H N) x + K y      y' = d ud / dq N x + d ud / du (M x + K y) + d ud / d load . load

The states s of elements follow, with the derivatives of s' by q, u, s. H is zero except for Euler parameters,
whose displacements are rotations: theta' = d omega + omega x theta.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.rank import complete, null_space, rank
from treemech.kinematics.rows import quoted
from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..model.composite_derivatives import Input
from ..model.core import Core
from ..model.row_derivatives import row_derivatives
from ..model.tree_derivatives import TreeDerivatives
from .derivatives import derivatives
from .modes import Mode, Modes, Mover


class CutSpeeds(NamedTuple):
    """Speeds of cut hinges, which follow from the speeds of the tree: u_c = V u + ..."""

    names: list[str]
    partials: Floats  # V (nc, nu)


class Reduction(NamedTuple):
    """How all displacements and rates follow from the independent ones."""

    positions: list[int]  # independent displacements x: numbers of the speeds, those of cut hinges behind
    speeds: list[int]  # independent rates y
    N: Floats  # dq = N x
    M: Floats  # du = M x + K y
    K: Floats


@dataclass(frozen=True, eq=False)
class Linearization:
    """State space of small motions: x' = A x + B load, z = C x + D load.

    Attributes
    ----------
    A, B, C, D : arrays
        The state is (independent displacements, independent rates, states of elements), named in `states`.
        Inputs are loads on speeds, outputs are displacements of coordinates, by the names of their speeds.
    ud : (nu,) array
        Accelerations at the state: zero in an equilibrium.
    eigenvalues : (n,) complex array
        Eigenvalues of A, by rising real part, then imaginary part.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    ud: Floats
    names: list[str]
    displacements: Floats  # N and zeros: displacements of all coordinates, of the tree and of cut hinges
    accelerations: Floats  # (nu, n) ud of all speeds of the tree by the state
    mover: Mover | None = field(default=None, repr=False)  # makes a run of displacements

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        return _sorted(np.linalg.eigvals(self.A))

    @property
    def modes(self) -> Modes:
        """Modes in the order of `eigenvalues`; ``modes.animate(0, "mode.html")`` shows one."""
        values, vectors = np.linalg.eig(self.A)
        shapes, found = self.displacements @ vectors, []
        for k in np.lexsort((values.imag, values.real)):
            shape = shapes[:, k]
            largest = shape[int(np.argmax(np.abs(shape)))] if len(shape) else 1.0
            shape = shape / largest if largest != 0.0 else shape
            found.append(Mode(complex(values[k]), dict(zip(self.names, map(complex, shape), strict=True))))
        return Modes(found, self.names[: len(self.accelerations)], self.mover)

    @property
    def state_space(self) -> Any:
        """The matrices as a scipy.signal.StateSpace."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return the matrices as a control.StateSpace, with the names of states, inputs and outputs (needs control)."""
        try:
            from control import ss
        except ModuleNotFoundError:
            raise TreemechError("this needs python-control: pip install treemech[control].") from None
        return ss(
            self.A, self.B, self.C, self.D, states=self.states, inputs=self.inputs, outputs=self.outputs
        )

    def __repr__(self) -> str:
        return (
            f"Linearization({len(self.states)} states: {', '.join(self.states[:8])}"
            f"{', ...' if len(self.states) > 8 else ''}; largest real part "
            f"{max(self.eigenvalues.real, default=0.0):.6g})"
        )


def _sorted(values: Any) -> NDArray[np.complex128]:
    found: NDArray[np.complex128] = np.asarray(values, dtype=np.complex128)
    return np.asarray(found[np.lexsort((found.imag, found.real))])


def turning(core: Core, u: Floats) -> Floats:
    """Return H (nu, nu) of theta' = du + H theta: omega x for Euler parameters."""
    H = np.zeros((core.nu, core.nu))
    for c in core.coordinates.hinges:
        k = c.hinge.euler_parameters
        if k is not None:
            at = slice(c.u + k, c.u + k + 3)
            x, y, z = u[at]
            H[at, at] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return H


def independent(
    N: Floats, of_speeds: Floats, names: Sequence[str], wanted: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the wanted coordinates as independent displacements, and those whose rates are independent.

    N and `of_speeds` have a row for every coordinate: its displacement, or rate, in a basis of those that the
    constraints allow. Wanted coordinates that depend on the others are refused by name.
    """
    for k, j in enumerate(wanted):
        before = list(wanted[:k])
        if j in before:
            raise ElementError(f"linearize: {names[j]!r} is named twice in coordinates=.")
        if np.max(np.abs(N[j]), initial=0.0) < 1e-9:
            raise ElementError(
                f"linearize: {names[j]!r} cannot be an independent coordinate: it is held or prescribed, or nothing moves it."
            )
        if rank(N[[*before, j]], 1.0) <= k:
            raise ElementError(
                f"linearize: {names[j]!r} is not independent of {quoted(names[i] for i in before)} in this position. "
                f"Independent would be {quoted(names[i] for i in [*before, *complete(N, before)])}."
            )
    speeds: list[int] = []
    for j in wanted:
        if rank(of_speeds[[*speeds, j]], 1.0) > len(speeds):
            speeds.append(j)
    missing = of_speeds.shape[1] - len(speeds)
    if missing:
        raise ElementError(
            f"linearize: coordinates= names {len(speeds)} of {of_speeds.shape[1]} independent coordinates. Name "
            f"{quoted(names[i] for i in complete(of_speeds, speeds))} as well."
        )
    return [*wanted, *complete(N, list(wanted))], speeds


def reduce(
    P: Floats,
    nonholonomic: NDArray[np.bool_],
    velocity_q: Floats,
    free: NDArray[np.bool_],
    all_speeds: Floats,
    names: Sequence[str],
    wanted: Sequence[int] | None = None,
) -> Reduction:
    """Choose independent coordinates, the `wanted` ones or the best of the free ones. Return how the others follow.

    `all_speeds` (n_all, nu) with their `names` are all that may be wanted: the speeds, then those of cut
    hinges.
    """
    n, own = P.shape[1], np.flatnonzero(free)
    F = P[:, free]
    of_speeds, of_positions = null_space(F), null_space(F[~nonholonomic])
    if wanted is None:
        speeds = complete(of_speeds, [])
        positions = own[[*speeds, *complete(of_positions, speeds)]].tolist()
        speeds = own[speeds].tolist()
    else:
        seen = all_speeds[:, free]
        positions, speeds = independent(seen @ of_positions, seen @ of_speeds, names, wanted)
    N, K, M = np.zeros((n, len(positions))), np.zeros((n, len(speeds))), np.zeros((n, len(positions)))
    N[own] = of_positions @ np.linalg.inv(all_speeds[positions][:, own] @ of_positions)
    K[own] = of_speeds @ np.linalg.inv(all_speeds[speeds][:, own] @ of_speeds)
    if len(P):
        M[own] = -np.linalg.lstsq(F, velocity_q @ N, rcond=1e-10)[0]
        M -= K @ (all_speeds[speeds] @ M)
    return Reduction(positions, speeds, N, M, K)


def linearize(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    q: Floats,
    u: Floats,
    held: NDArray[np.bool_] | None = None,
    inputs: Sequence[int | str] | None = None,
    outputs: Sequence[int] | None = None,
    tau: Floats | None = None,
    named: Mapping[str, Input] | None = None,
    cut: CutSpeeds | None = None,
    coordinates: Sequence[int] | None = None,
) -> Linearization:
    """Linearize about a state under the loads tau.

    `held` coordinates keep their motion, like prescribed ones. `coordinates` are to be the independent ones.

    `inputs`: numbers of speeds that carry loads, or names of `named` inputs of elements. The numbers of `cut`
    hinges follow those of the tree.
    """
    near = core.chord_work.q.copy()
    found = derivatives(core, tree, t, q, u, tau, held, named)
    n, names = core.nu, core.coordinates.u_names
    all_names, all_speeds = list(names), np.eye(n)
    if cut is not None:
        all_names, all_speeds = [*names, *cut.names], np.vstack((all_speeds, cut.partials))
    free = core.free_speeds() if held is None else core.free_speeds() & ~held
    P, velocity_q = np.zeros((0, n)), np.zeros((0, n))
    if core.loops is not None:
        core.chord_work.q[:] = near
        tree.inverse_dynamics(t, q, u, found.ud)
        rows = row_derivatives(core, tree, t, q, u, found.ud, found.multipliers)
        P, velocity_q = rows.partials, rows.velocity_q
    _refuse_moving_cut(coordinates, all_names, n, u, found.ud)
    r = reduce(P, core.layout.chords.nonholonomic, velocity_q, free, all_speeds, all_names, coordinates)
    x, y = len(r.positions), len(r.speeds)
    by_x = found.ud_q @ r.N + found.ud_u @ r.M
    x_rates = found.x_rates_q @ r.N + found.x_rates_u @ r.M
    of_x, of_y = all_speeds[r.positions], all_speeds[r.speeds]
    A = np.block(
        [
            [of_x @ (r.M + turning(core, u) @ r.N), of_x @ r.K, np.zeros((x, core.nx))],
            [of_y @ by_x, of_y @ found.ud_u @ r.K, of_y @ found.ud_x],
            [x_rates, found.x_rates_u @ r.K, found.x_rates_x],
        ]
    )
    chosen: list[int | str] = [*(np.flatnonzero(free).tolist() if inputs is None else inputs)]
    seen = list(range(n)) if outputs is None else list(outputs)
    acting = [k if isinstance(k, int) else len(all_names) + found.inputs.index(k) for k in chosen]
    of_ud, of_rates = (
        np.hstack((found.ud_load @ all_speeds.T, found.ud_input)),
        np.hstack((found.x_rates_load @ all_speeds.T, found.x_rates_input)),
    )
    B = np.vstack((np.zeros((x, len(chosen))), of_y @ of_ud[:, acting], of_rates[:, acting]))
    displacements = np.hstack((all_speeds @ r.N, np.zeros((len(all_names), y + core.nx))))
    return Linearization(
        A,
        B,
        displacements[seen],
        np.zeros((len(seen), len(chosen))),
        [all_names[k] for k in r.positions]
        + [all_names[k] + "'" for k in r.speeds]
        + core.layout.efforts.z_names[: core.nx],
        [all_names[k] if isinstance(k, int) else k for k in chosen],
        [all_names[k] for k in seen],
        found.ud,
        all_names,
        displacements,
        np.hstack((by_x, found.ud_u @ r.K, found.ud_x)),
    )


def _refuse_moving_cut(
    wanted: Sequence[int] | None, names: Sequence[str], n: int, u: Floats, ud: Floats
) -> None:
    """Refuse cut hinges as independent coordinates away from rest, where their partials change along the motion."""
    moving = np.max(np.abs(u), initial=0.0) > 0.0 or np.max(np.abs(ud), initial=0.0) > 1e-6
    for j in (j for j in wanted or () if j >= n and moving):
        raise ElementError(
            f"linearize: {names[j]!r} is cut, and the state is not at rest: it cannot be an independent coordinate there. "
            "Name one of the tree, or connect it with role='branch'."
        )
