"""Stiff closed chains: implicit methods with exact Jacobians and with differences of the right-hand side, in the same run.

`python -m treemech.benchmarks stiff-chains`. A four-bar with a stiff damper, and A02 (four-bar windows in a row) in a viscous bath,
which falls slowly from near the upright position. Errors are those of the end against Radau at rtol 1e-11.
"""

import argparse
from typing import Any
from unittest.mock import patch

import numpy as np

import treemech as tm
from treemech.dynamics.model.core import Core
from treemech.topology import Body

from ..problems.mechanisms.a02_double_four_bar import four_bars
from ..timing import cpu_seconds

METHODS = ("Radau", "alpha3", "alpha2")


def linkage(system: tm.System) -> tuple[Body, Body, Body]:
    """Return (crank, coupler, rocker) of a plane four-bar with the hinges A, B, C, D."""
    crank, coupler, rocker = (
        system.body(name, 1.0, (0, length**2 / 12, length**2 / 12), com=(length / 2, 0, 0))
        for name, length in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.5))
    )
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), rocker)
    return crank, coupler, rocker


def four_bar() -> tuple[tm.Mechanism, tm.State, float]:
    """Return (mechanism, start, end): fastest mode -5e4 1/s."""
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    crank, _, _ = linkage(system)
    system.connect("damper", tm.Spring(2e4, 2e5, 2.5), system.ground.at((-2, 0, 0)), crank.at((1, 0, 0)))
    mech = system.build()
    return mech, mech.assemble(fix={"A": 0.8}), 20.0


def windows(count: int = 10, damping: float = 600.0) -> tuple[tm.Mechanism, tm.State, float]:
    """Return (mechanism, start, end): two dampers to every bar, nearly at right angles.

    The fastest mode is about -`damping` 1/s.
    """
    system = four_bars(count)
    for k, bar in enumerate(body for body in system.bodies if body.name.startswith("bar")):
        tip = bar.at((0, 1, 0))
        system.connect(f"down {k}", tm.Spring(0.0, damping, 1.0), system.ground.at((k, 8.0, 0)), tip)
        system.connect(f"along {k}", tm.Spring(0.0, damping, 1.0), system.ground.at((k - 8.0, 0, 0)), tip)
    mech = system.build()
    return mech, mech.assemble(fix={"A0": -0.3}), 60.0


def distance(run: tm.Run, fine: tm.Run) -> float:
    return float(np.max(np.abs(np.hstack((run.q[-1] - fine.q[-1], run.u[-1] - fine.u[-1])))))


def measure(
    model: tuple[tm.Mechanism, tm.State, float], method: str, rtol: float, repeats: int = 10
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure exact Jacobians and differences: CPU seconds (least of many, by turns), evaluations, error."""
    mech, start, end = model
    fine = mech.simulate((0, end), start, "Radau", rtol=1e-11, atol=1e-11)
    found: tuple[dict[str, Any], dict[str, Any]] = ({"seconds": np.inf}, {"seconds": np.inf})
    runs: list[tm.Run] = []

    def simulate() -> None:
        runs.append(mech.simulate((0, end), start, method, rtol=rtol, atol=rtol))

    for k in range(2 * (repeats + 1)):
        row = found[k % 2]
        if k % 2:
            with patch.object(Core, "has_jacobian", False):
                seconds = cpu_seconds(simulate)
        else:
            seconds = cpu_seconds(simulate)
        run = runs.pop()
        if not run.success:
            raise AssertionError(run.message)
        row.update(run.statistics, error=distance(run, fine))
        row["seconds"] = min(row["seconds"], seconds) if k >= 2 else np.inf
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="treemech.benchmarks stiff-chains", description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args(argv)
    for name, model in (("four-bar", four_bar()), ("10 windows", windows())):
        for method in METHODS:
            for rtol in (1e-4, 1e-6):
                for kind, row in zip(
                    ("exact", "differences"), measure(model, method, rtol, given.repeats), strict=True
                ):
                    print(
                        f"{name}, {method}, rtol {rtol:.0e}, {kind}: {1e3 * row['seconds']:.2f} ms, {row['steps']} steps,"
                        f" {row['evaluations']} evaluations, {row['jacobians']} Jacobians, error {row['error']:.1e}",
                        flush=True,
                    )
    return 0
