"""The same problems in other libraries: ``python -m treemech.benchmarks peers``.

Every tool gets the user's System, simulates it in a process of its own over a ladder of settings (tolerances or steps), and is
asked where the bodies are at the end. The error is measured as in `compare`; the reference is this engine at rtol 1e-13, for the
N-four-bar the exact answer. Counted is the CPU time of the simulation; import, building and, with ours, compiling are
reported apart. A tool that is not installed is skipped with a line, a joint it lacks is named.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology.arrays import Floats

from ..families.trees import hanging_chain, raised
from ..page import fill_page
from ..peers.loops import DAMPING, PROXIMAL, TOLERANCES, TooSlow
from ..peers.models import MujocoModel, NoSuchJoint, PinModel, Pose
from ..problems.classics.double_pendulum import state as pendulum_state
from ..problems.classics.double_pendulum import system as pendulum
from ..problems.mechanisms.a02_double_four_bar import exact_angle, four_bars
from ..problems.mechanisms.a02_double_four_bar import state as four_bar_state
from ..timing import machine, say, table
from .loops import best_run, reached

Solve = Callable[[float], Floats]
SECONDS = 4.0  # CPU time of one run
PACKAGES = {"Pinocchio": "pin", "MuJoCo": "mujoco", "Exudyn": "exudyn", "Drake": "drake"}


def four_bar() -> tm.System:
    """Return a four-bar: crank 1 m, coupler 3 m, rocker 2.5 m, ground 3.5 m; slender bars of 1 kg/m."""
    system = tm.System("four-bar", gravity=(0, -9.81, 0))
    length = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}
    crank, coupler, rocker = (
        system.body(n, **tm.solids.rod((0, 0, 0), (l, 0, 0), mass=l).properties) for n, l in length.items()
    )
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)), role="chord")
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), rocker)
    return system


def four_bar_start(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"A": 0.6}, guess={"B": 0.2, "D": 1.9})


# name -> (system, start, span)
PROBLEMS: dict[str, tuple[Any, Any, float]] = {
    "double pendulum": (pendulum, pendulum_state, 5.0),
    "chain 30": (partial(hanging_chain, 30), raised, 10.0),
    "four-bar": (four_bar, four_bar_start, 10.0),
    "A02 N = 2": (partial(four_bars, 2), four_bar_state, 10.0),
    "A02 N = 10": (partial(four_bars, 10), four_bar_state, 10.0),
    "A02 N = 40": (partial(four_bars, 40), four_bar_state, 10.0),
}


class Model:
    """A problem built: mechanism, start, end."""

    def __init__(self, name: str) -> None:
        make, start, self.end = PROBLEMS[name]
        self.name, self.system = name, make()
        self.mech = self.system.build()
        self.state = start(self.mech)

    def places(self, q: Floats, u: Floats) -> Floats:
        """Return the origins of the bodies at our q."""
        return np.asarray(self.mech.attitude((self.end, q, u)).position)

    def reference(self) -> Floats:
        """Return the positions of the bodies at the end."""
        if self.name.startswith("A02"):
            n = int(self.name.split("=")[1])
            phi = exact_angle(n, self.end)
            names = self.mech.coordinates
            q = np.array([-phi if name.startswith("A") else phi for name in names])
            return self.places(q, np.zeros(self.mech.nu))
        run = self.mech.simulate((0.0, self.end), self.state, rtol=1e-13, atol=1e-13, t_eval=[self.end])
        return self.places(run.q[-1], run.u[-1])


# ---------------------------------------------------------------- tools: Model -> solve(setting) -> origins of the bodies
def treemech_(model: Model, allowed: float) -> Solve:
    """Solve by treemech, with defaults."""

    def solve(rtol: float) -> Floats:
        run = model.mech.simulate((0.0, model.end), model.state, rtol=rtol, t_eval=[model.end])
        if not run.success:
            raise ArithmeticError(run.message)
        return np.array(run.q[-1])

    def answer(q: Floats) -> Floats:
        return model.places(q, np.zeros(model.mech.nu))

    solve.answer = answer  # type: ignore[attr-defined]
    return solve


class _PinClosed(PinModel):
    closes = True


class _MujocoClosed(MujocoModel):
    """With `connect` constraints for cut pins, as stiff as they get."""

    closes = True

    def inertia(self, k: int) -> tuple[float, Floats, Floats]:
        mass, com, J = super().inertia(k)
        values, axes = np.linalg.eigh(J)
        thin = axes[:, values < 1e-9 * values[-1]]  # MuJoCo takes no inertia that is singular
        return mass, com, J + 1e-9 * thin @ thin.T

    def _finish(self, spec: Any) -> None:
        mj = self.mujoco
        spec.option.integrator = mj.mjtIntegrator.mjINT_RK4
        if not self.mech.tree.chords:
            return
        off = mj.mjtDisableBit
        spec.option.disableflags = int(off.mjDSBL_CONTACT | off.mjDSBL_LIMIT)
        numbers = self.mech.tree.numbers
        for chord in self.mech.tree.chords:
            row = spec.add_equality(type=mj.mjtEq.mjEQ_CONNECT, objtype=mj.mjtObj.mjOBJ_SITE)
            for side, end in enumerate(chord.ends):
                k, name = numbers[end.body.name], f"{chord.name} {side}"
                body = spec.body(f"body{k}") if k else spec.worldbody
                body.add_site(name=name, pos=self.frames[k].R.T @ (end.offset - self.frames[k].p))
                setattr(row, f"name{side + 1}", name)


def _pins_only(model: Model, tool: str) -> None:
    for c in model.mech.tree.chords:
        if not isinstance(c.element, tm.Revolute):
            raise NoSuchJoint(f"{tool}: the cut hinge {c.name!r} ({c.element.kind}) is not mapped.")


def _places(peer: Any, q: Floats) -> Floats:
    """Return the positions of the bodies in a peer's model at its coordinates."""
    poses = [x @ f.inverse() for x, f in zip(peer._positions(q), peer.frames[1:], strict=True)]
    return np.array([x.p for x in poses])


