"""Calls from Python for one state, as a user writes them, beside those of Pinocchio and MuJoCo in the same run.

Ours: the least CPU time of a call, and how much of it is above the compiled time, which is that of a state among many in one
call. The peers get their own coordinates as arrays and answer in their own way: every row says which call it is. MuJoCo's
calls include setting q and u. Rows without a peer's time have no such call there. Of closed chains (A02) Pinocchio's
constraintDynamics and lcaba are both timed.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.calls.driven import driven
from treemech.dynamics.native import entry_points as native
from treemech.dynamics.native.caller import caller

from ..families.trees import FAMILIES, random_states
from ..peers.loops import pinocchio_loops
from ..peers.models import MujocoModel, NoSuchJoint, PinModel
from ..problems.mechanisms.a02_double_four_bar import four_bars
from ..problems.mechanisms.a02_double_four_bar import state as four_bar_state
from ..timing import Work, least_times, machine, say, table

TREES = ("chain 7", "chain 30", "humanoid")
WINDOWS = (2, 10, 40)
MANY = 64  # states in one call
AGREE = 1e-9


def ours(mech: tm.Mechanism, state: tm.State, actuated: list[str] | None) -> dict[str, Work]:
    """Return our analyses of a state by name, or of many states, as a user writes the calls.

    `actuated` speeds make the motion of closed chains: accelerations that they allow are those of forward dynamics.
    """
    end = mech.tree.bodies[-1]
    found: dict[str, Work] = {
        "forward_dynamics": lambda: mech.forward_dynamics(state),
        "mass_matrix": lambda: mech.mass_matrix(state),
        "load_column": lambda: mech.load_column(state),
        "pose": lambda: mech.pose(end, state),
        "velocity": lambda: mech.velocity(end, state),
        "jacobian": lambda: mech.jacobian(end, state),
        "energy": lambda: mech.energy(state),
        "momentum": lambda: mech.momentum(state),
        "reactions": lambda: mech.reactions(state),
        "constraints": lambda: mech.constraints(state),
    }
    ud = np.zeros(mech.nu) if actuated is None else mech.forward_dynamics(state).ud
    found["inverse_dynamics"] = lambda: mech.inverse_dynamics(state, ud, actuated)
    return found


def pinocchio_calls(peer: PinModel, q: Any, u: Any) -> dict[str, tuple[str, Work]]:
    """Return Pinocchio's calls for the same results: analysis -> (name, work)."""
    pin, m, d = peer.pin, peer.model, peer.data
    zero, last = np.zeros(peer.nu), m.njoints - 1
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def pose() -> Any:
        pin.forwardKinematics(m, d, q)
        return d.oMi[last].translation, d.oMi[last].rotation

    def velocity() -> Any:
        pin.forwardKinematics(m, d, q, u)
        return pin.getVelocity(m, d, last, frame)

    def jacobian() -> Any:
        pin.computeJointJacobians(m, d, q)
        return pin.getJointJacobian(m, d, last, frame)

    return {
        "forward_dynamics": ("aba", lambda: pin.aba(m, d, q, u, zero)),
        "inverse_dynamics": ("rnea", lambda: pin.rnea(m, d, q, u, zero)),
        "mass_matrix": ("crba", lambda: pin.crba(m, d, q)),
        "load_column": ("nonLinearEffects", lambda: pin.nonLinearEffects(m, d, q, u)),
        "pose": ("forwardKinematics, oMi", pose),
        "velocity": ("forwardKinematics, getVelocity", velocity),
        "jacobian": ("computeJointJacobians, getJointJacobian", jacobian),
        "energy": (
            "computeKineticEnergy, computePotentialEnergy",
            lambda: (pin.computeKineticEnergy(m, d, q, u), pin.computePotentialEnergy(m, d, q)),
        ),
        "momentum": ("computeCentroidalMomentum", lambda: pin.computeCentroidalMomentum(m, d, q, u)),
    }


