"""Stiff motions: the compiled Radau against scipy's on the same compiled right-hand side.

`python -m treemech.benchmarks stiff`. The governor is IFToMM A05. First the loops alone: its springs act on the coordinates of
the tree (loads tau of the forward dynamics), written here by hand; both take their Jacobians by differences. Then as a
user has it: springs as elements, `mech.simulate` with "Radau" and "scipy:Radau", both with the exact Jacobian.
"""

import argparse
import ctypes
from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any

import numpy as np

import treemech as tm
from treemech.dynamics.integrators import layout as m
from treemech.dynamics.native import entry_points as native
from treemech.kinematics.kernel.status import OK, PAUSED
from treemech.topology.arrays import Floats, address, addresses

from ..problems import load
from ..timing import cpu_seconds

REFERENCE = load("A05_flyball_governor")
_RHS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Direct:
    """A compiled integration loop on any right-hand side: rhs(t, y, y', context) by address, no model around it."""

    def __init__(self, rhs: int, n: int, context: int = 0, jacobian: int = 0) -> None:
        self.rhs, self.n, self.context = rhs, n, context
        self.hooks = np.zeros(m.N_HOOKS, dtype=np.int64)
        self.hooks[m.JACOBIAN] = jacobian
        self.control, self.count = np.zeros(m.N_CONTROL), np.zeros(m.N_COUNT, dtype=np.int64)
        self.work, self.y = np.zeros(m.work_rows(n, True, True) * n), np.zeros(n)
        self.pause = 1000  # steps

    def integrate(
        self, loop: str, t_span: tuple[float, float], y0: Any, rtol: float, atol: float, t_eval: Any = (), method: int = 0,
        most_steps: int = 1_000_000,
    ) -> tuple[int, Floats, Floats]:  # fmt: skip
        """Return (status, times, states): at t_eval, or at the end only."""
        self.control[:], self.count[:] = 0.0, 0
        self.control[[m.TIME, m.END, m.RTOL, m.MAX_STEP]] = *t_span, rtol, np.inf
        self.count[m.CONTROLLED], self.y[:] = self.n, y0
        times = np.array([*t_eval, t_span[1]] if len(t_eval) == 0 else t_eval, dtype=np.float64)
        states, tolerances, none = np.zeros((len(times), self.n)), np.full(self.n, atol), np.zeros(1)
        euler, entry = np.zeros(1, dtype=np.int64), native.entry(loop)
        status = PAUSED
        while status == PAUSED and self.count[m.STEPS] < most_steps:
            status = entry(
                method, self.rhs, self.context, self.n, address(self.control), address(self.count), address(self.y), address(tolerances),
                address(self.work), 0, address(euler), len(times), address(times), address(states), 1, address(none), address(none), 0,
                self.pause, address(self.hooks),
            )  # fmt: skip
        written = int(self.count[m.WRITTEN])
        return status, times[:written], states[:written]

    def function(self) -> tuple[Callable[[float, Any], Floats], list[int]]:
        """Return the same right-hand side for scipy, and a list whose item counts the calls."""
        y_in, dy, calls = np.zeros(self.n), np.zeros(self.n), [0]
        entry, at, to, context = _RHS(self.rhs), address(y_in), address(dy), self.context

        def fun(t: float, y: Any) -> Floats:
            calls[0] += 1
            y_in[:] = y
            entry(t, at, to, context)
            return dy.copy()

        return fun, calls


def governor_tree() -> tm.System:
    """Return shaft, two rods with masses at their ends, slider; without the springs."""
    p, density = REFERENCE.parameters, REFERENCE.parameters["density"]
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    thin, bar, ball = density * 1e-4, density * 1e-4 / 12, p["point_mass_at_rod_ends"]
    shaft = system.body("shaft", thin, (bar, bar, 2e-4 * bar), com=(0, 0, 0.5))
    cube = density * 1e-3
    slider = system.body("slider", cube, [cube * 0.01 / 6] * 3)
    system.connect("turn", tm.Revolute("z"), system.ground, shaft)
    system.connect("slide", tm.Prismatic("z"), shaft, slider)
    mass = thin + ball
    centre = (0.5 * thin + ball) / mass
    across = bar * (1 + 1e-4) + thin * (centre - 0.5) ** 2 + ball * (1 - centre) ** 2
    for side in (1.0, -1.0):
        name = "right" if side > 0 else "left"
        rod = system.body(f"{name} rod", mass, (2e-4 * bar, across, across), com=(side * centre, 0, 0))
        system.connect(name, tm.Revolute((0, side, 0)), shaft.at((side * 0.05, 0, 1.0)), rod)
    return system


