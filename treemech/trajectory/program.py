"""The nonlinear program of a trajectory: variables, constraints, objective, exact sparse derivatives.

Variables: the points z = (q, u, x, i), one after another; the durations of the phases; slacks of path conditions.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix

from treemech.topology.arrays import Floats

from .interior_point import Program
from .points import Point, Points
from .sampled import Sampled
from .schemes import Grid

_RK4 = (np.array([0.0, 0.5, 0.5, 1.0]), np.array([1.0, 2.0, 2.0, 1.0]) / 6.0)


class Condition(NamedTuple):
    """A sampled number between limits at some points."""

    sampled: Sampled
    where: list[int]
    low: float
    high: float


class Cost(NamedTuple):
    """Terms of the objective: weights of inputs squared and of time, a function under the integral, one at the end."""

    effort: Floats
    time: float
    integral: Sampled | None
    terminal: Sampled | None


class _Blocks:
    """A sparse matrix of blocks; without `wanted` nothing is kept."""

    def __init__(self, wanted: bool = True) -> None:
        self.wanted = wanted
        self.rows, self.columns, self.entries = list[Any](), list[Any](), list[Any]()

    def add(self, rows: Any, columns: Any, block: Any) -> None:
        """Add a block at these rows and columns."""
        if self.wanted:
            self.rows.append(np.repeat(rows, len(columns)))
            self.columns.append(np.tile(columns, len(rows)))
            self.entries.append(np.asarray(block, dtype=np.float64).ravel())

    def matrix(self, shape: tuple[int, int]) -> Any:
        """Return their sum."""
        at = tuple(np.concatenate(k).astype(np.int64) for k in (self.rows, self.columns))
        return coo_matrix((np.concatenate(self.entries), at), shape=shape)


class Transcribed:
    """A trajectory as a nonlinear program."""

    def __init__(
        self,
        points: Points,
        grid: Grid,
        cost: Cost,
        lower: Floats,
        upper: Floats,
        conditions: Sequence[Condition],
        periodic: Sequence[int],
        independent: Sequence[list[int]],
        substeps: int,
    ) -> None:
        self.points, self.grid, self.cost, self.conditions = points, grid, cost, list(conditions)
        self.periodic, self.independent, self.substeps = list(periodic), list(independent), substeps
        N, nz = grid.size, points.nz
        self.N, self.nz, self.of_time = N, nz, N * nz  # the durations stand behind the points
        slacks = [(c.low, c.high) for c in self.conditions for _ in c.where]
        self.of_slack = self.of_time + len(grid.counts)
        self.lower = np.concatenate((lower, [a for a, _ in slacks]))
        self.upper = np.concatenate((upper, [b for _, b in slacks]))
        self.shooting = grid.scheme.name == "shooting"
        self._kept: dict[str, tuple[bytes, Any]] = {}

    # ------------------------------------------------------------ evaluation
    def split(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Return times and numbers of all points, and the durations."""
        Z, T = X[: self.of_time].reshape(self.N, self.nz), X[self.of_time : self.of_slack]
        return self.grid.times(T), Z, T

    def _once(self, name: str, X: Floats, make: Callable[[], Any]) -> Any:
        key = X.tobytes()
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = key, make()
        return self._kept[name][1]

    def at(self, X: Floats) -> list[Point]:
        """Return the model at all points."""
        t, Z, _ = self.split(X)
        return list(
            self._once(
                "points", X, lambda: [self.points.at(x, z) for x, z in zip(t.tolist(), Z, strict=True)]
            )
        )

    def shots(self, X: Floats) -> list[tuple[Floats, Floats]]:
        """Return the ends of all intervals, and their derivatives by (z of the start, inputs at the end, duration)."""
        t, Z, T = self.split(X)

        def make() -> list[tuple[Floats, Floats]]:
            return [
                self._shot(float(t[a]), Z[a], Z[b, self.points.ny :], float(T[p]), p)
                for p, (a, b) in zip(self.grid.phases, self.grid.members, strict=True)
            ]

        return list(self._once("shots", X, make))

    def _shot(self, t: float, z: Floats, w1: Floats, T: float, phase: int) -> tuple[Floats, Floats]:
        """Integrate one interval by RK4, inputs linear in time."""
        points, m, part = self.points, self.substeps, 1.0 / (self.grid.counts[phase] * self.substeps)
        ny, nz, nw, h = points.ny, points.nz, len(w1), T / (self.grid.counts[phase] * m)
        y, w0 = z[:ny].copy(), z[ny:]
        S = np.zeros((ny, nz + nw + 1))
        S[:, :ny] = np.eye(ny)
        for k in range(m):
            slopes, by = list[Floats](), list[Floats]()
            for c in _RK4[0]:
                s = (k + c) / m
                at = y + (c * h * slopes[-1] if slopes else 0.0)
                here = S.copy()
                if slopes:
                    here += c * h * by[-1]
                    here[:, -1] += c * part * slopes[-1]
                p = points.at(t + (k + c) * h, np.concatenate((at, (1 - s) * w0 + s * w1)))
                J = p.rates_z[:, :ny] @ here
                J[:, ny:nz] += (1 - s) * p.rates_z[:, ny:]
                J[:, nz : nz + nw] += s * p.rates_z[:, ny:]
                slopes.append(p.rates)
                by.append(J)
            change = np.tensordot(_RK4[1], slopes, axes=1)
            y = y + h * change
            S = S + h * np.tensordot(_RK4[1], by, axes=1)
            S[:, -1] += part * change
        return y, S

    # ------------------------------------------------------------ constraints
    def constraints(self, X: Floats) -> Floats:
        """Return all constraints: rates of every interval, rows of closed chains, periodicity, conditions."""
        if self._kept.get("assembled", (b"",))[0] == X.tobytes():
            return self.assembled(X)[0]
        values: Floats = self._once("values", X, lambda: self._assemble(X, False)[0])
        return values

    def jacobian(self, X: Floats) -> Any:
        """Return their derivatives, sparse."""
        return self.assembled(X)[1]

    def assembled(self, X: Floats) -> tuple[Floats, Any]:
        """Return both."""
        found: tuple[Floats, Any] = self._once("assembled", X, lambda: self._assemble(X, True))
        return found

    def _assemble(self, X: Floats, slopes: bool) -> tuple[Floats, Any]:
        t, Z, T = self.split(X)
        parts, blocks = list[Floats](), _Blocks(slopes)
        parts += self._shot_rows(X, Z, blocks) if self.shooting else self._collocated_rows(X, Z, T, blocks)
        count, p, nz, ny = sum(map(len, parts)), self.points, self.nz, self.points.ny
        for k, point in enumerate(self.at(X) if p.nr else ()):
            parts.append(point.rows)
            blocks.add(count + np.arange(p.nr), k * nz + np.arange(nz), point.rows_z)
            count += p.nr
        last = (self.N - 1) * nz
        for place in self.periodic:
            parts.append(np.array([X[last + place] - X[place]]))
            blocks.add([count], [place, last + place], [[-1.0, 1.0]])
            count += 1
        if not self.grid.scheme.integrals[:, 0].any():
            # inputs at the very start follow from those of the first interval
            members, c = self.grid.members[0], self.grid.scheme.points
            L = np.linalg.solve(np.vander(c[1:], increasing=True).T, np.eye(len(c) - 1)[0])
            for i in range(ny, nz):
                places = [k * nz + i for k in members]
                parts.append(np.array([X[places[0]] - L @ X[places[1:]]]))
                blocks.add([count], places, [[1.0, *(-L)]])
                count += 1
        slack = self.of_slack
        for limit in self.conditions:
            at = t[limit.where], Z[limit.where]
            parts.append(limit.sampled.values(*at) - X[slack : slack + len(limit.where)])
            G = limit.sampled.gradient(*at) if slopes else np.zeros(at[1].shape)
            for j, k in enumerate(limit.where):
                blocks.add([count + j], k * nz + np.arange(nz), G[j][None])
                blocks.add([count + j], [slack + j], [[-1.0]])
            count, slack = count + len(limit.where), slack + len(limit.where)
        return np.concatenate(parts), blocks.matrix((count, len(X))).tocsr() if slopes else None

    def _collocated_rows(self, X: Floats, Z: Floats, T: Floats, blocks: "_Blocks") -> list[Floats]:
        """Return y_j - y_0 - h sum A_jk y'_k of every interval; add their derivatives."""
        here, nz, ny, found, count = self.at(X), self.nz, self.points.ny, list[Floats](), 0
        for e, (phase, members) in enumerate(zip(self.grid.phases, self.grid.members, strict=True)):
            own, part, first = np.asarray(self.independent[e]), 1.0 / self.grid.counts[phase], members[0]
            rates = np.array([here[k].rates for k in members])
            for j, weights in enumerate(self.grid.scheme.integrals, start=1):
                last, r = members[j], count + np.arange(len(own))
                integral = part * weights @ rates
                found.append((Z[last, :ny] - Z[first, :ny] - T[phase] * integral)[own])
                blocks.add(r, last * nz + own, np.eye(len(own)))
                blocks.add(r, first * nz + own, -np.eye(len(own)))
                blocks.add(r, [self.of_time + phase], -integral[own][:, None])
                for k, w in zip(members, weights, strict=True):
                    if w:
                        blocks.add(r, k * nz + np.arange(nz), -T[phase] * part * w * here[k].rates_z[own])
                count += len(own)
        return found

    def _shot_rows(self, X: Floats, Z: Floats, blocks: "_Blocks") -> list[Floats]:
        """Return the gaps between the end of every interval and the next point; add their derivatives."""
        nz, ny, found, count = self.nz, self.points.ny, list[Floats](), 0
        for e, (phase, members) in enumerate(zip(self.grid.phases, self.grid.members, strict=True)):
            own, (first, last), (end, S) = np.asarray(self.independent[e]), members, self.shots(X)[e]
            found.append((Z[last, :ny] - end)[own])
            r = count + np.arange(len(own))
            blocks.add(r, last * nz + own, np.eye(len(own)))
            blocks.add(r, first * nz + np.arange(nz), -S[own, :nz])
            blocks.add(r, last * nz + np.arange(ny, nz), -S[own, nz:-1])
            blocks.add(r, [self.of_time + phase], -S[own, -1:])
            count += len(own)
        return found

    # ------------------------------------------------------------ objective
    def _masses(self) -> Floats:
        """Return M of the integral of squares of polynomials, h w^T M w."""
        if self.shooting:
            return np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
        return np.diag(self.grid.scheme.weights)

    def _terms(self, X: Floats) -> tuple[float, Floats, Any]:
        """Return value, gradient and Hessian of effort and time."""
        _, _, T = self.split(X)
        M, ny, nz = self._masses(), self.points.ny, self.nz
        value, gradient = self.cost.time * float(np.sum(T)), np.zeros(len(X))
        gradient[self.of_time : self.of_slack] = self.cost.time
        rows, columns, entries = list[int](), list[int](), list[float]()
        for phase, members in zip(self.grid.phases, self.grid.members, strict=True):
            h, part = T[phase] / self.grid.counts[phase], 1.0 / self.grid.counts[phase]
            for i, weight in enumerate(self.cost.effort):
                if not weight:
                    continue
                places = [k * nz + ny + i for k in members]
                w = X[places]
                Mw = weight * (M @ w)
                value += h * float(w @ Mw)
                gradient[places] += 2 * h * Mw
                gradient[self.of_time + phase] += part * float(w @ Mw)
                for a, pa in enumerate(places):
                    rows += [pa, self.of_time + phase]
                    columns += [self.of_time + phase, pa]
                    entries += [2 * part * Mw[a]] * 2
                    for b, pb in enumerate(places):
                        if M[a, b]:
                            rows.append(pa)
                            columns.append(pb)
                            entries.append(2 * h * weight * M[a, b])
        return value, gradient, (rows, columns, entries)

    def _point_weights(self, T: Floats) -> tuple[Floats, Floats]:
        """Return the weight of every point in an integral, and its derivatives by the durations."""
        by = np.zeros((self.N, len(T)))
        for phase, members in zip(self.grid.phases, self.grid.members, strict=True):
            by[members, phase] += self.grid.scheme.weights / self.grid.counts[phase]
        return by @ T, by

    def objective(self, X: Floats) -> float:
        """Return the objective."""
        value = self._once("terms", X, lambda: self._terms(X))[0]
        t, Z, T = self.split(X)
        if self.cost.integral is not None:
            value += float(self._point_weights(T)[0] @ self.cost.integral.values(t, Z))
        if self.cost.terminal is not None:
            value += float(self.cost.terminal.values(t[-1:], Z[-1:])[0])
        return float(value)

    def gradient(self, X: Floats) -> Floats:
        """Return its gradient."""
        found: Floats = self._once("terms", X, lambda: self._terms(X))[1].copy()
        t, Z, T = self.split(X)
        if self.cost.integral is not None:
            weights, by = self._point_weights(T)
            found[: self.of_time] += (weights[:, None] * self.cost.integral.gradient(t, Z)).ravel()
            found[self.of_time : self.of_slack] += by.T @ self.cost.integral.values(t, Z)
        if self.cost.terminal is not None:
            found[self.of_time - self.nz : self.of_time] += self.cost.terminal.gradient(t[-1:], Z[-1:])[0]
        return found

    # ------------------------------------------------------------ second derivatives
    def hessian(self, X: Floats, y: Floats) -> Any:
        """Return the Hessian of objective + y constraints, sparse."""
        t, Z, T = self.split(X)
        p, nz, ny, grid = self.points, self.nz, self.points.ny, self.grid
        blocks, terms = _Blocks(), self._once("terms", X, lambda: self._terms(X))[2]
        blocks.rows, blocks.columns, blocks.entries = ([np.array(part)] for part in terms)
        of_rates, of_rows, count = np.zeros((self.N, ny)), np.zeros((self.N, p.nr)), 0
        for k, (phase, members) in enumerate(zip(grid.phases, grid.members, strict=True)):
            own, time = np.asarray(self.independent[k]), self.of_time + phase
            if not np.any(y):
                continue
            if self.shooting:
                full = np.zeros(ny)
                full[own] = -y[count : count + len(own)]
                count += len(own)
                a, b = members
                places = np.array([*(a * nz + np.arange(nz)), *(b * nz + np.arange(ny, nz)), time])
                blocks.add(
                    places,
                    places,
                    self._shot_curvature(float(t[a]), Z[a], Z[b, ny:], float(T[phase]), phase, full),
                )
                continue
            here, part = self.at(X), 1.0 / grid.counts[phase]
            for weights in grid.scheme.integrals:
                mine = y[count : count + len(own)]
                count += len(own)
                for point, w in zip(members, weights, strict=True):
                    of_rates[point, own] -= T[phase] * part * w * mine
                    cross = -part * w * (mine @ here[point].rates_z[own])
                    blocks.add(point * nz + np.arange(nz), [time], cross)
                    blocks.add([time], point * nz + np.arange(nz), cross)
        if p.nr:
            of_rows = y[count : count + self.N * p.nr].reshape(self.N, p.nr)
            count += self.N * p.nr
        if not self.shooting or p.nr:
            for k in range(self.N):
                if np.any(of_rates[k]) or np.any(of_rows[k]):
                    blocks.add(
                        k * nz + np.arange(nz),
                        k * nz + np.arange(nz),
                        p.curvature(float(t[k]), Z[k], of_rates[k], of_rows[k]),
                    )
        count += len(self.periodic)
        if not grid.scheme.integrals[:, 0].any():
            count += nz - ny
        for condition in self.conditions if np.any(y) else ():
            H = condition.sampled.hessian(t[condition.where], Z[condition.where])
            for j, k in enumerate(condition.where):
                blocks.add(k * nz + np.arange(nz), k * nz + np.arange(nz), y[count + j] * H[j])
            count += len(condition.where)
        if self.cost.integral is not None:
            weights, by = self._point_weights(T)
            H, G = self.cost.integral.hessian(t, Z), self.cost.integral.gradient(t, Z)
            for k in range(self.N):
                at = k * nz + np.arange(nz)
                blocks.add(at, at, weights[k] * H[k])
                for phase in np.flatnonzero(by[k]).tolist():
                    blocks.add(at, [self.of_time + phase], by[k, phase] * G[k])
                    blocks.add([self.of_time + phase], at, by[k, phase] * G[k])
        if self.cost.terminal is not None:
            at = (self.N - 1) * nz + np.arange(nz)
            blocks.add(at, at, self.cost.terminal.hessian(t[-1:], Z[-1:])[0])
        return blocks.matrix((len(X), len(X))).tocsc()

    def _shot_curvature(self, t: float, z: Floats, w1: Floats, T: float, phase: int, of: Floats) -> Floats:
        """Return the second derivatives of of . end of an interval, by differences of exact first ones."""
        v = np.concatenate((z, w1, [T]))
        found = np.zeros((len(v), len(v)))
        for k in range(len(v)):
            h = 1e-6 * max(1.0, abs(v[k]))
            sides = []
            for s in (1.0, -1.0):
                x = v.copy()
                x[k] += s * h
                sides.append(of @ self._shot(t, x[: self.nz], x[self.nz : -1], float(x[-1]), phase)[1])
            found[k] = (sides[0] - sides[1]) / (2 * h)
        return 0.5 * (found + found.T)

    def program(self) -> Program:
        """Return the functions of the program."""
        return Program(
            self.objective,
            self.gradient,
            self.constraints,
            self.jacobian,
            self.hessian,
            self.lower,
            self.upper,
        )
