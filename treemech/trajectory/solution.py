"""Optimum of a trajectory: states and inputs over time, how good it is, and the motion that the inputs make."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import TreemechError, unknown
from treemech.topology.arrays import Floats

from ..design.inputs import with_inputs
from ..results.run import Run
from .interior_point import Solved
from .program import Transcribed
from .sampled import run_of

if TYPE_CHECKING:
    from .problem import Trajectory

_FINE = 8  # points an interval, at which simulations get the inputs


class Optimum:
    """Solution of a `Trajectory`.

    Attributes
    ----------
    t, q, u, x : arrays over time, at all points
    inputs : dict of arrays, by name
    durations : list of the phases
    objective : float
    success, message, iterations
    stationarity, feasibility, complementarity : float
        How well the conditions of an optimum (Karush, Kuhn, Tucker) hold: largest entries.
    multipliers : array
    """

    def __init__(self, problem: "Trajectory", made: Transcribed, found: Solved) -> None:
        self.problem, self._made, self._found = problem, made, found
        t, Z, T = made.split(found.x)
        n, ny = problem.points.n, problem.points.ny
        self.t, self.q, self.u, self.x = t, Z[:, :n].copy(), Z[:, n : 2 * n].copy(), Z[:, 2 * n : ny].copy()
        self.inputs = {name: Z[:, ny + k].copy() for k, name in enumerate(problem.inputs)}
        self.durations, self.objective = T.tolist(), made.objective(found.x)
        self.success, self.message, self.iterations = found.success, found.message, found.iterations
        self.stationarity, self.feasibility = found.stationarity, found.feasibility
        self.complementarity, self.multipliers = found.complementarity, found.multipliers
        self._simulated: Run | None = None

    def __getitem__(self, name: str) -> Floats:
        """Return a coordinate, speed, state or input over time by name, "A", "A.u", "force"."""
        place = self.problem.place(name)
        if place is None:
            raise TreemechError(unknown("coordinate, speed, state or input", name, self.problem.names))
        return self._made.split(self._found.x)[1][:, place].copy()

    def input(self, name: str, t: Any) -> Floats:
        """Return an input at any times: the polynomial through the points of each interval."""
        if name not in self.inputs:
            raise TreemechError(unknown("input", name, self.inputs))
        times, w = np.atleast_1d(np.asarray(t, dtype=np.float64)), self.inputs[name]
        members = self._made.grid.members
        starts = np.array([self.t[m[0]] for m in members])
        found = np.zeros(len(times))
        for k, e in enumerate(np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(members) - 1)):
            m = members[e]
            c = self._made.grid.scheme.points
            s = (times[k] - self.t[m[0]]) / (self.t[m[-1]] - self.t[m[0]])
            found[k] = np.linalg.solve(np.vander(c, increasing=True).T, s ** np.arange(len(c))) @ w[m]
        return found

    @property
    def points(self) -> Run:
        """The points of the trajectory as a Run: signals, plots, animation."""
        t, Z, _ = self._made.split(self._found.x)
        return run_of(self.problem.points, t, Z)

    def simulate(self, rtol: float = 1e-9, **options: Any) -> Run:
        """Return the motion that the inputs make from the start of the trajectory, by `Mechanism.simulate`.

        It has the times of the points as outputs. How far its end lies from that of the trajectory is `closing_error`.
        """
        members, fine = self._made.grid.members, [self.t[:1]]
        for m in members:
            fine.append(np.linspace(self.t[m[0]], self.t[m[-1]], _FINE + 1)[1:])
        times = np.concatenate(fine)
        mech = with_inputs(self.problem.mech, {n: (times, self.input(n, times)) for n in self.inputs})
        x = self.x[0] if self.x.shape[1] else None
        if mech._core.loops is None:
            start = mech.state(0.0, self.q[0], self.u[0], x)
        else:
            from ..analyses.small_motions import closed_again

            start = mech.state(0.0, *closed_again(mech, 0.0, self.q[0].copy(), self.u[0].copy()), x)
        run = mech.simulate((0.0, float(self.t[-1])), start, rtol=rtol, t_eval=self.t, **options)
        if run.success:
            self._simulated = run
        return run

    @property
    def closing_error(self) -> float:
        """Largest difference of coordinates between the trajectory and the motion that its inputs make."""
        run = self._simulated if self._simulated is not None else self.simulate()
        if len(run.t) != len(self.t):
            raise TreemechError(f"the inputs make no motion to the end: {run.message}")
        return float(np.max(np.abs(run.q - self.q)))

    def resampled(self, t: Floats, s: Floats) -> Floats:
        """Return points at other parts s of the time, as a guess for another transcription."""
        old, Z, _ = self._made.split(self._found.x)
        return np.array([np.interp(s * old[-1], old, Z[:, k]) for k in range(Z.shape[1])]).T

    @property
    def report(self) -> str:
        """What was found, in words."""
        p = self.problem
        how = "optimum" if self.success else "NO OPTIMUM"
        return (
            f"{how} of {p.mech.name!r}: objective {self.objective:.8g}, duration {sum(self.durations):.6g} s\n"
            f"{p.scheme}, {sum(p.intervals)} intervals, {len(self._found.x)} variables, {self.iterations} iterations: {self.message}\n"
            f"stationarity {self.stationarity:.1e}, feasibility {self.feasibility:.1e}, complementarity {self.complementarity:.1e}"
        )

    def __str__(self) -> str:
        return self.report

    def __repr__(self) -> str:
        return f"Optimum({self.problem.mech.name!r}: objective {self.objective:.6g}, {'success' if self.success else self.message})"

    def _repr_html_(self) -> str:
        """Return the report, for notebooks."""
        from html import escape

        return f"<pre>{escape(self.report)}</pre>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw coordinates, speeds and inputs over time; return the axes."""
        from ..plots.pictures import picture_path, pyplot, save_picture

        target, plt, n = (
            None if path is None else picture_path(path, "optimum.plot"),
            pyplot(),
            self.problem.points.n,
        )
        figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.0, 7.0), layout="constrained")
        names = self.problem.names
        for axis, values, labels in ((axes[0], self.q, names[:n]), (axes[1], self.u, names[n : 2 * n])):
            for k, label in enumerate(labels):
                axis.plot(self.t, values[:, k], ".-", ms=3, lw=1, label=label)
        fine = np.linspace(0.0, self.t[-1], 400)
        for name, w in self.inputs.items():
            (line,) = axes[2].plot(fine, self.input(name, fine), lw=1, label=name)
            axes[2].plot(self.t, w, ".", ms=3, color=line.get_color())
        for axis, label in zip(axes, ("coordinates", "speeds", "inputs"), strict=True):
            axis.set_ylabel(label)
            axis.grid(True, alpha=0.25)
            axis.legend(fontsize=8)
        axes[2].set_xlabel("t [s]")
        axes[0].set_title(f"{self.problem.mech.name}: {self.objective:.6g}")
        if target is not None:
            save_picture(figure, target)
        return axes