class Governor:
    """The governor and its compiled right-hand side, y = (turn, s, two rod angles, their rates)."""

    def __init__(self) -> None:
        from numba import cfunc, types

        from treemech.kinematics.kernel.language import floats

        p = REFERENCE.parameters
        k, c, free = p["spring_stiffness"], p["spring_damping"], p["spring_free_length"]
        self.mech = governor_tree().build()
        self._kept = [np.zeros(4), np.zeros(1)]
        forward, context = native.entry("forward_dynamics"), self.mech._core.context_address
        at_tau, at_t = addresses(self._kept)
        n = types.int64

        def rhs(t, at_y, at_dy, unused):
            y, dy, tau, time = floats(at_y, 8), floats(at_dy, 8), floats(at_tau, 4), floats(at_t, 1)
            time[0] = t
            tau[1] = 0.0
            for i in range(2, 4):
                ca, sa = cos(y[i]), sin(y[i])
                x, z = 0.5 * ca, 1.0 - 0.5 * sa - y[1]
                length = sqrt(x * x + z * z)
                by_angle = (-0.5 * sa * x - 0.5 * ca * z) / length
                by_slide = -z / length
                effort = k * (length - free) + c * (by_angle * y[4 + i] + by_slide * y[5])
                tau[i] = -effort * by_angle
                tau[1] -= effort * by_slide
            for i in range(4):
                dy[i] = y[4 + i]
            return forward(1, at_t, at_y, at_y + 32, at_tau, at_dy + 32, context)

        tau = self._kept[0]
        tau[:] = 0.0
        self._rhs = cfunc(types.int32(types.float64, n, n, n), error_model="numpy")(rhs)
        self.direct = Direct(self._rhs.address, 8)
        start = REFERENCE.initial
        angle = np.radians(start["rod_angle_below_horizontal_deg"])
        self.y0 = np.array([0.0, start["s"], angle, angle, start["shaft_rate"], 0.0, 0.0, 0.0])

    def error(self, times: Floats, states: Floats) -> float:
        """Return the largest deviation from the reference, relative to max(1, value)."""
        columns = {
            "slider_s": 1,
            "rod_angle_alpha": 2,
            "shaft_angle": 0,
            "shaft_rate": 4,
            "slider_velocity": 5,
        }
        worst = 0.0
        for entry in REFERENCE.entries():
            if entry.time is not None:
                got = states[int(np.argmin(np.abs(times - entry.time))), columns[entry.name]]
                worst = max(worst, float(abs(got - entry.value)) / max(1.0, float(abs(entry.value))))
        return worst


def differences(fun: Callable[[float, Any], Floats]) -> Callable[[float, Any], Floats]:
    """Return the Jacobian by forward differences for scipy.

    Its own enlarges the increment of a column that is zero (the angle of the shaft) whenever it is called, without end: it fails
    on the governor after some 300 Jacobians.
    """

    def jacobian(t: float, y: Any) -> Floats:
        rate, J = fun(t, y), np.zeros((len(y), len(y)))
        for k in range(len(y)):
            moved = y.copy()
            moved[k] += 1.5e-8 * max(abs(y[k]), 1e-3)
            J[:, k] = (fun(t, moved) - rate) / (moved[k] - y[k])
        return J

    return jacobian


