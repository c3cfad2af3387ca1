"""Derivatives of forward dynamics by all parameters of a model: exact, and by differences between whole models, in the same run.

`python -m treemech.benchmarks parameters`. Kelem's lens polisher, and chains of links whose lengths, masses and springs are
parameters, open and closed to a ring. Times are of one call of `mech.derivatives`; the error is that of the differences.
"""

import argparse
from typing import Any

import numpy as np

import treemech as tm
from treemech.analyses.small_motions import derivative_workspace
from treemech.description.parameters import directions, neighbours
from treemech.dynamics.analyses.derivatives import derivatives

from ..problems.mechanisms.kelem import lens_polisher
from ..timing import least_times


def chain(links: int, closed: bool = False) -> tuple[tm.Mechanism, tm.State]:
    """Return a hanging chain with springs between its links; closed: both ends at the ground."""
    system, last = tm.System("chain", gravity=(0, 0, -9.81)), None
    for k in range(links):
        length, mass = tm.Parameter(f"l{k}", 0.3 + 0.01 * k), tm.Parameter(f"m{k}", 1.0 + 0.1 * k)
        body = system.body(f"link{k}", **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=mass).properties)
        before = system.ground if last is None else last
        system.connect(f"A{k}", tm.Revolute("y"), before, body)
        stiffness: Any = tm.Parameter(f"k{k}", 20.0 + k)
        system.connect(f"spring{k}", tm.Spring(stiffness, 0.1, 0.5), body, system.ground.at((0.2 * k, 0, 1)))
        last = body.at((length, 0, 0))
    if closed and last is not None:
        system.connect("end", tm.Revolute("y"), last, system.ground.at((0.1 * links, 0, 0)))
    mech = system.build()
    bent = {f"A{k}": 0.3 * (-1) ** k for k in range(links)}
    rates = {f"A{k}": 0.5 for k in range(links - 2 if closed else links)}
    return mech, mech.assemble(guess=bent, rates=rates) if closed else mech.state(q=bent, u=rates)


def measure(mech: tm.Mechanism, state: tm.State, blocks: int) -> dict[str, float]:
    """Measure seconds of both ways, and their distance relative to the largest derivative."""
    names, workspace = list(mech.parameters), derivative_workspace(mech)
    exact, stencils = directions(mech, names), [n.stencil for n in neighbours(mech, names)]
    mech.derivatives(state, parameters=names)  # rows chosen, cut hinges in place

    def by(ways):  # type: ignore[no-untyped-def]
        return derivatives(mech._core, workspace, state.t, state.q, state.u, parameters=ways)

    times = least_times({"exact": lambda: by(exact), "differences": lambda: by(stencils)}, blocks)
    a, b = by(exact).ud_p, by(stencils).ud_p
    return {**times, "error": float(np.max(np.abs(a - b)) / np.max(np.abs(a)))}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="treemech.benchmarks parameters")
    parser.add_argument("--blocks", type=int, default=20, help="blocks of calls each time is the least of")
    given = parser.parse_args(argv)
    polisher = lens_polisher.system(torque=0.0).build()
    models = {
        "lens polisher": (polisher, lens_polisher.state(polisher, 2.0)),
        "chain of 10": chain(10),
        "chain of 10, closed": chain(10, closed=True),
    }
    for name, (mech, state) in models.items():
        found = measure(mech, state, given.blocks)
        print(
            f"{name}: {len(mech.parameters)} parameters, {1e3 * found['exact']:.3g} ms exact, "
            f"{1e3 * found['differences']:.3g} ms by differences, {found['differences'] / found['exact']:.1f} times; "
            f"these are off by {found['error']:.0e}"
        )
    return 0
