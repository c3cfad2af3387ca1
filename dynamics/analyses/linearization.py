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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.rank import complete, null_space
from treemech.topology.arrays import Floats

from ..model.composite_derivatives import Input
from ..model.core import Core
from ..model.row_derivatives import row_derivatives
from ..model.tree_derivatives import TreeDerivatives
from .derivatives import derivatives


class Mode(NamedTuple):
    """An eigenvalue and its shape: the part of every coordinate, the largest being 1."""

    eigenvalue: complex
    shape: dict[str, complex]  # displacements by the names of the speeds, those of cut hinges too


class CutSpeeds(NamedTuple):
    """Speeds of cut hinges, which follow from the speeds of the tree: u_c = V u + ..."""

    names: list[str]
    partials: Floats  # V (nc, nu)


class Reduction(NamedTuple):
    """How all displacements and rates follow from the independent ones."""

    positions: list[int]  # independent displacements x: numbers of the speeds
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

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        return _sorted(np.linalg.eigvals(self.A))

    @property
    def modes(self) -> list[Mode]:
        """Modes in the order of `eigenvalues`."""
        values, vectors = np.linalg.eig(self.A)
        shapes, found = self.displacements @ vectors, []
        for k in np.lexsort((values.imag, values.real)):
            shape = shapes[:, k]
            largest = shape[int(np.argmax(np.abs(shape)))] if len(shape) else 1.0
            shape = shape / largest if largest != 0.0 else shape
            found.append(Mode(complex(values[k]), dict(zip(self.names, map(complex, shape), strict=True))))
        return found

    @property
    def state_space(self) -> Any:
        """The matrices as a scipy.signal.StateSpace."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

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


def reduce(
    P: Floats, nonholonomic: NDArray[np.bool_], velocity_q: Floats, free: NDArray[np.bool_]
) -> Reduction:
    """Choose independent coordinates among the free ones. Return how the others follow."""
    n, own = P.shape[1], np.flatnonzero(free)
    F = P[:, free]
    of_speeds, of_positions = null_space(F), null_space(F[~nonholonomic])
    speeds = complete(of_speeds, [])
    positions = [*speeds, *complete(of_positions, speeds)]
    N, K, M = np.zeros((n, len(positions))), np.zeros((n, len(speeds))), np.zeros((n, len(positions)))
    N[own] = of_positions @ np.linalg.inv(of_positions[positions])
    K[own] = of_speeds @ np.linalg.inv(of_speeds[speeds])
    if len(P):
        M[own] = -np.linalg.lstsq(F, velocity_q @ N, rcond=1e-10)[0]
        M -= K @ M[own[speeds]]
    return Reduction(own[positions].tolist(), own[speeds].tolist(), N, M, K)


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
) -> Linearization:
    """Linearize about a state under the loads tau.

    `held` coordinates keep their motion, like prescribed ones.

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
    r = reduce(P, core.layout.chords.nonholonomic, velocity_q, free)
    x, y = len(r.positions), len(r.speeds)
    by_x = found.ud_q @ r.N + found.ud_u @ r.M
    x_rates = found.x_rates_q @ r.N + found.x_rates_u @ r.M
    A = np.block(
        [
            [(r.M + turning(core, u) @ r.N)[r.positions], r.K[r.positions], np.zeros((x, core.nx))],
            [by_x[r.speeds], (found.ud_u @ r.K)[r.speeds], found.ud_x[r.speeds]],
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
    B = np.vstack((np.zeros((x, len(chosen))), of_ud[np.ix_(r.speeds, acting)], of_rates[:, acting]))
    displacements = np.hstack((all_speeds @ r.N, np.zeros((len(all_names), y + core.nx))))
    return Linearization(
        A,
        B,
        displacements[seen],
        np.zeros((len(seen), len(chosen))),
        [names[k] for k in r.positions]
        + [names[k] + "'" for k in r.speeds]
        + core.layout.efforts.z_names[: core.nx],
        [all_names[k] if isinstance(k, int) else k for k in chosen],
        [all_names[k] for k in seen],
        found.ud,
        all_names,
        displacements,
    )