def measure(
    rtols: tuple[float, ...] = (1e-4, 1e-6, 1e-8), repeats: int = 3, end: float = 10.0
) -> list[dict[str, Any]]:
    """Measure CPU seconds, errors and evaluations of both, per tolerance."""
    from scipy.integrate import solve_ivp

    governor = Governor()
    direct, y0 = governor.direct, governor.y0
    times = np.array([x for x in (0.5, 1.0, 5.0, 10.0) if x <= end])
    rows = []
    for rtol in rtols:
        ours: Any = None
        theirs: Any = None
        fun, calls = direct.function()

        def integrate(rtol=rtol):
            nonlocal ours
            ours = direct.integrate("radau_integrate", (0.0, end), y0, rtol, rtol, times)

        def solve(rtol=rtol, fun=fun, calls=calls):
            nonlocal theirs
            calls[0] = 0
            theirs = solve_ivp(
                fun, (0.0, end), y0, method="Radau", rtol=rtol, atol=rtol, t_eval=times, jac=differences(fun)
            )

        integrate()
        ours_s = min(cpu_seconds(integrate) for _ in range(3 * repeats))
        scipy_s = min(cpu_seconds(solve) for _ in range(repeats))
        if ours[0] != OK or not theirs.success:
            raise AssertionError("an integration failed")
        rows.append({
            "rtol": rtol, "ours_s": ours_s, "scipy_s": scipy_s, "ratio": scipy_s / ours_s,
            "error": governor.error(ours[1], ours[2]), "scipy_error": governor.error(theirs.t, theirs.y.T),
            "evaluations": int(direct.count[m.EVALUATIONS]), "scipy_evaluations": calls[0],
            "steps": int(direct.count[m.STEPS]), "jacobians": int(direct.count[m.JACOBIANS]),
            "factorisations": int(direct.count[m.FACTORISATIONS]), "scipy_jacobians": int(theirs.njev),
            "scipy_factorisations": int(theirs.nlu),
        })  # fmt: skip
    return rows


def measure_runs(
    rtols: tuple[float, ...] = (1e-4, 1e-6, 1e-8), repeats: int = 3, end: float = 10.0
) -> list[dict[str, Any]]:
    """Measure whole simulations of the mechanism; errors at the end against Radau at rtol 1e-12."""
    from ..problems.machines import a05_flyball_governor as problem

    mech = problem.system().build()
    start = problem.state(mech)
    fine = mech.simulate((0, end), start, method="Radau", rtol=1e-12, atol=1e-12, t_eval=[end])
    rows = []
    for rtol in rtols:
        row: dict[str, Any] = {"rtol": rtol}
        for mark, method, times in (("ours_", "Radau", 3 * repeats), ("scipy_", "scipy:Radau", repeats)):
            runs: list[tm.Run] = []

            def simulate(method=method, rtol=rtol, runs=runs):
                runs[:] = [mech.simulate((0, end), start, method=method, rtol=rtol, atol=rtol, t_eval=[end])]

            simulate()
            seconds = min(cpu_seconds(simulate) for _ in range(times))
            gaps = np.hstack((runs[0].q[-1] - fine.q[-1], runs[0].u[-1] - fine.u[-1]))
            if not runs[0].success:
                raise AssertionError(runs[0].message)
            row |= {mark + "s": seconds, mark + "error": float(np.max(np.abs(gaps)))}
            row[mark + "evaluations"] = runs[0].statistics["evaluations"]
        row["error"], row["evaluations"] = row.pop("ours_error"), row.pop("ours_evaluations")
        row["ratio"] = row["scipy_s"] / row["ours_s"]
        rows.append(row)
    return rows


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="treemech.benchmarks stiff", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(argv)
    for title, rows in (
        (REFERENCE.name, measure(repeats=given.repeats)),
        ("as elements, with exact Jacobians", measure_runs(repeats=given.repeats)),
    ):
        print(title)
        for row in rows:
            print_row(row)
    return 0


def print_row(row: dict[str, Any]) -> None:
    print(
        f"rtol {row['rtol']:.0e}: {1e3 * row['ours_s']:.2f} ms, error {row['error']:.1e}, {row['evaluations']} evaluations"
        f" | scipy {1e3 * row['scipy_s']:.0f} ms, error {row['scipy_error']:.1e}, {row['scipy_evaluations']} evaluations"
        f" | {row['ratio']:.0f} times as fast"
    )
