"""Forward sensitivities: how a motion changes with parameters of the model, s = dy/dp along y = (q, u, x).

They obey the equations of motion differentiated along the motion::

    s_q' = s_u + H s_q      s_u' = d ud / d(q, u, x) s + d ud / dp      s_x' = d x' / d(q, u, x) s + d x' / dp

with displacements in the directions of the speeds (H is omega x for Euler parameters, zero otherwise). These
are linear equations with exact coefficients (derivatives). They are solved by Radau collocation of order 9 (L-stable,
as stiff motions need it) on the steps of the motion: first on pairs of steps, then on steps that are halved until two solutions
agree, at last on those alone where they do not (beside the corner of a contact).
Between the ends of steps they follow from the polynomial of the collocation: many output times cost no evaluations.
With closed chains s also satisfies the constraints, P s_q + df/dp = 0 and its rate.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from ..model.composite_derivatives import Input
from ..model.core import Core
from ..model.tree_derivatives import TreeDerivatives
from .derivatives import derivatives
from .displacement import Motion
from .linearization import turning
from .parameter_derivatives import Direction

_RANK = 1e-9  # singular values below this part of the largest belong to redundant rows
_STAGES = 5
_HALVINGS = 6
_CUTS, _MOST_PIECES = 40, 20_000  # where only some pieces are cut further


class Variation:
    """Equations of s for starts, inputs of elements and parameters.

    s is (nu + nu + nx, columns): displacements, speeds, states of elements. The first `starts` columns have no
    right side (they follow changes of the start), then come those of `inputs`, which keep their values, then
    those of `parameters`.
    """

    def __init__(
        self,
        core: Core,
        workspace: TreeDerivatives,
        parameters: Sequence[Direction],
        inputs: Mapping[str, Input] | None = None,
        starts: int = 0,
    ) -> None:
        self.core, self.workspace, self.parameters = core, workspace, tuple(parameters)
        self.inputs, self.starts = inputs or {}, starts
        self.free: NDArray[np.bool_] = core.free_speeds()

    def solve(
        self,
        motion: Callable[[Floats], Motion],
        edges: Floats,
        start: Floats,
        rtol: float,
        times: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Return s (times, 2 nu + nx, k) at the times (default: the edges), to rtol, and its estimated error (k,) by column.

        Edges are the steps of the motion and its breaks. Further columns of `start`, behind those of the right
        side, are changes of the start alone.
        """
        times = edges if times is None else times
        some = np.unique([*range(0, len(edges), 2), len(edges) - 1])  # pairs of steps first
        coarse = self._collocated(motion, edges[some], start, 1, times)
        for halving in range(_HALVINGS):
            fine = self._collocated(motion, edges, start, 2**halving, times)
            sizes = np.max(np.abs(fine), axis=0, initial=0.0)
            sizes = np.maximum(sizes, np.max(sizes, axis=0))
            gap = np.max(np.abs(fine - coarse), axis=0) / np.maximum(sizes, 1e-300)
            if np.all(gap <= rtol):
                return fine, np.max(gap, axis=0, initial=0.0)
            coarse = fine
        found = self._graded(motion, edges, start, rtol, times)
        if found is not None:
            return found
        raise ConvergenceError(
            f"sensitivities do not settle to rtol = {rtol:g} on steps of the motion cut by {2**halving}: the motion is not "
            "smooth, or so sensitive that its rounding shows. Ask for less, or a shorter time."
        )

    def _graded(
        self, motion: Callable[[Floats], Motion], edges: Floats, start: Floats, rtol: float, times: Floats
    ) -> tuple[Floats, Floats] | None:
        """Return s and its error on pieces that are cut where the equations are not smooth; None if they do not settle.

        Beside the corner of a contact after Hertz, say, the stiffness begins like a square root: pieces get shorter towards it.
        """
        k, n = start.shape[1], len(start)
        pieces = np.stack((edges[:-1], edges[1:]), axis=1)
        maps, halves = self._maps(motion, pieces, k), self._maps(motion, _halved(pieces), k)
        for _ in range(_CUTS):
            fine = np.append(_halved(pieces)[:, 0], edges[-1])
            s, found = _follow(fine, *halves, start, times)
            left, right = halves[0][::2], halves[0][1::2]
            both = left + right + right[..., :n] @ left  # of the piece, by its halves
            begins = s[:-1:2]
            gap = both - maps[0]
            gap = np.max(np.abs(gap[..., :n] @ begins + gap[..., n:]), axis=1)
            gap /= np.maximum(np.max(np.abs(s), axis=(0, 1)), 1e-300)  # (pieces, columns)
            error = np.sum(gap, axis=0)
            if np.all(error <= rtol):
                return found, error
            cut = np.max(gap, axis=1) > 0.5 * rtol / len(pieces)
            if len(pieces) + np.count_nonzero(cut) > _MOST_PIECES or not np.all(np.isfinite(gap)):
                return None
            twice = np.repeat(cut, 2)
            new = _halved(pieces)[twice]
            order = np.argsort(np.concatenate((pieces[~cut, 0], new[:, 0])))
            later = self._maps(motion, _halved(new), k)
            maps = _merged(order, [x[~cut] for x in maps], [x[twice] for x in halves])
            inner = (2 * order[:, None] + (0, 1)).ravel()
            halves = _merged(inner, [x[~twice] for x in halves], later)
            pieces = np.concatenate((pieces[~cut], new))[order]
        return None

    def _collocated(
        self, motion: Callable[[Floats], Motion], edges: Floats, start: Floats, parts: int, times: Floats
    ) -> Floats:
        fine = np.unique(
            np.concatenate([edges, *((edges[:-1] + k / parts * np.diff(edges)) for k in range(parts))])
        )
        pieces = np.stack((fine[:-1], fine[1:]), axis=1)
        return _follow(fine, *self._maps(motion, pieces, start.shape[1]), start, times)[1]

    def _maps(
        self, motion: Callable[[Floats], Motion], pieces: Floats, columns: int
    ) -> tuple[Floats, Floats]:
        """Return the change of s over pieces (m, 2) of time, and its slopes at the nodes, for s = each unit vector and for f."""
        h = np.diff(pieces)[:, 0]
        nodes, a, b = _radau(_STAGES)
        at = np.minimum(pieces[:, :1] + h[:, None] * nodes, pieces[:, 1:])  # rounding must not pass the end
        J, f = self.linear(motion(at.ravel()))
        n = J.shape[-1]
        J, f = J.reshape(len(h), _STAGES, n, n), f.reshape(len(h), _STAGES, n, -1)
        f = np.concatenate((f, np.zeros((*f.shape[:3], columns - f.shape[3]))), axis=3)
        # K_i = J_i (s + h sum a_ij K_j) + f_i, for s = each unit vector and for f
        system = np.eye(_STAGES * n) - np.einsum("m,ij,mikl->mikjl", h, a, J).reshape(len(h), _STAGES * n, -1)
        right = np.concatenate((J, f), axis=3).reshape(len(h), _STAGES * n, -1)
        K = np.linalg.solve(system, right).reshape(len(h), _STAGES, n, -1)
        return np.einsum("m,i,mikl->mkl", h, b, K), K

    def linear(self, y: Motion) -> tuple[Floats, Floats]:
        """Return J (states, n, n) and f (states, n, columns) of s' = J s + f at many states."""
        n, nx = self.core.nu, self.core.nx
        size, own = 2 * n + nx, self.starts
        by_p = own + len(self.inputs)
        columns = by_p + len(self.parameters)
        J, f = np.zeros((len(y.t), size, size)), np.zeros((len(y.t), size, columns))
        J[:, :n, n : 2 * n] = np.eye(n)
        if self.core.coordinates.euler_parameters:
            J[:, :n, :n] = [turning(self.core, u) for u in y.u]
        for k, t in enumerate(y.t.tolist()):
            self._stand(y, k)
            d = derivatives(
                self.core,
                self.workspace,
                t,
                y.q[k],
                y.u[k],
                inputs=self.inputs,
                parameters=self.parameters,
            )
            of_speeds, of_states = slice(n, 2 * n), slice(2 * n, size)
            J[k, of_speeds, :n], J[k, of_speeds, of_speeds] = d.ud_q, d.ud_u
            f[k, of_speeds, own:by_p], f[k, of_speeds, by_p:] = d.ud_input, d.ud_p
            if nx:
                J[k, of_states, :n], J[k, of_states, of_speeds] = d.x_rates_q, d.x_rates_u
                J[k, of_speeds, of_states], J[k, of_states, of_states] = d.ud_x, d.x_rates_x
                f[k, of_states, own:by_p], f[k, of_states, by_p:] = d.x_rates_input, d.x_rates_p
        J[:, n:, np.flatnonzero(np.tile(~self.free, 2))] = 0.0  # prescribed motions are in f already
        return J, f

    def _stand(self, y: Motion, k: int) -> None:
        """Give the core the element states and cut hinges of state k."""
        core = self.core
        core.work.z[: core.nz] = y.z[k]
        core.chord_work.q[:], core.chord_work.pivot[:] = y.cut[k], -1

    # ------------------------------------------------------------ constraints
    def closed(self, y: Motion, s: Floats) -> Floats:
        """Return s at many states after the least change that satisfies the constraints.

        Prescribed entries follow their signals.
        """
        core, n, s = self.core, self.core.nu, s.copy()
        driven, holonomic = np.flatnonzero(~self.free), ~core.layout.chords.nonholonomic
        for k, t in enumerate(y.t.tolist()):
            self._stand(y, k)
            P = core.constraints(t, y.q[k], y.u[k]).partials
            state = (t, y.q[k], y.u[k], np.zeros(n), np.zeros(len(P)))
            for own, parameter in zip(s[k].T, self.parameters, strict=True):
                now = parameter.equations(*state, own)
                own[driven], own[n + driven] = now.prescribed[:2, driven]
                if core.loops is not None:
                    own[:n] -= self._least(P[holonomic], now.position[holonomic])
                    own[n : 2 * n] -= self._least(P, parameter.equations(*state, own).velocity)
        return s

    def _least(self, P: Floats, gap: Floats) -> Floats:
        """Return the least change of the free entries that closes a gap."""
        change = np.zeros(self.core.nu)
        change[self.free] = np.linalg.lstsq(P[:, self.free], gap, rcond=_RANK)[0]
        return change