def mujoco_calls(peer: MujocoModel, q: Any, u: Any) -> dict[str, tuple[str, Work]]:
    """Return MuJoCo's calls for the same results: analysis -> (name, work)."""
    mj, m, d = peer.mujoco, peer.model, peer.data
    last, J, A = m.nbody - 1, np.zeros((6, m.nv)), np.zeros((m.nv, m.nv))

    def at(*steps: Callable[[Any, Any], Any]) -> Work:
        def work() -> None:
            d.qpos[:] = q
            d.qvel[:] = u
            for step in steps:
                step(m, d)

        return work

    return {
        "forward_dynamics": ("mj_forward", at(mj.mj_forward)),
        "inverse_dynamics": ("mj_inverse", at(mj.mj_inverse)),
        "mass_matrix": (
            "mj_kinematics, mj_comPos, mj_makeM, mj_fullM",
            at(mj.mj_kinematics, mj.mj_comPos, mj.mj_makeM, lambda m, d: full_matrix(mj, m, d, A)),
        ),
        "pose": ("mj_kinematics", at(mj.mj_kinematics)),
        "jacobian": (
            "mj_kinematics, mj_comPos, mj_jacBody",
            at(mj.mj_kinematics, mj.mj_comPos, lambda m, d: mj.mj_jacBody(m, d, J[:3], J[3:], last)),
        ),
    }


def full_matrix(mj: Any, m: Any, d: Any, A: Any) -> None:
    """Write MuJoCo's mass matrix in full; its arguments have changed over the versions."""
    try:
        mj.mj_fullM(m, d, A)
    except TypeError:
        mj.mj_fullM(m, A, d.qM)


def loop_calls(windows: int) -> dict[str, Work]:
    """Return Pinocchio's two ways to the accelerations of A02."""
    found: dict[str, Work] = {}
    for name in ("constraintDynamics", "lcaba"):
        peer = pinocchio_loops(windows, 20.0)
        pin, (q, u), tau = peer.pin, peer.start(), np.zeros(peer.model.nv)
        if not hasattr(pin, name):
            continue
        if name == "lcaba":
            pin.computeJointMinimalOrdering(peer.model, peer.data, peer.rows)
        found[name] = _of_loops(getattr(pin, name), peer, q, u, tau)
        try:
            found[name]()
        except Exception as error:  # a version that does it in another way
            say(f"{name}: {error}".splitlines()[0])
            del found[name]
    return found


def _of_loops(function: Any, peer: Any, q: Any, u: Any, tau: Any) -> Work:
    return lambda: function(peer.model, peer.data, q, u, tau, peer.rows, peer.row_data, peer.proximal)


def measure_model(name: str, blocks: int) -> list[dict[str, Any]]:
    """Measure one row per analysis of a model: microseconds of everybody."""
    windows = int(name.split()[-1]) if name.startswith("A02") else 0
    mech = four_bars(windows).build() if windows else FAMILIES[name]().build()
    if windows:
        start = four_bar_state(mech)
        state = mech.state(q=start.q, u=start.u)
    else:
        qs, us, _ = random_states(mech, 1)
        state = mech.state(q=qs[0], u=us[0])
    many = tm.State(
        0.0, np.tile(state.q, (MANY, 1)), np.tile(state.u, (MANY, 1)), coordinates=state.coordinates
    )
    actuated = list(mech.mobility(state).suitable) if mech.tree.chords else None
    of_many = ours(mech, many, actuated)
    works: dict[str, dict[str, Work]] = {
        a: {"ours": one, "many": _rows(mech, a, of_many[a], many, actuated)}
        for a, one in ours(mech, state, actuated).items()
    }
    names: dict[str, dict[str, str]] = {a: {} for a in works}
    for label, calls in peers(mech, state, windows).items():
        for a, variants in calls.items():
            for call, work in variants.items():
                works[a][f"{label}: {call}"] = work
                names[a][label] = call
    works["state"] = {"ours": lambda: mech.state(q=state.q, u=state.u)}
    rows = []
    for a, own in works.items():
        times = {key: 1e6 * s for key, s in least_times(own, blocks).items()}
        row: dict[str, Any] = {"model": name, "analysis": a, "ours_us": times["ours"]}
        row["above_us"] = times["ours"] - times["many"] / MANY if "many" in times else None
        for label in ("pinocchio", "mujoco"):
            found = {key.split(": ")[1]: x for key, x in times.items() if key.startswith(label)}
            best = min(found, key=lambda k: found[k], default=None)
            row[f"{label}_us"] = None if best is None else found[best]
            row[f"{label}_call"] = best
        rows.append(row)
    return rows


