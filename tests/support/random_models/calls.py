"""The law of calls: an answer depends on its state alone, not on calls before it, nor on the way or the rows it is computed in."""

import numpy as np

import treemech as tm
from tests.support.general_way import general_way


def numbers(found):
    """Return all numbers of a result as one list of arrays."""
    if isinstance(found, str):
        return found
    if isinstance(found, np.ndarray | float):
        return [np.array(found, dtype=float, order="C")]
    if hasattr(found, "numbers"):
        return numbers(found.numbers)
    if hasattr(found, "local_force"):
        return [
            x
            for part in ("force", "moment", "local_force", "local_moment")
            for x in numbers(getattr(found, part))
        ]
    if hasattr(found, "keys"):
        return [x for key in found for x in numbers(found[key])]
    if isinstance(found, tuple | list):
        return [x for part in found for x in numbers(part)]
    if hasattr(found, "__dataclass_fields__"):
        return [x for name in found.__dataclass_fields__ for x in numbers(getattr(found, name))]
    return []


def asked(call, state):
    """Return the numbers of an answer, or "refused"."""
    try:
        return numbers(call(state))
    except tm.TreemechError:
        return "refused"


def same(a, b):
    """Tell whether two answers have the same bits, or are both refused."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str)
    return len(a) == len(b) and all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def near(a, b):
    """Tell whether two answers agree to rounding: on lanes, accelerations of a few closed chains differ in the last digit."""
    return all(
        np.max(np.abs(x - y), initial=0.0) <= 1e-10 * (1.0 + np.max(np.abs(y), initial=0.0))
        and not np.any(np.signbit(x) & (x == 0.0) & ~np.signbit(y))
        for x, y in zip(a, b, strict=True)
    )


def analyses(mech, rng):
    """Return name -> call, for one state or for many."""
    end, loads, ud = mech.tree.bodies[-1].at((0.1, 0.2, 0.3)), *rng.normal(size=(2, mech.nu))
    return {
        "forward_dynamics": mech.forward_dynamics, "mass_matrix": mech.mass_matrix, "load_column": mech.load_column,
        "constraints": mech.constraints, "energy": mech.energy, "momentum": mech.momentum, "reactions": mech.reactions,
        "attitude": mech.attitude, "under loads": lambda s: mech.forward_dynamics(s, loads),
        "inverse_dynamics": lambda s: mech.inverse_dynamics(s, ud), "pose": lambda s: mech.pose(end, s),
        "velocity": lambda s: mech.velocity(end, s), "jacobian": lambda s: mech.jacobian(end, s),
    }  # fmt: skip


def many(states):
    """Return states as one with a leading axis."""
    first = states[0]
    cut = {name: tuple(np.array([s.cut[name][k] for s in states]) for k in (0, 1)) for name in first.cut}
    t, q, u, x, memory = (
        np.array([getattr(s, name) for s in states]) for name in ("t", "q", "u", "x", "memory")
    )
    return tm.State(t, q, u, x, memory, coordinates=first.coordinates, cut=cut)


def odd_calls(mech, states, rng, rounded=False):
    """Return the names of calls whose answer depends on more than the state.

    With `rounded` those of many states may differ in the last digit: on lanes products in films and cords are fused otherwise.
    """
    found, made = [], analyses(mech, np.random.default_rng(1))
    wanted = {name: [asked(call, s) for s in states] for name, call in made.items()}
    names = list(made)
    for name in rng.permutation(names):
        for k in rng.permutation(len(states)):
            other = states[int(rng.integers(len(states)))]
            asked(made[rng.choice(names)], other)
            asked(
                made[rng.choice(names)], (other.t, other.q + 0.1 * rng.normal(size=mech.nq), other.u)
            )  # open
            if not same(asked(made[name], states[k]), wanted[name][k]):
                found.append(f"{name} after other calls")
    rows = many(states)
    for name, call in made.items():
        with general_way(mech):
            if not all(same(asked(call, s), one) for s, one in zip(states, wanted[name], strict=True)):
                found.append(f"{name} without the extension")
        answer = asked(call, rows)
        refused = [isinstance(one, str) for one in wanted[name]]
        if isinstance(answer, str) or any(refused):
            if isinstance(answer, str) != any(refused):
                found.append(f"{name} of many states is refused, or is not")
            continue
        closed = mech.tree.chords and name in ("forward_dynamics", "under loads")
        for k, one in enumerate(wanted[name]):
            row = [np.array(x[k], order="C") for x in answer]
            if not (same(row, one) or ((closed or rounded) and near(row, one))):
                found.append(f"{name} of many states")
    return sorted(set(found))
