"""The law of derivatives: those of the library equal complex steps, along a random direction that keeps chains closed."""

import numpy as np

from .complex_steps.client import NotPossible, client
from .nearby import closed_nearby, displacement
from .outcomes import check

# Both sides are exact to rounding, which the solution of the equations of motion enlarges: 1e-11 is the largest gap of
# 2,000 mechanisms, 1e-14 that of nine in ten. Differences reach 1e-6 at corners nearby.
EXACT, DIFFERENCED = 1e-9, 1e-6
_STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # first derivative, order 6


def derivatives(blueprint):
    """Exact derivatives of accelerations, multipliers and rates of states equal complex steps.

    Everything varies at once: coordinates, speeds, states of elements, loads and, if there is one, a parameter. Where no complex step
    can be taken, which is noted, those of the accelerations equal differences.
    """
    mech, state = blueprint.mech, blueprint.state
    if not blueprint.free_speeds(mech).any():
        return
    names = ("mass",) if blueprint.recipe.parameters else ()
    found = mech.derivatives(state, parameters=names)
    try:
        along = along_complex_step(blueprint, state)
    except NotPossible as error:
        blueprint.notes.append(("derivatives", f"by differences: {error}"))
        return check(
            "derivatives of accelerations by differences", gap_to_differences(blueprint, found), DIFFERENCED
        )
    steps = {
        "q": along.displacement,
        "u": along.speeds,
        "x": along.x,
        "load": along.loads,
        "p": np.full(len(names), along.parameter),
    }
    for what, name in (
        ("accelerations", "ud"),
        ("multipliers", "multipliers"),
        ("rates of states", "x_rates"),
    ):
        terms = [getattr(found, f"{name}_{k}") * step for k, step in steps.items()]
        wanted = getattr(along, name)
        scale = 1.0 + sum(np.abs(term).max(initial=0.0) for term in terms) + np.abs(wanted).max(initial=0.0)
        gap = np.abs(sum(term.sum(axis=1) for term in terms) - wanted).max(initial=0.0)
        check(f"derivatives of {what}", float(gap / scale), EXACT)
    size = 1.0 + np.abs(along.ud_here).max(initial=0.0)
    check(
        "accelerations in plain Python",
        float(np.abs(along.ud_here - found.ud).max(initial=0.0) / size),
        EXACT,
    )


def along_complex_step(blueprint, state):
    """Return the derivatives at a state along a random direction, see `complex_steps.steps.Along`."""
    numbers = {name: getattr(state, name) for name in ("t", "q", "u", "x", "memory", "active")}
    cut = {name: tuple(motion) for name, motion in state.cut.items()}
    return client().ask(blueprint.recipe, {**numbers, "cut": cut}, blueprint.recipe.seed)


def gap_to_differences(blueprint, found):
    """Return how far derivatives of accelerations are from differences of order 6 along a random closed displacement."""
    mech, state = blueprint.mech, blueprint.state
    rng, free = blueprint.recipe.stream("direction"), blueprint.free_speeds(mech)
    v, w = (free * rng.normal(size=mech.nu) for _ in range(2))
    if mech.tree.chords:  # along the constraints
        P = mech.constraints(state).partials[:, free]
        v[free] -= np.linalg.lstsq(P, P @ v[free], rcond=1e-9)[0]
    gaps = []
    for h in (2e-3, 5e-4, 1e-4, 2e-5, 4e-6, 1e-6):  # the best: elements may have corners nearby
        ud, u, q = 0.0, 0.0, 0.0
        for k, weight in _STENCIL.items():
            for sign in (1, -1):
                near = closed_nearby(blueprint, mech, state, sign * k * h, direction=(v, w))
                ud = ud + sign * weight / h * mech.forward_dynamics(near).ud
                u = u + sign * weight / h * near.u
                q = q + sign * weight / h * displacement(mech, state.q, near.q)
        exact = found.ud_q @ q + found.ud_u @ u
        scale = 1.0 + np.abs(exact).max() + np.abs(found.ud_q).max() + np.abs(found.ud_u).max()
        gaps.append(np.abs(exact - ud)[free].max(initial=0.0) / scale)
    return float(min(gaps))
