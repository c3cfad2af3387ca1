"""The N-four-bar mechanism A02 in Pinocchio, Exudyn and MuJoCo, each by its own way through closed chains.

Every tool is a function of the number of windows, and of whether they hang and so never become singular. It answers
a function of one setting (a tolerance or a step), which integrates 10 s and answers the position of B0, the upper end
of the first bar. Building is not part of it.
A tolerance that takes longer than its allowance raises `TooSlow`; how long a step takes is known beforehand.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

from ..problems.mechanisms.a02_double_four_bar import REFERENCE, gravity

Solve = Callable[[float], Floats]
END = 10.0
M, L = float(REFERENCE.parameters["link_mass"]), float(REFERENCE.parameters["link_length"])
J = M * L**2 / 12  # about the centre of mass, across the link
PROXIMAL = (1e-14, 1e-6, 20)  # accuracy, mu, iterations: the best of those tried; mu 1e-10 leaves the motion
DAMPING = 0.9  # spectral radius of generalized-alpha at infinity


class TooSlow(Exception):
    """A run took more than its allowance of CPU time."""


@dataclass(frozen=True)
class Tool:
    """A way to simulate A02: make(windows, allowed seconds, hanging) -> solve(setting) -> B0; settings from coarse to fine."""

    name: str
    make: Callable[[int, float, bool], Solve]
    setting: str
    ladder: tuple[float, ...]


class PinocchioLoops(NamedTuple):
    """A02 in Pinocchio: the tree of bars with the rods cut from the next bar by points (contacts of 3 rows)."""

    pin: Any
    model: Any
    data: Any
    rows: Any
    row_data: Any
    proximal: Any
    bars: list[int]
    rods: list[int]

    def start(self) -> tuple[Floats, Floats]:
        """Return q and u at the start: bars upright."""
        q, u = np.zeros(self.model.nq), np.zeros(self.model.nv)
        u[np.array(self.bars) - 1], u[np.array(self.rods) - 1] = -1.0, 1.0
        return q, u


def pinocchio_loops(
    windows: int, rate: float, hanging: bool = False, proximal: Any = PROXIMAL
) -> PinocchioLoops:
    """Return the mechanism in Pinocchio, with Baumgarte's correctors of a rate [1/s]."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity(hanging)), np.zeros(3))
    place = pin.SE3.Identity()

    def link(parent: int, at: tuple, along: int, name: str) -> int:
        joint = model.addJoint(
            parent, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array(at, dtype=float)), name
        )
        inertia, com = J * np.eye(3), np.zeros(3)
        inertia[along, along], com[along] = 0.0, L / 2
        model.appendBodyToJoint(joint, pin.Inertia(M, com, inertia), place)
        return int(joint)

    bars, rods = [], []
    for k in range(windows + 1):  # depth first, as Pinocchio wants it
        bars.append(link(0, (k * L, 0, 0), 1, f"A{k}"))
        if k < windows:
            rods.append(link(bars[k], (0, L, 0), 0, f"B{k}"))
    ends = pin.SE3(np.eye(3), np.array([L, 0.0, 0.0])), pin.SE3(np.eye(3), np.array([0.0, L, 0.0]))
    rows, row_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for k in range(windows):
        row = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, rods[k], ends[0], bars[k + 1], ends[1], pin.LOCAL
        )
        row.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(rate**2, 2 * rate))
        rows.append(row)
        row_data.append(row.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, rows, row_data)
    return PinocchioLoops(pin, model, data, rows, row_data, pin.ProximalSettings(*proximal), bars, rods)


def pinocchio(windows: int, allowed: float, hanging: bool, rate: float) -> Solve:
    """Solve by constraintDynamics on the tree with cut rods, scipy's DOP853, Baumgarte with a rate [1/s].

    Without Baumgarte it leaves the motion at the first singular position, whatever the tolerance.
    """
    peer = pinocchio_loops(windows, rate, hanging)
    return _pinocchio(peer, peer.pin.constraintDynamics, allowed)


def lcaba(windows: int, allowed: float, hanging: bool, mu: float) -> Solve:
    """Solve by lcaba of Pinocchio 4, the articulated bodies with closed chains in O(N), with a proximal parameter mu.

    It takes no notice of Baumgarte's correctors.
    """
    peer = pinocchio_loops(windows, 0.0, hanging, (PROXIMAL[0], mu, PROXIMAL[2]))
    if not hasattr(peer.pin, "lcaba"):
        raise ImportError("this Pinocchio has no lcaba")
    peer.pin.computeJointMinimalOrdering(peer.model, peer.data, peer.rows)
    return _pinocchio(peer, peer.pin.lcaba, allowed)


def _pinocchio(peer: PinocchioLoops, accelerations: Any, allowed: float) -> Solve:
    """Integrate the accelerations that one of Pinocchio's functions finds."""
    from scipy.integrate import solve_ivp

    _, model, data, rows, row_data, proximal, bars, _ = peer
    n, tau, y0 = model.nv, np.zeros(model.nv), np.concatenate(peer.start())

    def solve(rtol: float) -> Floats:
        until = time.process_time() + allowed

        def rates(t: float, y: Floats) -> Floats:
            if time.process_time() > until:
                raise TooSlow
            ud = accelerations(model, data, y[:n], y[n:], tau, rows, row_data, proximal)
            return np.concatenate((y[n:], ud))

        found = solve_ivp(rates, (0.0, END), y0, "DOP853", [END], rtol=rtol, atol=rtol)
        if not found.success:
            raise ArithmeticError(found.message)
        angle = found.y[bars[0] - 1, -1]
        return L * np.array([-np.sin(angle), np.cos(angle), 0.0])

    return solve