def _follow(
    fine: Floats, change: Floats, slopes: Floats, start: Floats, times: Floats
) -> tuple[Floats, Floats]:
    """Return s at the ends of pieces, and at any times by the polynomials of the collocation."""
    h, n = np.diff(fine), len(start)
    s, ends = start, [start]
    for step in change:
        s = s + step[:, :n] @ s + step[:, n:]
        ends.append(s)
    at = np.clip(np.searchsorted(fine, times, side="right") - 1, 0, len(h) - 1)
    inside = h[at, None] * _dense(_radau(_STAGES)[0], (times - fine[at]) / h[at])
    here = np.array(ends)[at]
    rates = slopes[at, :, :, :n] @ here[:, None] + slopes[at, :, :, n:]
    return np.array(ends), np.asarray(here + np.einsum("tj,tjnp->tnp", inside, rates))


def _halved(pieces: Floats) -> Floats:
    """Return the halves of pieces (m, 2) of time, in their order."""
    middle = 0.5 * (pieces[:, 0] + pieces[:, 1])
    return np.stack((pieces[:, 0], middle, middle, pieces[:, 1]), axis=1).reshape(-1, 2)


def _merged(order: NDArray[np.int64], first: list[Floats], second: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return change and slopes of pieces that were kept and of new ones, in an order."""
    change, slopes = (np.concatenate(pair)[order] for pair in zip(first, second, strict=True))
    return change, slopes


def _dense(nodes: Floats, x: Floats) -> Floats:
    """Return the weights (times, stages) of the slopes at the nodes for the solution at parts x of a step.

    >>> _dense(_radau(2)[0], np.array([1.0])).round(12).tolist()  # b of the method
    [[0.75, 0.25]]
    """
    powers = np.arange(1, len(nodes) + 1)
    found = np.linalg.solve(np.vander(nodes, increasing=True).T, (x[:, None] ** powers / powers).T).T
    return np.asarray(found, dtype=np.float64)


@cache
def _radau(stages: int) -> tuple[Floats, Floats, Floats]:
    """Return nodes in (0, 1], coefficients a and weights b of Radau IIA collocation, of order 2 stages - 1.

    >>> _radau(2)[0].round(12).tolist()  # 1/3 and 1
    [0.333333333333, 1.0]
    """
    legendre = np.polynomial.legendre.Legendre
    # zeros of P_s - P_(s-1), the last of which is 1
    x = np.sort((legendre.basis(stages) - legendre.basis(stages - 1)).roots().real)
    c = 0.5 * (x + 1.0)
    c[-1] = 1.0
    powers = np.arange(1, stages + 1)
    # sum_j a_ij c_j^(k-1) = c_i^k / k
    a = np.linalg.solve(np.vander(c, increasing=True).T, (c[:, None] ** powers / powers).T).T
    return c, np.asarray(a, dtype=np.float64), np.asarray(a[-1], dtype=np.float64)
