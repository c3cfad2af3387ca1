"""Laws of mechanics that every mechanism keeps, and of programming that every call keeps.

A law takes a Blueprint and raises Wrong if it is broken, Stopped if a run ends before its time. Refusals by
name are TreemechErrors and pass through.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

import treemech as tm
from tests.support.random_models.blueprint import end_motion
from tests.support.random_models.calls import odd_calls
from tests.support.random_models.derivatives import derivatives
from tests.support.random_models.nearby import closed_nearby
from tests.support.random_models.outcomes import Stopped, Wrong, check
from tests.support.random_models.recipe import CORNERED, FOREIGN, REMEMBERING, UNILATERAL

END = 0.4
RTOL = 1e-10
TIMES = np.linspace(0.0, END, 9)


def _run(mech, state, **options):
    run = mech.simulate((0.0, END), state, **{"rtol": RTOL, "t_eval": TIMES, **options})
    if not run.success:
        raise Stopped(run.message)
    return run


def main_run(blueprint):
    """Return the run of the blueprint with its energy audit, simulated once."""
    if not hasattr(blueprint, "_run"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                blueprint._run = _run(blueprint.mech, blueprint.state, audit=True)
            except (Stopped, tm.TreemechError) as error:
                blueprint._run = error
        blueprint._undecided = any("which the model does not decide" in str(w.message) for w in told)
    if not isinstance(blueprint._run, Exception):
        return blueprint._run
    if isinstance(blueprint._run, Stopped) and not _singular(blueprint, blueprint.mech, blueprint.state):
        raise Wrong(f"stopped without need: {blueprint._run}")
    raise blueprint._run


def _again(blueprint, mech, state, what, **options):
    """Return another run of a motion whose main run did not stop. This one may, in a position that is nearly singular."""
    try:
        return _run(mech, state, **options)
    except Stopped as stopped:
        if _singular(blueprint, mech, state, **options):
            raise
        raise Wrong(f"{what}: stopped where others go on: {stopped}") from stopped


def _singular(blueprint, mech, state, **options):
    """Return whether the free speeds hardly reach one of the rows where a run stops, as they do at its start."""
    free = blueprint.free_speeds(mech)
    run = mech.simulate((0.0, END), state, **{"rtol": RTOL, **options})
    before, after = (
        np.linalg.svd(mech.constraints(now).partials[:, free], compute_uv=False)
        for now in (state, run.state(-1))
    )
    rank = int(np.sum(before > 1e-9 * before.max(initial=0.0)))
    return rank > 0 and after[rank - 1] < 1e-2 * max(before[0], after[0])


def _cornered(blueprint):
    return bool(blueprint.kinds & {*CORNERED, *REMEMBERING, *UNILATERAL})


# ---------------------------------------------------------------- energy, momentum
def energy(blueprint):
    """What bodies and elements hold changes by what drives and elements bring in, element by element."""
    run = main_run(blueprint)
    if "Moving" in blueprint.recipe.branches:
        return  # its work is not reported
    bound = 1e-5 if _cornered(blueprint) else 1e-7
    size, composites = 1.0, 0.0
    for name, audit in run.audit.items():
        if name in blueprint.drives or name in blueprint.constraints:
            continue  # what drives and moving constraints bring in
        stored = run.element(name).energy - run.element(name).energy[0]
        terms = np.array([audit.work[-1], stored[-1], audit.dissipated[-1], -audit.supplied[-1]])
        most = max(1.0, float(np.abs(terms).max()), float(np.abs(stored).max()))
        size = max(size, most)
        if "omposite" in name:  # the parts of a composite balance together
            composites += terms.sum()
        else:
            check(f"balance of {name}", abs(terms.sum()), bound * most)
    check("balance of composites", abs(composites), bound * size)
    if any(holds for _, _, holds in run.switched):
        return  # a contact that closes takes energy
    held = run.energy.kinetic + run.energy.potential
    works = [audit.work[-1] for audit in run.audit.values()]  # of drives too
    size = max(
        size, float(np.abs(run.energy.kinetic).max()), float(np.ptp(run.energy.potential)), *np.abs(works)
    )
    check("balance of all energy", abs(held[-1] - held[0] - sum(works)), bound * size)
    check("constraints", float(run.residual.position.max(initial=0.0)), 1e-9)


def momentum(blueprint):
    """A system that floats without gravity keeps its momentum and angular momentum."""
    if not blueprint.recipe.floating:
        return
    run, mech = main_run(blueprint), blueprint.mech
    first, last = (mech.momentum(run.state(k)) for k in (0, -1))
    bound = (1e-6 if _cornered(blueprint) else 1e-8) * (1.0 + np.abs(run.u).max()) * 10.0
    check("momentum", float(np.abs(first.linear - last.linear).max()), bound)
    check("angular momentum", float(np.abs(first.angular - last.angular).max()), bound)


# ---------------------------------------------------------------- every body alone
def newton_euler(blueprint):
    """Newton and Euler for each body alone (8.5): connections, elements and gravity are all that acts on it."""
    if blueprint.couplings:
        return  # their loads are not reported
    run, mech = main_run(blueprint), blueprint.mech
    for k in (0, -1):
        _newton_euler(blueprint, run, mech, k)


def _newton_euler(blueprint, run, mech, k):
    reactions = {c.name: run.connection(c.name) for c in (*mech._info.hinges, *mech._info.chords)}
    twists = _twists(blueprint, run, k)
    left, scale = {}, 1.0
    for name, (mass, J, com) in blueprint.masses.items():
        motion = run.body(name)
        R, w = motion.rotation[k], motion.angular_velocity[k]
        J = R @ J @ R.T
        force = mass * (motion.point(com).acceleration[k] - np.array(mech._info.gravity))
        moment = J @ motion.angular_acceleration[k] + np.cross(w, J @ w)
        left[name] = [motion.com[k], force, moment]
        scale = max(scale, float(np.abs(force).max()), float(np.abs(moment).max()))

    def act(body, point, force, moment):
        nonlocal scale
        if body in left:
            centre, F, M = left[body]
            left[body] = [centre, F - force, M - moment - np.cross(point - centre, force)]
            scale = max(scale, float(np.abs(force).max()), float(np.abs(moment).max()))

    closed = {name.removeprefix("closure of ") for name in reactions if name.startswith("closure of ")}
    for name, load in reactions.items():
        ends = _ends(blueprint, mech, name.removeprefix("closure of "))
        point = end_motion(ends[1], twists)[0]
        if name not in closed:  # else end b is a frame without mass
            act(ends[1].body, point, load.force[k], load.moment[k])
        if not name.startswith("closure of "):  # else end a is
            act(ends[0].body, point, -load.force[k], -load.moment[k])
    for name, part in blueprint.elements.items():
        if "omposite" in name:
            pieces = [(f"{name}.damper", {0: part.ends[0]}), (f"{name}.spring", {1: part.ends[1]})]
        elif not isinstance(part.ends[0], str):
            pieces = [(name, dict(enumerate(part.ends)))]
        elif "Friction" in name:  # between the ends of a hinge
            pieces = [(name, dict(enumerate(blueprint.joints[part.ends[0]].ends)))]
        else:
            continue  # on the coordinate of a hinge: part of its load
        for piece, ends in pieces:
            seen = run.element(piece)
            n = seen.force.ndim == 2  # a load has one end
            for j, end in ends.items():
                place, force, moment = (
                    x[k] if n else x[k, j] for x in (seen.position, seen.force, seen.moment)
                )
                act(end.body, place, force, moment)
    for name, (_, force, moment) in left.items():
        check(f"Newton for {name}", float(np.abs(force).max()), 1e-8 * scale)
        check(f"Euler for {name}", float(np.abs(moment).max()), 1e-8 * scale)


def _ends(blueprint, mech, name):
    if name in blueprint.joints:
        return blueprint.joints[name].ends
    if name in blueprint.constraints:
        return blueprint.constraints[name].ends
    c = next(c for c in mech._lagrange.hinges if c.name == name)
    from tests.support.random_models.blueprint import _free

    return _free(c, blueprint.placed).ends


def _twists(blueprint, run, k):
    twists = {}
    for name in blueprint.masses:
        motion = run.body(name)
        twists[name] = tuple(
            x[k] for x in (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
        )
    return twists


# ---------------------------------------------------------------- the same mechanism, described in another way
def other_cut(blueprint):
    """Nothing depends on which hinges are cut."""
    cut = {c.name for c in blueprint.mech.tree.chords}
    others = [
        name
        for loop in blueprint.loops
        for name in loop
        if name not in cut and name not in blueprint.used and any(n in cut for n in loop)
    ]
    for k in blueprint.recipe.stream("cut").permutation(len(others)):
        try:
            mech = blueprint.system(chords={others[k]}).build()
        except tm.TopologyError:  # an element wants another hinge of this loop cut
            continue
        return _compare(blueprint, mech, f"{others[k]} cut")


def other_order(blueprint):
    """Nothing depends on the order of declaration."""
    _compare(blueprint, blueprint.system(order=blueprint.recipe.seed).build(), "another order")


def other_direction(blueprint):
    """Nothing depends on which end is named first."""
    _compare(blueprint, blueprint.system(flip=True).build(), "ends exchanged", flip=True)


def _compare(blueprint, mech, what, flip=False):
    run = main_run(blueprint)
    if blueprint._undecided:
        return  # it is said that the motion depends on the description
    state = blueprint.state_of(mech, _twists(blueprint, run, 0), flip)
    again = _again(blueprint, mech, state, what, audit=True)
    _same_start(blueprint, run, again, what)
    _same_motion(blueprint, run, again, what)


def _same_start(blueprint, run, again, what):
    """Accelerations and loads at the start are the same: no integration is between them."""
    scale = 1.0
    for name in blueprint.masses:
        a = run.body(name)
        scale = max(scale, np.abs(a.acceleration[0]).max(), np.abs(a.angular_acceleration[0]).max())
    for name in blueprint.masses:
        a, b = run.body(name), again.body(name)
        check(
            f"{what}: acceleration of {name}",
            np.abs(a.acceleration[0] - b.acceleration[0]).max(),
            1e-7 * scale,
        )
        gap = np.abs(a.angular_acceleration[0] - b.angular_acceleration[0]).max()
        check(f"{what}: angular acceleration of {name}", gap, 1e-7 * scale)
    for name in blueprint.joints:
        a, b = run.connection(name), again.connection(name)
        if a.unique and b.unique:
            load = np.abs(a.force[0]).max() + np.abs(a.moment[0]).max() + scale
            flipped = blueprint.joint(name, True).ends != blueprint.joints[name].ends
            if not (flipped and "exchanged" in what):
                gap = np.abs(a.force[0] - b.force[0]).max() + np.abs(a.moment[0] - b.moment[0]).max()
                check(f"{what}: load of {name}", gap, 1e-7 * load)


def _same_motion(blueprint, run, again, what, bound=1e-7):
    gap = _distance(blueprint, run, again)
    if gap > bound and gap > (allowed := bound * _growth(blueprint)):
        raise Wrong(f"{what}: bodies are {gap:.3g} apart after {END} s, allowed {allowed:.3g}")


def _distance(blueprint, run, again):
    gap = 0.0
    for name in blueprint.masses:
        a, b = run.body(name), again.body(name)
        gap = max(gap, np.abs(a.position - b.position).max(), np.abs(a.rotation - b.rotation).max())
        fast = 1.0 + np.abs(a.velocity).max() + np.abs(a.angular_velocity).max()
        gap = max(gap, np.abs(a.velocity - b.velocity).max() / fast)
        gap = max(gap, np.abs(a.angular_velocity - b.angular_velocity).max() / fast)
    return float(gap)


def _growth(blueprint):
    """Return how much a small disturbance of the start grows: no method can do better with rounding and rtol."""
    run, mech = main_run(blueprint), blueprint.mech
    growth, size = 1.0, 1e-7
    for k in range(3):
        moved = closed_nearby(blueprint, mech, blueprint.state, size, k)
        growth = max(growth, _distance(blueprint, run, _run(mech, moved)) / size)
    return growth


# ---------------------------------------------------------------- other methods
WRAPPED = ("WrapCylinder", "WrapSphere", "WrappedMuscle")
METHODS = {  # rtol, and how far the motion may be off
    "Radau": (1e-10, 1e-6), "Adams": (1e-10, 1e-6), "DP5": (1e-10, 1e-6), "alpha3": (1e-7, 5 * 1e-7 ** (2 / 3)),
    "scipy:DOP853": (1e-10, 1e-6), "alpha2": (1e-7, 5 * 1e-7 ** (2 / 3)), "auto": (1e-10, 1e-6),
}  # fmt: skip


def other_method(blueprint):
    """Another integrator finds the same motion."""
    rng = blueprint.recipe.stream("method")
    remembers = blueprint.kinds & {*REMEMBERING, *UNILATERAL, *WRAPPED}
    methods = [method for method in METHODS if not (remembers and "scipy" in method)]  # it tells of no steps
    method = methods[int(rng.integers(len(methods)))]
    rtol, bound = METHODS[method]
    run = main_run(blueprint)
    again = _again(blueprint, blueprint.mech, blueprint.state, method, method=method, rtol=rtol)
    bound *= 10.0 if _cornered(blueprint) else 1.0
    _same_motion(blueprint, run, again, method, bound)


def other_tolerance(blueprint):
    """A tighter tolerance changes the motion by no more than the looser one allows."""
    run = main_run(blueprint)
    again = _again(blueprint, blueprint.mech, blueprint.state, "rtol 1e-12", rtol=1e-12, atol=1e-14)
    _same_motion(blueprint, run, again, "rtol 1e-12", 1e-6 if _cornered(blueprint) else 1e-7)


# ---------------------------------------------------------------- analyses at one state
def inverse_of_forward(blueprint):
    """Loads that inverse dynamics finds are those that forward dynamics was given."""
    mech, state = blueprint.mech, blueprint.state
    free = blueprint.free_speeds(mech)
    if not free.any() or blueprint.kinds & set(UNILATERAL):  # contacts hold there under given accelerations
        return
    actuated = None
    if mech.tree.chords or blueprint.couplings:
        actuated = [name for name in mech.mobility(state).suitable if free[mech.speeds.index(name)]]
        free = np.array([name in actuated for name in mech.speeds])
        actuated += list(blueprint.drives)
        if not free.any():
            return
    tau = free * blueprint.recipe.stream("loads").normal(size=mech.nu)
    ud = mech.forward_dynamics(state, tau).ud
    found = mech.inverse_dynamics(state, ud, **({"actuated": actuated} if actuated else {}))
    scale = 1.0 + np.abs(mech.load_column(state)).max() + np.abs(mech.mass_matrix(state) @ ud).max()
    check("inverse of forward dynamics", float(np.abs((found - tau)[free]).max(initial=0.0)), 1e-8 * scale)


# ---------------------------------------------------------------- calls
def twice(blueprint):
    """The same calls give the same digits, also after another run and when results are read late."""
    main_run(blueprint)
    mech, state = blueprint.mech, blueprint.state
    runs = [_run(mech, state) for _ in range(2)]
    moved = closed_nearby(blueprint, mech, state, 1e-2)
    try:
        _run(mech, moved)
    except (Stopped, tm.TreemechError):
        pass
    for what in ("t", "q", "u", "ud", "multipliers"):
        a, b = (getattr(run, what) for run in runs)
        check(f"same call, {what}", float(np.abs(a - b).max(initial=0.0)), 0.0)
    again = _run(mech, state)
    check("same call after another", float(np.abs(again.u - runs[0].u).max(initial=0.0)), 0.0)
    check("late results", float(np.abs(again.ud - runs[0].ud).max(initial=0.0)), 0.0)


def calls(blueprint):
    """An answer depends on its state alone: not on calls before it, nor on the way or the rows it is computed in."""
    run = main_run(blueprint)
    states = [run.state(k) for k in (0, len(run.t) // 2, len(run.t) - 1)]
    fused = bool(blueprint.kinds & {"EhdTraction", "EhdReaction", *WRAPPED})
    odd = odd_calls(blueprint.mech, states, blueprint.recipe.stream("calls"), fused)
    if odd:
        raise Wrong(", ".join(odd))


def files(blueprint):
    """A model that is saved and read is the same, to the bit."""
    if blueprint.kinds & {"Controller", "VelocityRelation", "PointOnImplicitSurface", *FOREIGN}:
        return  # functions, and classes that are in no package, are refused
    main_run(blueprint)
    with tempfile.TemporaryDirectory() as folder:
        path = blueprint.system().save(Path(folder) / "model.json")
        mech = tm.read(path).build()
    run, again = (_run(m, blueprint.state) for m in (blueprint.mech, mech))
    check("read from a file", float(np.abs(run.u - again.u).max(initial=0.0)), 0.0)


LAWS = {
    law.__name__: law
    for law in (
        energy, momentum, newton_euler, other_cut, other_order, other_direction, other_method, other_tolerance,
        inverse_of_forward, derivatives, twice, calls, files,
    )
}  # fmt: skip