def exudyn(windows: int, allowed: float, hanging: bool) -> Solve:
    """Solve in redundant planar coordinates, by generalized-alpha on the position constraints (index 3)."""
    import exudyn as exu
    import exudyn.itemInterface as item

    exu.config.printToConsole = False
    container = exu.SystemContainer()
    mbs = container.AddSystem()

    def link(com: tuple, turn: float, velocity: tuple, rate: float) -> tuple[Any, Any, Any]:
        node = mbs.AddNode(
            item.NodeRigidBody2D(
                referenceCoordinates=[*com, turn],
                initialVelocities=[*velocity, rate],
                initialCoordinates=[0, 0, 0],
            )
        )
        body = mbs.AddObject(item.RigidBody2D(mass=M, inertia=J, nodeNumber=node))
        ends = [
            mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for x in (-L / 2, L / 2)
        ]
        centre = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=centre, loadVector=list(gravity(hanging))))
        return body, *ends

    ground = mbs.AddObject(item.ObjectGround())
    bars = [link((k * L, L / 2), np.pi / 2, (L / 2, 0), -1.0) for k in range(windows + 1)]
    rods = [link((k * L + L / 2, L), 0.0, (L, 0), 0.0) for k in range(windows)]
    pins = [
        (mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground, localPosition=[k * L, 0, 0])), bar[1])
        for k, bar in enumerate(bars)
    ]
    pins += [(bars[k][2], rods[k][1]) for k in range(windows)]
    pins += [(bars[k + 1][2], rods[k][2]) for k in range(windows)]
    for pin in pins:
        mbs.AddObject(item.RevoluteJoint2D(markerNumbers=list(pin)))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = END
    settings.timeIntegration.generalizedAlpha.spectralRadius = DAMPING
    settings.timeIntegration.newton.useModifiedNewton = False
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = END
    settings.show.statistics = settings.show.computationTime = False
    settings.timeIntegration.verboseMode = 0
    solvers = exu.LinearSolverType
    settings.linearSolver.solverType = solvers.EXUdense if windows < 5 else solvers.EigenSparse

    def solve(step: float) -> Floats:
        settings.timeIntegration.numberOfSteps = round(END / step)
        if not mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha):
            raise ArithmeticError("Exudyn stopped")
        return np.asarray(mbs.GetObjectOutputBody(bars[0][0], exu.OutputVariableType.Position, [L / 2, 0, 0]))

    return solve


def mujoco(windows: int, allowed: float, hanging: bool, integrator: str) -> Solve:
    """Solve with `connect` constraints as stiff as they get: time constant of two steps, impedance 0.9999."""
    import mujoco as mj

    spec = mj.MjSpec()
    spec.option.gravity = gravity(hanging)
    spec.option.integrator = getattr(mj.mjtIntegrator, integrator)
    spec.option.disableflags = int(mj.mjtDisableBit.mjDSBL_CONTACT)

    def link(parent: Any, at: tuple, along: int, name: str) -> Any:
        body = parent.add_body(name=name, pos=at)
        body.explicitinertial, body.mass = True, M
        body.ipos = [L / 2 if i == along else 0.0 for i in range(3)]
        body.inertia = [1e-9 if i == along else J for i in range(3)]  # about its own axis it never turns
        body.add_joint(name=f"turn {name}", type=mj.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        return body

    bars = [link(spec.worldbody, (k * L, 0, 0), 1, f"bar{k}") for k in range(windows + 1)]
    for k in range(windows):
        link(bars[k], (0, L, 0), 0, f"rod{k}")
        row = spec.add_equality(type=mj.mjtEq.mjEQ_CONNECT, objtype=mj.mjtObj.mjOBJ_BODY)
        row.name1, row.name2 = f"rod{k}", f"bar{k + 1}"
        row.data[:3] = L, 0, 0
    model = spec.compile()
    data = mj.MjData(model)
    cranks = [model.joint(f"turn bar{k}").dofadr[0] for k in range(windows + 1)]
    couplers = [model.joint(f"turn rod{k}").dofadr[0] for k in range(windows)]

    def solve(step: float) -> Floats:
        model.opt.timestep = step
        model.eq_solref[:] = 2 * step, 1.0
        model.eq_solimp[:] = 0.9999, 0.9999, 0.001, 0.5, 2.0
        mj.mj_resetData(model, data)
        data.qvel[cranks], data.qvel[couplers] = -1.0, 1.0
        mj.set_mju_user_warning(lambda text: None)  # otherwise it writes a file
        mj.mj_step(model, data, round(END / step))
        mj.set_mju_user_warning(None)
        if any(w.number for w in data.warning):
            raise ArithmeticError("unstable")
        angle = data.qpos[cranks[0]]
        return L * np.array([-np.sin(angle), np.cos(angle), 0.0])

    return solve


TOLERANCES = tuple(10.0**-k for k in range(4, 13))
STEPS = tuple(END / (500 * 2**k) for k in range(10))
PEERS = (
    *(
        Tool(f"Pinocchio, Baumgarte {w}/s, scipy DOP853", partial(pinocchio, rate=w), "rtol", TOLERANCES)
        for w in (20, 50)
    ),
    *(
        Tool(f"Pinocchio lcaba, mu {mu:g}, scipy DOP853", partial(lcaba, mu=mu), "rtol", TOLERANCES)
        for mu in (1e-4, 1e-6)
    ),
    Tool("Exudyn, generalized-alpha index 3", exudyn, "step", STEPS),
    Tool("MuJoCo connect, RK4", partial(mujoco, integrator="mjINT_RK4"), "step", STEPS),
    Tool("MuJoCo connect, implicitfast", partial(mujoco, integrator="mjINT_IMPLICITFAST"), "step", STEPS),
)
