"""Speed of the compiled core, against Pinocchio, MuJoCo and scipy in the same run.

Five analyses on the model families: positions, inverse dynamics, mass matrix, forward dynamics, and the derivatives of
the latter by q, u and loads (Pinocchio's computeABADerivatives; MuJoCo has only differences). Ours is timed
twice: per state inside the compiled loop, and as a call from Python. The peers are called from Python (about
0.5 us of a call). Before timing, everybody must give the same numbers. Of the mass matrix our core and MuJoCo
make one triangle, which is all a solver needs; our Python call and Pinocchio's fill in the other one.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.tree_derivatives import TreeDerivatives
from treemech.dynamics.native import entry_points as native
from treemech.topology.arrays import address, addresses

from ..families.trees import FAMILIES, random_states
from ..peers.models import MujocoModel, NoSuchJoint, Peer, PinModel
from ..timing import Work, least_times, machine, say, table
from . import foreign, integration, start

ANALYSES = ("positions", "inverse_dynamics", "mass_matrix", "forward_dynamics", "derivatives")
AGREE = 1e-9  # relative to the largest entry
CACHE = 200_000  # bytes of matrices that stay near the processor


class Ours:
    """Our core on `count` random states, arrays at fixed addresses.

    Of the mass matrix only as many states as keep the matrices in the cache: the peers, too, write each over
    the last one.
    """

    def __init__(self, mech: tm.Mechanism, count: int) -> None:
        self.mech, self.count = mech, count
        self.matrices = min(count, max(1, CACHE // (8 * mech.nu**2)))
        self.q, self.u, self.ud = random_states(mech, count)
        self.t, self.tau = np.zeros(count), np.zeros((count, mech.nu))
        self.out = np.zeros((count, mech.nu))
        self.A = np.zeros((self.matrices, mech.nu, mech.nu))
        self.workspace = TreeDerivatives(mech._core)

    def states(self, name: str) -> int:
        """Return how many states one work of an analysis takes."""
        one = name == "derivatives" and self.mech._fast.table(name) is None
        return {"mass_matrix": self.matrices}.get(name, 1 if one else self.count)

    def work(self, name: str) -> Work:
        """Return the work: an analysis of all states in one compiled loop.

        Derivatives overwrite each other; without the extension they are those of the first state alone.
        """
        if name == "derivatives":
            return self._derivatives()
        t, q, u, ud, tau, out, A = addresses((self.t, self.q, self.u, self.ud, self.tau, self.out, self.A))
        arguments = {
            "positions": (t, q, u),
            "inverse_dynamics": (t, q, u, ud, out),
            "mass_matrix": (t, q, u, A),
            "forward_dynamics": (t, q, u, tau, out),
        }[name]
        entry, context, count = native.entry(name), self.mech._core.context_address, self.states(name)
        return lambda: entry(count, *arguments, context)

    def _derivatives(self) -> Work:
        found = self.mech._fast.table("derivatives")
        if found is None:
            self.workspace.forward(0.0, self.q[0], self.u[0])
            entry, table = native.entry("derivatives"), self.workspace.address
            return lambda: entry(0.0, 1, table)
        none, results = np.zeros(1), [np.zeros(shape) for shape in found.shapes]
        rows = (
            (address(self.t), 1),
            (address(self.q), self.mech.nq),
            (address(self.u), self.mech.nu),
            (address(none), 0),
            (address(none), 0),
        )
        to = tuple((address(x) if x.size else address(none), 0) for x in results)
        loads, kept = ((address(self.tau), self.mech.nu),), (none, results)
        return lambda: (found.c.many(0, self.count, *rows, loads, to), kept)

    def call(self, name: str) -> Work:
        """Return the work: the same for one state, as a user calls it."""
        mech, state, ud = self.mech, (self.q[0], self.u[0]), self.ud[0]
        t, q, u = self.t[:1], self.q[:1], self.u[:1]
        return {
            "positions": lambda: mech._core.many("positions", t, q, u),  # no public call does only this
            "inverse_dynamics": lambda: mech.inverse_dynamics(state, ud),
            "mass_matrix": lambda: mech.mass_matrix(state),
            "forward_dynamics": lambda: mech.forward_dynamics(state),
            "derivatives": lambda: mech.derivatives(state),
        }[name]


def pin_works(peer: PinModel, ours: Ours) -> dict[str, dict[str, Work]]:
    """Return Pinocchio's calls over a few states, by analysis and variant.

    The mass matrix is there in both its conventions.
    """
    pin, model, d = peer.pin, peer.model, peer.data
    states = []
    for k in range(min(ours.count, 8)):
        S, s = peer.speed_map(ours.q[k], ours.u[k])
        states.append((peer.coordinates(ours.q[k]), S @ ours.u[k], S @ ours.ud[k] + s))
    zero = np.zeros(peer.nu)

    def over(f: Callable[[Any, Any, Any], Any]) -> Work:
        def work() -> None:
            for q, u, ud in states:
                f(q, u, ud)

        return work

    LOCAL, WORLD = pin.Convention.LOCAL, pin.Convention.WORLD
    return {
        "positions": {"": over(lambda q, u, ud: pin.forwardKinematics(model, d, q))},
        "inverse_dynamics": {"": over(lambda q, u, ud: pin.rnea(model, d, q, u, ud))},
        "mass_matrix": {
            "local": over(lambda q, u, ud: pin.crba(model, d, q, LOCAL)),
            "world": over(lambda q, u, ud: pin.crba(model, d, q, WORLD)),
        },
        "forward_dynamics": {"": over(lambda q, u, ud: pin.aba(model, d, q, u, zero))},
        "derivatives": {"": over(lambda q, u, ud: pin.computeABADerivatives(model, d, q, u, zero))},
    }


def mujoco_works(peer: MujocoModel, ours: Ours) -> dict[str, dict[str, Work]]:
    """Return MuJoCo's calls at one state (setting a state is not counted)."""
    mj, m, d = peer.mujoco, peer.model, peer.data
    S, s = peer.speed_map(ours.q[0], ours.u[0])
    peer._set(peer.coordinates(ours.q[0]), S @ ours.u[0], S @ ours.ud[0] + s)

    def mass_matrix() -> None:
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_makeM(m, d)

    return {
        "positions": {"": lambda: mj.mj_kinematics(m, d)},
        "inverse_dynamics": {"": lambda: mj.mj_inverse(m, d)},
        "mass_matrix": {"": mass_matrix},
        "forward_dynamics": {"": lambda: mj.mj_forward(m, d)},
    }


