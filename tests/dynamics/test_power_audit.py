"""Power balance over a run: what elements store, lose and are supplied with adds up, element by element."""

import numpy as np

import treemech as tm

RNG = np.random.default_rng(2)
ROOT = RNG.normal(size=(6, 6))


def fairground():
    """One of each smooth passive element in one model: a chain of bodies, three free ones, a wheel."""
    system = tm.System("fairground", gravity=(0, 0, -9.81))
    ground = system.ground
    arm = system.body("arm", mass=2.0, inertia=(0.1, 0.3, 0.3), com=(0.5, 0, 0))
    fore = system.body("fore", mass=1.0, inertia=(0.1, 0.2, 0.2), com=(0.4, 0, 0))
    system.connect("A", tm.Revolute("y"), ground, arm)
    B = system.connect("B", tm.Revolute("x"), arm.at((1, 0, 0)), fore)
    free = [system.body(f"free {k}", mass=1.0, inertia=(0.2, 0.2, 0.3)) for k in range(3)]
    for k, body in enumerate(free):
        system.connect(f"F{k}", tm.Free(), ground, body)
    beam = dict(
        length=1.0,
        axial_stiffness=500.0,
        bending_stiffness=(20.0, 30.0),
        torsion_stiffness=10.0,
        damping=0.01,
    )
    system.connect(
        "spring",
        tm.Spring(stiffness=80.0, damping=0.4, length=0.7, force=tm.Harmonic(5.0, 3.0)),
        arm.at((0.6, 0, 0)),
        ground.at((0, 1, 1)),
    )
    table = [(0.5, -30.0), (1.0, -5.0), (1.6, 0.0), (2.0, 30.0), (3.0, 60.0)]
    system.connect("table", tm.TableSpring(table, damping=0.2), fore.at((0.8, 0, 0)), ground.at((1, -1, 1)))
    system.connect(
        "rotational", tm.RotationalSpring(stiffness=6.0, damping=0.1, torque=tm.Harmonic(2.0, 5.0)), B
    )
    system.connect(
        "bushing", tm.Bushing(30 * ROOT @ ROOT.T, damping=np.full(6, 0.3)), ground.at((-1, 0, 0)), free[0]
    )
    system.connect("beam", tm.Beam(**beam), free[0], free[1].at((0.1, 0, 0)))
    system.connect("corotational", tm.CorotationalBeam(**beam), free[1], free[2])
    triangle = [(0, 0), (1.0, 0.0), (0.5, 0.8)]
    system.connect(
        "sheet",
        tm.PlaneElement(triangle, 300.0, 0.3, 1.0, damping=0.01),
        free[0].at((0, 0.5, 0)),
        free[1].at((0, 0.5, 0)),
        free[2].at((0, 1.0, 0)),
    )
    system.load("drag", tm.Drag(linear=0.2, wind_y=2.0), fore.at((0.8, 0, 0)))
    system.load(
        "push", tm.ForceFunction(lambda t, q, u: (q[0], 0.1 * u[1], 1.0)), arm.at((1, 0, 0)), "A", "B"
    )
    mech = system.build()
    poses = {f"free {k}": (-1.0 + k, 0.0, 0.0) for k in range(3)}
    return mech, mech.assemble(
        guess={"A": 0.3}, poses=poses, rates={"B": 1.0, "F2": (0.1, 0.5, -0.4, 1.0, 0.2, 0.3)}
    )


def test_balance_of_smooth_elements_closes_over_five_seconds():
    mech, state = fairground()
    run = mech.simulate((0, 5), state, rtol=1e-11, atol=1e-12, audit=True, t_eval=np.linspace(0, 5, 11))
    work = 0.0
    for name, audit in run.audit.items():
        stored = run.element(name).energy - run.element(name).energy[0]
        terms = np.array([audit.work, stored, audit.dissipated, -audit.supplied])
        size = np.abs(terms).max()
        assert size > 1e-3, name
        assert np.abs(terms.sum(axis=0)).max() < 1e-9 * max(size, 1.0), name
        work = work + audit.work
    mechanical = run.energy.total - sum(run.element(n).energy for n in run.audit)
    assert np.abs(mechanical - mechanical[0] - work).max() < 1e-9 * np.abs(work).max()


def test_balance_of_one_sided_elements_closes():
    """A rope and stops: the load has corners, the balance does not suffer much."""
    system = tm.System("stops", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, inertia=(0, 0.1, 0.1), com=(0.5, 0, 0))
    A = system.connect("A", tm.Revolute("y"), system.ground, rod)
    system.connect("stop", tm.HingeStop(lower=-0.8, upper=0.3, stiffness=3e3, damping=0.2), A)
    system.connect(
        "rope",
        tm.Spring(stiffness=40.0, length=0.7, only="tension"),
        rod.at((1, 0, 0)),
        system.ground.at((1, 0, 0.5)),
    )
    mech = system.build()
    run = mech.simulate((0, 5), mech.state(u={"A": 4.0}), rtol=1e-10, atol=1e-12, audit=True)
    for name, audit in run.audit.items():
        terms = np.array([audit.work, run.element(name).energy, audit.dissipated])
        assert np.abs(terms).max() > 0.1, name
        assert np.abs(terms.sum(axis=0) - terms[:, 0].sum()).max() < 1e-6 * np.abs(terms).max()