def _rows(mech: tm.Mechanism, name: str, of_many: Work, many: tm.State, actuated: list[str] | None) -> Work:
    """Return the work of MANY states in the compiled loop alone, or of all of the call without the extension."""
    key: Any = name
    if name in ("pose", "velocity", "jacobian"):
        key = ({"jacobian": "end_jacobian"}.get(name, name), mech.tree.bodies[-1])
    if name == "inverse_dynamics" and actuated is not None:
        key = driven(mech, actuated, None)
    found = mech._fast.table(key)
    if found is None:
        return of_many
    from treemech.topology.arrays import address

    t, none = np.zeros(1), np.zeros(1)
    results = [np.zeros((MANY, *shape)) for shape in found.shapes]
    inputs = [np.zeros(x.shape) for x in found.inputs]
    if name == "inverse_dynamics" and actuated is not None:
        inputs = [np.ascontiguousarray(mech.forward_dynamics(many).ud[0])]
    rows = (
        (address(t), 0),
        (address(many.q), mech.nq),
        (address(many.u), mech.nu),
        (address(none), 0),
        (address(none), 0),
    )
    to = tuple((address(x) if x.size else address(none), x[0].size) for x in results)
    given = tuple((address(x), 0) for x in inputs)
    kept = (t, none, results, inputs, many)
    return lambda: (found.c.many(0, MANY, *rows, given, to), kept)


def peers(mech: tm.Mechanism, state: tm.State, windows: int) -> dict[str, dict[str, dict[str, Work]]]:
    """Return the peers' calls: label -> analysis -> call -> work."""
    found: dict[str, dict[str, dict[str, Work]]] = {}
    if windows:
        try:
            found["pinocchio"] = {"forward_dynamics": loop_calls(windows)}
        except ImportError:
            say("pinocchio is not installed: its column stays empty")
        return found
    makers: dict[str, tuple[Any, Any]] = {
        "pinocchio": (PinModel, pinocchio_calls),
        "mujoco": (MujocoModel, mujoco_calls),
    }
    for label, (make, calls) in makers.items():
        try:
            peer = make(mech)
        except ImportError:
            say(f"{label} is not installed: its column stays empty")
            continue
        except (NoSuchJoint, ValueError) as error:
            say(f"no {label}: {error}")
            continue
        S, _ = peer.speed_map(state.q, state.u)
        theirs = peer.forward_dynamics(state.q, state.u, np.zeros(mech.nu))
        own = mech.forward_dynamics(state).ud
        apart = float(np.max(np.abs(theirs - own)) / np.max(np.abs(own)))
        if apart > 1e3 * AGREE:
            say(f"{label}: forward dynamics differs by {apart:.1e}")
        listed = calls(peer, peer.coordinates(state.q), S @ state.u)
        found[label] = {a: {name: work} for a, (name, work) in listed.items()}
    return found


def report(result: dict[str, Any]) -> str:
    """Return all results as Markdown."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items())
    parts = [
        f"# Calls from Python\n\n{where['cpu']}; {versions}; core: {result['way']}, calls: {result['calls']}. CPU time of one call."
    ]
    heads = ["analysis", "ours us", "above compiled us", "Pinocchio us", "its call", "MuJoCo us", "its call"]
    keys = ["analysis", "ours_us", "above_us", "pinocchio_us", "pinocchio_call", "mujoco_us", "mujoco_call"]
    for name in dict.fromkeys(row["model"] for row in result["rows"]):
        rows = [[row[k] for k in keys] for row in result["rows"] if row["model"] == name]
        parts.append(f"## {name}\n\n{table(heads, rows)}")
    slower = [
        f"{row['model']}, {row['analysis']}" for row in result["rows"] for label in ("pinocchio", "mujoco")
        if row[f"{label}_us"] is not None and row[f"{label}_us"] < row["ours_us"]
    ]  # fmt: skip
    parts.append(f"Slower than a peer: {'; '.join(slower) or 'nothing'}.")
    return "\n\n".join(parts) + "\n"


def measure(models: list[str], blocks: int, log: Callable[[str], None] = say) -> dict[str, Any]:
    """Measure all models; return what the JSON file holds."""
    rows = []
    for name in models:
        log(name)
        rows += measure_model(name, blocks)
    calls = "ctypes" if caller() is None else "C extension"
    return {"machine": machine(), "way": native.way(), "calls": calls, "rows": rows}


def main(argv: list[str]) -> int:
    """Run the command ``python -m treemech.benchmarks calls``."""
    models = [*TREES, *(f"A02 N = {n}" for n in WINDOWS)]
    parser = argparse.ArgumentParser(prog="treemech.benchmarks calls", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/calls.json"), help="where the JSON file goes")
    parser.add_argument("--models", nargs="+", choices=models, help="only these models")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    given = parser.parse_args(argv)
    chosen = given.models or (["chain 7", "A02 N = 2"] if given.quick else models)
    result = measure(chosen, 2 if given.quick else 30)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(report(result))
    return 0