PEERS: dict[str, tuple[type[Peer], Callable[[Any, Ours], dict[str, dict[str, Work]]]]] = {
    "pinocchio": (PinModel, pin_works),
    "mujoco": (MujocoModel, mujoco_works),
}


def disagreements(ours: Ours, peer: Peer) -> dict[str, float]:
    """Return the largest difference between us and a peer at the first state, relative to the largest entry.

    Of forward dynamics A (ud - ud_peer) is compared, relative to its terms: what the condition of A hides is
    no error of either; of the derivatives likewise the peer's A times ours by loads.
    """
    mech, q, u, ud = ours.mech, ours.q[0], ours.u[0], ours.ud[0]
    A, own = mech.mass_matrix((q, u)), mech.forward_dynamics((q, u)).ud
    trace, _ = mech._core.trace(ours.t[:1].copy(), q[None].copy(), u[None].copy(), ud[None].copy())
    theirs = peer.forward_dynamics(q, u, np.zeros(mech.nu))
    pairs = {
        "positions": (trace[0, 1:, columns.POSITION], peer.positions(q)[0]),
        "inverse_dynamics": (mech.inverse_dynamics((q, u), ud), peer.inverse_dynamics(q, u, ud)),
        "mass_matrix": (A, peer.mass_matrix(q)),
    }
    found = {name: float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for name, (a, b) in pairs.items()}
    terms = np.max(np.abs(A) @ np.abs(own))
    B, inverse = peer.mass_matrix(q), mech.derivatives((q, u)).ud_load
    unit = float(np.max(np.abs(B @ inverse - np.eye(mech.nu))) / np.max(np.abs(B) @ np.abs(inverse)))
    return {
        **found,
        "forward_dynamics": float(np.max(np.abs(A @ (own - theirs))) / terms),
        "derivatives": unit,
    }


def measure_family(name: str, states: int, blocks: int) -> list[dict[str, Any]]:
    """Measure one row per analysis: microseconds of everybody, ratios, disagreements."""
    mech = FAMILIES[name]().build()
    ours = Ours(mech, states)
    rows: list[dict[str, Any]] = [{"model": name, "analysis": a, "states": ours.states(a)} for a in ANALYSES]
    works: dict[str, dict[str, Work]] = {a: {"ours": ours.work(a), "call": ours.call(a)} for a in ANALYSES}
    per: dict[str, int] = {"call": 1}
    for label, (make, timed) in PEERS.items():
        try:
            peer = make(mech)
        except ImportError:
            say(f"{label} is not installed: its column stays empty")
            continue
        except (NoSuchJoint, ValueError) as error:
            say(f"{name}: no {label}: {error}")
            continue
        apart = disagreements(ours, peer)
        for row in rows:
            row[f"{label}_apart"] = apart[row["analysis"]]
            if apart[row["analysis"]] > AGREE:
                say(f"{name}: {row['analysis']} of {label} differs from ours by {apart[row['analysis']]:.1e}")
        for a, variants in timed(peer, ours).items():
            for variant, work in variants.items():
                works[a][f"{label} {variant}".strip()] = work
        per[label] = min(states, 8) if label == "pinocchio" else 1
    for row in rows:
        per["ours"] = row["states"]
        times = least_times(works[row["analysis"]], blocks)
        for label in ("ours", "call", *PEERS):
            us = [1e6 * s / per[label] for key, s in times.items() if key.split()[0] == label]
            row[f"{label}_us"] = min(us) if us else None
        for label in PEERS:
            us = row[f"{label}_us"]
            row[f"{label}_ratio"] = None if us is None else us / row["ours_us"]
    return rows