def pinocchio(model: Model, allowed: float) -> Solve:
    """Solve by aba, or constraintDynamics with Baumgarte's rate 50 1/s, and scipy's DOP853."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    _pins_only(model, "Pinocchio")
    peer = _PinClosed(model.mech)
    q0, S = peer.coordinates(model.state.q), peer.speed_map(model.state.q, model.state.u)[0]
    n, tau, data, m = peer.nq, np.zeros(peer.nu), peer.data, peer.model
    rows, row_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for chord in model.mech.tree.chords:
        ends = []
        for end in chord.ends:
            number = model.mech.tree.numbers[end.body.name]
            joint, place = peer.joint[number]
            x = place @ peer.frames[number].inverse() @ Pose(end.offset, end.rotation)
            ends += [joint, pin.SE3(x.R, x.p)]
        row = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, m, *ends, pin.LOCAL)
        row.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(2500.0, 100.0))
        rows.append(row)
        row_data.append(row.createData())
    proximal = pin.ProximalSettings(*PROXIMAL)
    if len(rows):
        pin.initConstraintDynamics(m, data, rows, row_data)
    y0 = np.concatenate((q0, S @ model.state.u))

    def solve(rtol: float) -> Floats:
        until = time.process_time() + allowed

        def rates(t: float, y: Floats) -> Floats:
            if time.process_time() > until:
                raise TooSlow
            if len(rows):
                ud = pin.constraintDynamics(m, data, y[:n], y[n:], tau, rows, row_data, proximal)
            else:
                ud = pin.aba(m, data, y[:n], y[n:], tau)
            return np.concatenate((y[n:], ud))

        found = solve_ivp(rates, (0.0, model.end), y0, "DOP853", [model.end], rtol=rtol, atol=rtol)
        return np.array(found.y[:n, -1])

    solve.answer = partial(_places, peer)  # type: ignore[attr-defined]
    return solve


def mujoco(model: Model, allowed: float) -> Solve:
    """Solve by Runge-Kutta of order 4 with steps of one size."""
    import mujoco as mj

    _pins_only(model, "MuJoCo")
    peer = _MujocoClosed(model.mech)
    m, data, q0 = peer.model, peer.data, peer.coordinates(model.state.q)
    v0 = peer.speed_map(model.state.q, model.state.u)[0] @ model.state.u

    def solve(step: float) -> Floats:
        count = round(model.end / step)
        m.opt.timestep = model.end / count
        if m.neq:
            m.eq_solref[:] = 2 * step, 1.0
            m.eq_solimp[:] = 0.9999, 0.9999, 0.001, 0.5, 2.0
        mj.mj_resetData(m, data)
        data.qpos[:], data.qvel[:] = q0, v0
        mj.set_mju_user_warning(lambda text: None)  # otherwise it writes a file
        mj.mj_step(m, data, count)
        mj.set_mju_user_warning(None)
        if any(w.number for w in data.warning):
            raise ArithmeticError("unstable")
        return np.array(data.qpos)

    solve.answer = partial(_places, peer)  # type: ignore[attr-defined]
    return solve


def exudyn(model: Model, allowed: float) -> Solve:
    """Solve in redundant planar coordinates, by generalized-alpha on the position constraints (index 3)."""
    import exudyn as exu
    import exudyn.itemInterface as item

    from ..formulations.planar.baumgarte import Baumgarte

    flat = Baumgarte(model.system)
    y = flat.initial(model.state)
    exu.config.printToConsole = False
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    objects = [mbs.AddObject(item.ObjectGround())]
    gravity = flat.E @ np.asarray(model.system.gravity)
    for i, body in enumerate(model.system.bodies[1:]):
        q, v = y[3 * i : 3 * i + 3], y[flat.nq + 3 * i : flat.nq + 3 * i + 3]
        node = mbs.AddNode(item.NodeRigidBody2D(
            referenceCoordinates=q.tolist(), initialVelocities=v.tolist(), initialCoordinates=[0, 0, 0]
        ))  # fmt: skip
        inertia = float(flat.arrays["body"][i + 1, 10])
        objects.append(mbs.AddObject(item.RigidBody2D(mass=body.mass, inertia=inertia, nodeNumber=node)))
        centre = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=objects[-1]))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=centre, loadVector=[gravity[0], gravity[1], 0.0]))
    for connection in model.system.connections.values():
        if not isinstance(connection.element, tm.Revolute):
            raise NoSuchJoint(f"Exudyn: {connection.name!r} ({connection.element.kind}) is not mapped.")
        marks = []
        for end in connection.ends:
            k = end.body.number
            point = flat.E @ flat.R0[k] @ (end.offset - end.body.com)
            marks.append(
                mbs.AddMarker(
                    item.MarkerBodyPosition(bodyNumber=objects[k], localPosition=[point[0], point[1], 0])
                )
            )
        mbs.AddObject(item.RevoluteJoint2D(markerNumbers=marks))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = model.end
    settings.timeIntegration.generalizedAlpha.spectralRadius = DAMPING
    settings.timeIntegration.newton.useModifiedNewton = False
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = model.end
    settings.show.statistics = settings.show.computationTime = False
    settings.timeIntegration.verboseMode = 0
    solvers = exu.LinearSolverType
    settings.linearSolver.solverType = solvers.EXUdense if flat.nb < 12 else solvers.EigenSparse

    def solve(step: float) -> Floats:
        settings.timeIntegration.numberOfSteps = round(model.end / step)
        if not mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha):
            raise ArithmeticError("Exudyn stopped")
        state = np.zeros(2 * flat.nq)
        for i in range(flat.nb):
            at = np.asarray(
                mbs.GetObjectOutputBody(objects[i + 1], exu.OutputVariableType.Position, [0, 0, 0])
            )
            turn = mbs.GetObjectOutputBody(objects[i + 1], exu.OutputVariableType.Rotation, [0, 0, 0])
            state[3 * i : 3 * i + 2], state[3 * i + 2] = at[:2], float(np.ravel(turn)[-1])
        return state

    def answer(state: Floats) -> Floats:
        order = [b.number - 1 for b in model.mech.tree.bodies[1:]]
        return np.array(flat.bodies(np.zeros(1), state[None]).position[0][order])

    solve.answer = answer  # type: ignore[attr-defined]
    return solve


def drake(model: Model, allowed: float) -> Solve:
    """Solve trees by Runge-Kutta 5(3), closed chains by ball constraints in the discrete solver (SAP), first
    order.
    """
    from ..peers.drake import Simulation

    return Simulation(model.mech, model.state, model.end, allowed)


# name -> (function, setting)
TOOLS: dict[str, tuple[Callable[[Model, float], Solve], str]] = {
    "treemech": (treemech_, "rtol"),
    "Pinocchio": (pinocchio, "rtol"),
    "MuJoCo": (mujoco, "step"),
    "Exudyn": (exudyn, "step"),
    "Drake": (drake, "rtol"),  # closed chains: a step
}


def ladder_of(setting: str, end: float) -> tuple[float, ...]:
    """Return the settings from coarse to fine."""
    return TOLERANCES if setting == "rtol" else tuple(end / (500 * 2**k) for k in range(10))


def run_one(tool: str, problem: str, allowed: float, repeats: int = 3) -> dict[str, Any]:
    """Run one tool on one problem, in this process."""
    make, setting = TOOLS[tool]
    found: dict[str, Any] = {"tool": tool, "problem": problem, "kind": setting, "ladder": [], "failure": ""}
    began = time.process_time()
    try:
        model = Model(problem)
        solve = make(model, allowed)
    except ImportError as error:
        found["failure"] = f"not installed ({error})"
        return found
    except Exception as error:
        found["failure"] = f"{type(error).__name__}: {error}".splitlines()[0]
        return found
    setting = found["kind"] = getattr(solve, "setting", setting)
    found["note"] = getattr(solve, "note", "")
    prepare = getattr(solve, "prepare", None)  # what is built anew for every setting
    settings = ladder_of(setting, model.end)
    if prepare is not None:
        prepare(settings[0])
    built = time.process_time()
    exact = model.reference()
    first = time.process_time()
    try:
        solve(settings[0])  # compiles, warms up
    except Exception as error:
        say(f"{tool}, {problem}: the first run fails: {error}")
    found["build_s"], found["first_run_s"] = built - began, time.process_time() - first
    scale = max(1.0, float(np.max(np.linalg.norm(exact, axis=1))))
    for value in settings:
        if prepare is not None:
            prepare(value)
        rung, end = best_run(solve, value, allowed, repeats, 0.2 * allowed)
        if end is not None:
            rung["error"] = float(np.max(np.abs(solve.answer(end) - exact))) / scale  # type: ignore[attr-defined]
        found["ladder"].append(rung)
        if setting == "step" and 2.0 * rung["cpu_s"] > allowed:
            break  # half the step takes twice as long
    k, sustained = reached(found["ladder"])
    found["cpu_s"] = None if k is None else found["ladder"][k]["cpu_s"]
    found["setting"], found["sustained"] = None if k is None else found["ladder"][k]["setting"], sustained
    return found


def measure(
    problems: Sequence[str], tools: Sequence[str], allowed: float = SECONDS, log: Callable[[str], None] = say
) -> dict[str, Any]:
    """Run every tool on every problem, a process each."""
    rows, missing = [], {}
    for problem in problems:
        for tool in tools:
            if tool in missing:
                continue
            log(f"{problem}: {tool}")
            done = subprocess.run(
                [sys.executable, "-m", "treemech.benchmarks", "peers", "--one", tool, problem, "--seconds", str(allowed)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            try:
                row = json.loads(done.stdout.splitlines()[-1])
            except (IndexError, ValueError):
                row = {
                    "tool": tool,
                    "problem": problem,
                    "failure": f"the process ended with status {done.returncode}",
                }
                row |= {"ladder": [], "cpu_s": None, "sustained": False, "kind": TOOLS[tool][1]}
            if row["failure"].startswith("not installed"):
                missing[tool] = row["failure"]
                log(f"{tool} is not installed: its rows are missing")
                continue
            rows.append(row)
    where = machine()
    for tool, package in PACKAGES.items():
        try:
            where["versions"][package] = version(package)
        except PackageNotFoundError:
            where["versions"][package] = "absent"
        del tool
    return {"machine": where, "allowed_s": allowed, "rows": rows, "missing": missing}


def _remark(row: dict[str, Any]) -> str:
    """Say why there is no time to 1e-6, and what to know about the tool's way."""
    missed = "" if row["failure"] or row.get("cpu_s") is not None else "does not reach 1e-6"
    return "; ".join(part for part in (row["failure"], missed, row.get("note", "")) if part)


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    where = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in where["versions"].items())
    lines = []
    for row in result["rows"]:
        done = [rung for rung in row["ladder"] if rung["error"] is not None]
        best = min(done, key=lambda rung: rung["error"], default=None)
        setting = None if row.get("setting") is None else f"{row['kind']} {row['setting']:.2g}"
        lines.append([
            row["problem"], row["tool"], None if row.get("cpu_s") is None else 1e3 * row["cpu_s"], setting,
            None if row.get("cpu_s") is None else "yes" if row["sustained"] else "no", None if best is None else best["error"],
            None if best is None else 1e3 * best["cpu_s"], row.get("build_s"), row.get("first_run_s"), _remark(row),
        ])  # fmt: skip
    text = (
        f"# The same problems in other libraries\n\n{where['cpu']}, {where['cores']} cores; {versions}. CPU time of a simulation, "
        f"one process each, at most {result['allowed_s']:g} s; sustained: the two finer settings reach 1e-6 as well.\n\n"
    )
    heads = [
        "problem",
        "tool",
        "CPU ms to 1e-6",
        "setting",
        "sustained",
        "least error",
        "in CPU ms",
        "build s",
        "first run s",
        "",
    ]
    text += table(heads, lines)
    for tool, why in result["missing"].items():
        text += f"\n\n{tool} was skipped: {why}."
    return text + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``python -m treemech.benchmarks peers``."""
    parser = argparse.ArgumentParser(
        prog="treemech.benchmarks peers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--problem", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="P")
    parser.add_argument("--tool", nargs="+", choices=TOOLS, default=list(TOOLS), metavar="T")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU time allowed for one run")
    parser.add_argument("--out", type=Path, default=Path("out/peers.json"))
    parser.add_argument("--page", type=Path, help="put the table into this page (docs/formulations.md)")
    parser.add_argument(
        "--one", nargs=2, metavar=("T", "P"), help="one tool, one problem, in this process; prints JSON"
    )
    given = parser.parse_args(argv)
    if given.one:
        print(json.dumps(run_one(given.one[0], given.one[1], given.seconds)))
        return 0
    result = measure(given.problem, given.tool, given.seconds)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text(report(result), encoding="utf-8")
    if given.page:
        fill_page(given.page, {"peers": report(result).partition("\n\n")[2].strip()})
    print(report(result))
    return 0
