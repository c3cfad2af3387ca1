"""Results are computed when they are read, and do not depend on when that is."""

import contextlib
from functools import partial

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import (
    chains,
    elements,
    four_bar,
    four_bar_system,
    loops,
    platform,
    rubbing,
    tree,
)


def driven():
    """Return a four-bar linkage of redundant hinges whose crank is prescribed, with friction."""
    system = four_bar_system()
    system.prescribe("A", tm.Harmonic(0.5, 3.0))
    system.connect("rub", tm.Friction(0.1, radius=0.05, threshold=0.05), "C")
    mech = system.build()
    return mech, mech.assemble()


MODELS = {f.__name__: f for f in (tree, four_bar, loops, elements, platform, driven)}
MODELS |= {f"rubbing {seed}": partial(rubbing, seed) for seed in (0, 32, 48, 60)}
MODELS |= {f"chains {seed}": partial(chains, seed) for seed in (15, 51, 95, 107)}


def numbers(run):
    """Return everything that a run computes, as bytes."""
    found = [*run._results(), run._swept if run._swept is not None else run._trace(slice(0, 1))[:, :, :18]]
    found += [run.energy.total, run.residual.position, run.state().q]
    found += [part for cut in run.state().cut.values() for part in cut]
    for event in run.events:
        found += [x for state in event.states for cut in state.cut.values() for x in cut]
    return [np.ascontiguousarray(x).tobytes() for x in found]


def other_work(mech, start):
    """Use the mechanism for other things, some of which fail."""
    later = mech.simulate((start.t, start.t + 0.7), start, rtol=1e-3, method="Radau")
    later.energy, mech.reactions(later.state()), mech.derivatives(later.state()), mech.mobility(later.state())
    with contextlib.suppress(tm.TreemechError):
        if mech.nu < 4:  # a search takes seconds in a wild tree
            mech.equilibrium(later.state())
    with contextlib.suppress(tm.TreemechError):
        mech.forward_dynamics((0.0, np.full(mech.nq, 1e3), np.full(mech.nu, 1e9)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["DOP853", "alpha3"])
def test_results_read_late_are_those_read_at_once(name, method):
    mech, start = MODELS[name]()
    hinge = mech._info.hinges[0]

    def run():
        place = "" if hinge.nq == 1 else "[0]"
        watched = f"{hinge.name}.q{place} > {start.q[hinge.q] + 1e-3:.9f}"
        return mech.simulate(
            (start.t, start.t + 0.4), start, method, rtol=1e-5, events=watched if method == "DOP853" else None
        )

    at_once = numbers(run())
    late = run()
    other_work(mech, start)
    assert numbers(late) == at_once
    third = run()
    assert numbers(third) == at_once


def test_results_of_a_prescribed_motion_read_late_are_those_read_at_once():
    mech, start = driven()
    times = np.linspace(0, 1, 9)
    at_once = numbers(mech.kinematics(times, start))
    late = mech.kinematics(times, start)
    other_work(mech, start)
    assert numbers(late) == at_once


@pytest.mark.parametrize("name", MODELS)
def test_an_analysis_gives_the_same_twice_whatever_came_between(name):
    mech, start = MODELS[name]()
    state = mech.simulate((start.t, start.t + 0.2), start).state()
    asked = (state.t, state.q, state.u)

    def analyses():
        forward, loads, slopes = mech.forward_dynamics(state), mech.reactions(state), mech.derivatives(state)
        found = [*forward, *mech.forward_dynamics(asked), mech.load_column(state), slopes.ud_q, slopes.ud_u]
        found += [part for load in loads.values() for part in load]
        return [np.ascontiguousarray(x).tobytes() for x in found]

    first = analyses()
    other_work(mech, start)
    assert analyses() == first