def report(result: dict[str, Any]) -> str:
    """Return all results as Markdown."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items())
    parts = [
        f"# Core\n\n{where['cpu']}, {where['cores']} cores; {versions}; core: {result['way']}. CPU time."
    ]
    heads = ["model", "ours us", "call us", "Pinocchio us", "ratio", "MuJoCo us", "ratio"]
    keys = ["model", "ours_us", "call_us", "pinocchio_us", "pinocchio_ratio", "mujoco_us", "mujoco_ratio"]
    for a in ANALYSES:
        rows = [[row[k] for k in keys] for row in result["core"] if row["analysis"] == a]
        parts.append(f"## {a.replace('_', ' ').capitalize()}\n\n{table(heads, rows)}")
    bad = [
        f"{row['model']}, {row['analysis']}: {label} differs by {row[f'{label}_apart']:.1e}"
        for row in result["core"] for label in PEERS if row.get(f"{label}_apart", 0.0) > AGREE
    ]  # fmt: skip
    parts.append(
        "Mass matrix: ours and MuJoCo's one triangle; our call and Pinocchio's (faster convention) the full matrix."
    )
    if bad:
        parts.append("Not the same numbers: " + "; ".join(bad) + ".")
    parts.append(
        "## Python call of forward dynamics\n\n"
        + table(["model", "us above the compiled time"], list(result["call_overhead_us"].items()))
    )
    if result["growth_100_300"] is not None:
        parts.append(f"Forward dynamics of a chain, 100 to 300 links: {result['growth_100_300']:.2f} times.")
    parts.append(
        "## Hinges in a chain\n\n" + table(["hinge", "ns per hinge"], list(result["hinge_ns"].items()))
    )
    rows = [
        [r["case"], r["ours_s"], r["scipy_s"], r["ratio"], r["evaluations"]] for r in result["integration"]
    ]
    heads = ["case", "ours s", "scipy s", "ratio", "evaluations"]
    parts.append("## Integrator against scipy DOP853\n\n" + table(heads, rows))
    first = result["first_result"]
    rows = [[name, s, first["ratio"][name]] for name, s in first["seconds"].items()]
    parts.append("## Fresh process\n\n" + table(["process", "CPU s", "ratio to import numpy"], rows))
    large = result["large_chain"]
    parts.append("## Large chain\n\n" + table(list(large), [list(large.values())]))
    return "\n\n".join(parts) + "\n"


def measure(models: list[str], quick: bool, cold: bool, log: Callable[[str], None] = say) -> dict[str, Any]:
    """Measure everything; return what the JSON file holds."""
    states, blocks, repeats = (4, 2, 1) if quick else (128, 60, 5)
    rows = []
    for name in models:
        log(f"{name}: {', '.join(ANALYSES)}")
        rows += measure_family(name, states, blocks)
    forward = {row["model"]: row for row in rows if row["analysis"] == "forward_dynamics"}
    growth = None
    if {"chain 100", "chain 300"} <= set(forward):
        growth = forward["chain 300"]["ours_us"] / forward["chain 100"]["ours_us"]
    log("hinges written outside the library")
    hinges = foreign.measure(10 if quick else 100, min(states, 64), blocks)
    log("integrators")
    integrators = integration.measure(quick, repeats)
    log("fresh processes")
    first = start.first_results(repeats, not quick, cold)
    log("large chain")
    large = start.large_chain(50 if quick else 5000)
    return {
        "machine": machine(),
        "way": native.way(),
        "core": rows,
        "call_overhead_us": {name: row["call_us"] - row["ours_us"] for name, row in forward.items()},
        "growth_100_300": growth,
        "hinge_ns": hinges,
        "integration": integrators,
        "first_result": first,
        "large_chain": large,
    }


def main(argv: list[str]) -> int:
    """Run the command ``python -m treemech.benchmarks core``."""
    parser = argparse.ArgumentParser(prog="treemech.benchmarks core", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/core.json"), help="where the JSON file goes")
    parser.add_argument("--models", nargs="+", choices=FAMILIES, help="only these families")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--cold", action="store_true", help="also a first result that compiles everything")
    given = parser.parse_args(argv)
    models = given.models or (["chain 7"] if given.quick else list(FAMILIES))
    result = measure(models, given.quick, given.cold)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(report(result))
    return 0
