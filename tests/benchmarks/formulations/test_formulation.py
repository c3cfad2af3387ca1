"""Formulations against each other: the same motion, the same loads, from the same System."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.support.tolerances import DIFF, ROUND
from treemech.benchmarks.families.trees import chain
from treemech.benchmarks.formulations import Bodies, Inexpressible, formulations, sparse_lu
from treemech.benchmarks.formulations.cartesian import joint_rows as rows
from treemech.benchmarks.formulations.cartesian.cartesian import Cartesian, evaluate
from treemech.benchmarks.problems import problems

FORMULATIONS = formulations()
AGREE, LOADS = 1e-8, 1e-6  # positions, and loads relative to the largest, at tight tolerance
TIGHT = 1e-11
STEPS = {2: 40_000, 4: 4_000}  # of index-3 methods, by order
# problem -> span: short, so that methods of second order get there too
SPANS = {
    "double_pendulum": 0.3,
    "spatial_slider_crank": 0.1,
    "slider_crank_driven": 0.2,
    "a02_double_four_bar": 0.5,
    "a03_andrews_squeezer": 0.001,
    "a04_bricard": 0.5,
    "chaplygin_sleigh": 0.5,
    "spherical_triple_pendulum": 0.2,
    "spring_damper_chain": 0.2,
    "a05_flyball_governor": 0.02,
}


def zoo() -> tm.System:
    """Return a tree with all hinges that have Cartesian rows, loads, a driven slider, and a rod that closes a
    chain.
    """
    rng = np.random.default_rng(11)
    system = tm.System("zoo", gravity=(0.3, -0.5, -9.81))
    end = system.ground.at((0.1, 0.2, 0.0))
    hinges = [
        tm.Universal(), tm.Prismatic("x"), tm.Cylindrical("y"), tm.Screw(0.2, "z"), tm.Planar("x"), tm.Rigid(), tm.Ball(),
        tm.Translation(), tm.Revolute((1, 1, 0)),
    ]  # fmt: skip
    for k, hinge in enumerate(hinges):
        body = system.body(f"b{k}", 1.0 + 0.1 * k, (0.2, 0.3, 0.25), com=rng.uniform(-0.1, 0.1, 3))
        ends = (end, body.at(rng.uniform(-0.1, 0.1, 3)))
        system.connect(f"h{k}", hinge, *(ends if k % 2 else ends[::-1]))
        end = body.at(rng.uniform(-0.3, 0.3, 3))
    system.prescribe("h1", tm.Harmonic(amplitude=0.1, frequency=2.0))
    system.load("push", tm.Force(x=2.0, z=lambda t: 1.0 + t, frame="body"), body.at((0.1, 0, 0)))
    system.load("twist", tm.Moment(y=0.5), body)
    tip = (0.2, 0.1, -0.1)
    system.connect("rod", tm.Distance(1.2), system.ground.at((1.0, 0.0, -0.5)), body.at(tip))
    return system


def zoo_state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(rates={"h0": [0.5, -0.3], "h2": [0.4, 0.1], "h8": 0.7})


def sprung() -> tm.System:
    """Return a planar loop and a slider with force elements on ends and coordinates.

    The lever turns more than once.
    """
    system = tm.System("sprung", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (
        system.body(n, **tm.solids.rod((0, 0, 0), (l, 0, 0), mass=l).properties)
        for n, l in (("crank", 1.0), ("coupler", 3.0), ("rocker", 2.5))
    )
    carriage, lever = (
        system.body("carriage", 1.5, (0.1, 0.1, 0.1)),
        system.body("lever", 0.5, (0.02, 0.02, 0.02)),
    )
    pin = system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)), role="chord")
    system.connect("D", tm.Revolute("z"), system.ground.at((3.5, 0, 0)), rocker)
    slide = system.connect("slide", tm.Prismatic("x"), system.ground.at((0, -1, 0)), carriage)
    turn = system.connect("turn", tm.Revolute((0, 0, -1)), carriage.at((0.1, 0, 0)), lever.at((0.2, 0.1, 0)))
    spring = tm.Spring(stiffness=60.0, damping=0.8, length=0.9, force=lambda t: 2.0 * t)
    system.connect("spring", spring, coupler.at((1.0, 0.2, 0)), carriage.at((0, 0.3, 0)))
    system.connect("coil", tm.RotationalSpring(stiffness=3.0, damping=0.2, angle=0.3), pin)
    system.connect("counted", tm.RotationalSpring(stiffness=0.7, damping=0.01, angle=0.1), turn)
    system.connect("buffer", tm.RotationalSpring(stiffness=40.0, damping=0.5), slide)
    system.connect("rub", tm.Friction(0.2, load=3.0, threshold=0.3, stribeck=0.6), slide)
    stiffness, damping = (30.0, 40.0, 50.0, 1.0, 1.0, 1.0), (0.5, 0.5, 0.5, 0.1, 0.1, 0.1)
    system.connect(
        "bushing", tm.Bushing(stiffness, damping), rocker.at((1, 0, 0)), system.ground.at((3.0, 1.0, 0))
    )
    system.load("push", tm.Force(x=1.0), lever)
    return system


def sprung_state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(
        fix={"A": 0.6, "slide": 0.2, "turn": 6.1}, guess={"B": 0.2, "D": 1.9}, rates={"A": 1.0, "turn": 20.0}
    )


def driven() -> tm.System:
    """Return elements with states: a standard linear solid between bodies, a servo that follows another
    hinge.
    """
    system = sprung()
    bodies = {b.name: b for b in system.bodies}
    solid = tm.Viscoelastic(stiffness=20.0, branches=[30.0], times=[0.05], length=0.5)
    system.connect("solid", solid, bodies["lever"], bodies["rocker"].at((2, 0, 0)))
    servo = tm.PositionServo(gain=2.0, constant=0.3, resistance=2.0, inductance=0.05)
    system.connect("servo", servo, system.connections["turn"], inputs={"setpoint": "A.q"})
    return system


OWN = {
    "zoo": (zoo, zoo_state, 0.2),
    "sprung": (sprung, sprung_state, 0.2),
    "driven": (driven, sprung_state, 0.2),
}


def case(name):
    """Return (system maker, state maker, span)."""
    if name in OWN:
        return OWN[name]
    problem = problems()[name]
    return problem.system, lambda mech: problem.start(mech, problem.cases[0]), SPANS.get(name)


class Reference:
    """The motion of the engine at a tight tolerance, and its loads at the end."""

    def __init__(self, name, span=None, own=None):
        self.make, self.start, own = own or case(name)
        self.span = span or own
        self.mech = self.make().build()
        self.state = self.start(self.mech)
        self.times = np.linspace(0.0, self.span, 6)
        run = self.mech.simulate((0.0, self.span), self.state, rtol=1e-13, atol=1e-13, t_eval=self.times)
        assert run.success, run.message
        motion = [run.body(b.name) for b in self.make().bodies[1:]]
        self.bodies = Bodies(
            *(
                np.stack([getattr(m, k) for m in motion], 1)
                for k in ("position", "rotation", "velocity", "angular_velocity")
            )
        )
        cut = {
            c.name: (np.atleast_1d(run.connection(c.name).q[-1]), np.atleast_1d(run.connection(c.name).u[-1]))
            for c in self.mech._info.chords
            if c.nq
        }
        self.end = tm.State(
            self.span, run.q[-1], run.u[-1], run.z[-1], coordinates=self.mech._lagrange, cut=cut
        )
        self.loads = self.mech.reactions(self.end)


@pytest.fixture(scope="module")
def reference():
    known = {}

    def get(name):
        if name not in known:
            known[name] = Reference(name)
        return known[name]

    return get


def made_for(kind, ref):
    try:
        made = FORMULATIONS[kind](ref.make())
        return made, made.initial(ref.state)
    except Inexpressible as error:
        assert str(error)
        pytest.skip(f"cannot express it: {error}")


def agreement(kind, ref):
    made, _ = made_for(kind, ref)
    setting = TIGHT if made.setting == "rtol" else ref.span / STEPS[made.order]
    solution = made.simulate((0.0, ref.span), ref.state, setting, ref.times)
    assert solution.integration.success, solution.integration.message
    return solution.error(ref.bodies)


@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", [*SPANS, *OWN])
def test_all_move_alike(reference, name, kind):
    assert agreement(kind, reference(name)) < AGREE


@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", [*SPANS, *OWN])
def test_all_carry_the_same_loads(reference, name, kind):
    compare_loads(name, kind, reference(name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", [n for n in problems() if n not in SPANS])
def test_all_carry_the_same_loads_on_all_problems(name, kind):
    compare_loads(name, kind, Reference(name, 0.05 * problems()[name].t_end))


def compare_loads(name, kind, ref):
    """Compare the unique loads at the end of the reference motion."""
    made, _ = made_for(kind, ref)
    y = made.initial(ref.end)
    found = made.reactions(ref.span, y)
    E = getattr(made, "E", None)  # a planar formulation knows what lies in its plane
    scale = max(1.0, *(np.abs(load.force).max() for load in ref.loads.values()))
    planar = plane_of(ref)
    compared = 0
    for connection, wanted in ref.loads.items():
        if not wanted.unique and planar is None:
            continue
        base = planar if not wanted.unique or E is not None else None
        for mine, theirs, axes in zip(found[connection], wanted, ((0, 1), (2,)), strict=True):
            gap = np.asarray(mine) - theirs
            gap = gap if base is None else base[list(axes)] @ gap
            assert np.max(np.abs(gap)) < LOADS * scale, connection
            compared += 1
    assert compared or name in ("a04_bricard",)


def plane_of(ref):
    """Return the plane of a planar mechanism, from the formulation that knows it; None in space."""
    try:
        made = FORMULATIONS["planar-baumgarte"](ref.make())
        made.initial(ref.end)
        return made.E
    except Inexpressible:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", [n for n in problems() if n not in SPANS])
def test_all_move_alike_on_all_problems(name, kind):
    ref = Reference(name, 0.05 * problems()[name].t_end)
    assert agreement(kind, ref) < AGREE


def test_every_formulation_has_a_source_and_expresses_something():
    assert len(FORMULATIONS) >= 20
    tree, loop = chain(2), case("slider_crank_driven")[0]()
    for name, kind in FORMULATIONS.items():
        assert kind.source, name
        refused = 0
        for system in (tree, loop):
            try:
                kind(system)
            except Inexpressible:
                refused += 1
        assert refused < 2, name


# ---------------------------------------------------------------- what cannot be expressed
@pytest.mark.parametrize("kind", ["lagrange-symbolic", "newton-euler-sparse"])
def test_a_coupling_is_refused_by_name(kind):
    system = chain(2)
    system.couple("mesh", tm.Gear(2.0), "h0", "h1")
    with pytest.raises(Inexpressible, match="mesh"):
        FORMULATIONS[kind](system)


def test_a_curve_has_no_symbolic_form():
    system = tm.System("bead")
    a = system.body("a", 1.0, (1, 1, 1))
    system.connect("joint", tm.Translation(), system.ground, a)
    system.connect("wire", tm.PointOnCurve.example(), system.ground, a)
    with pytest.raises(Inexpressible, match="wire"):
        FORMULATIONS["lagrange-symbolic"](system)


def test_a_spatial_mechanism_is_refused_by_the_planar_formulations():
    ref = problems()["a04_bricard"]
    made = FORMULATIONS["planar-park"](ref.system())
    with pytest.raises(Inexpressible, match="joint2"):
        made.initial(ref.start(made.mech))


# ---------------------------------------------------------------- rows
def two_bodies() -> tm.System:
    """Return two bodies with one row of every kind between them."""
    rng = np.random.default_rng(3)
    system = tm.System("rows")
    a, b = (system.body(n, 2.0, (0.2, 0.3, 0.4), com=rng.normal(size=3)) for n in "ab")
    frames = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(16)]
    frames = [R * np.sign(np.linalg.det(R)) for R in frames]

    def ends(k):
        return a.at(rng.normal(size=3), frames[2 * k]), b.at(rng.normal(size=3), frames[2 * k + 1])

    system.connect("revolute", tm.Revolute("x"), *ends(0))
    system.connect("slider", tm.Prismatic("y"), *ends(1))
    system.connect("screw", tm.Screw(0.3), *ends(2))
    system.connect("rod", tm.Distance(lambda t: 1.5 + 0.1 * t * t), *ends(3))
    system.connect("turned", tm.Cylindrical("z"), *ends(4))
    system.prescribe("revolute", tm.Harmonic(amplitude=0.5, frequency=0.7))
    system.connect("edge", tm.KnifeEdge(), system.ground, b.at((0.1, 0.2, 0.3), frames[10]))
    system.connect("lines", tm.RevoluteTranslational(lambda t: 0.2 + 0.1 * t * t), *ends(5))
    system.connect("across", tm.RevoluteRevoluteOrthogonal(0.7), *ends(7))
    system.connect("turn", tm.RelativeAngle(lambda t: 0.3 * t * t), *ends(6))
    return system


class Loose(Cartesian):
    """Rows without asking whether they can hold together."""

    def state(self, t):
        """Return bodies that move and turn steadily from a random state: r' and w (body axes) constant."""
        rng, y = np.random.default_rng(5), np.zeros(self.nq + self.nv)
        for i in range(self.nb):
            r, p, v, w = rng.normal(size=3), rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
            p /= np.linalg.norm(p)
            angle = np.linalg.norm(w) * t
            half = np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * w / np.linalg.norm(w)))
            turned = np.concatenate((
                [p[0] * half[0] - p[1:] @ half[1:]], p[0] * half[1:] + half[0] * p[1:] + np.cross(p[1:], half[1:])
            ))  # fmt: skip
            y[7 * i : 7 * i + 7] = *(r + v * t), *turned
            y[self.nq + 6 * i : self.nq + 6 * i + 6] = *v, *w
        return y

    def levels(self, t):
        self._call(evaluate, t, self.state(t), 0)
        return self.arrays["level"].copy()


def test_rows_are_the_derivatives_of_what_they_restrict():
    made = Loose.__new__(Loose)
    made.name = "loose"
    system = two_bodies()
    Cartesian.__init__(made, system)
    kinds = np.array([row.kind for row in made.rows])
    assert set(kinds) == set(range(rows.TURN + 1))
    h, t = 1e-5, 0.4
    before, now, after = (made.levels(t + s) for s in (-h, 0.0, h))
    # axes that are not parallel have no angle: such rows hold along them only
    sound = ~np.isin(kinds, (rows.ANGLE, rows.SCREW))
    rate = (after - before) / (2 * h)
    held = sound & (kinds != rows.EDGE)
    assert_allclose(rate[held, 0], now[held, 1], atol=100 * DIFF)
    assert_allclose(rate[sound, 1], -now[sound, 2], atol=100 * DIFF)
    made._call(evaluate, t, made.state(t), 0)
    J = made.jacobian(t, made.state(t))
    v = made.state(t)[made.nq :]
    assert_allclose(
        (J @ v)[sound & (kinds != rows.LENGTH)],
        _without_drive(made, now, t)[sound & (kinds != rows.LENGTH)],
        atol=1e-9,
    )


def _without_drive(made, now, t):
    """Return the rates of the residuals less what their signals add."""
    return np.array([
        now[r, 1] + (0.0 if row.signal is None else row.signal.at(t).rate) for r, row in enumerate(made.rows)
    ])  # fmt: skip


def test_two_bodies_and_a_ball_as_worked_out_by_hand():
    """Nikravesh, problem 11.7, with numbers of our own (accelerations and multipliers by three routes in numpy)."""
    p = np.array([0.5, 0.7, -0.5, 0.1]), np.array([0.1, -0.5, 0.7, 0.5])
    points, w = ([0.5, -0.2, 0.3], [-0.4, 0.1, 0.6]), ([1, -2, 0.5], [-0.3, 0.7, 1.1])
    system = tm.System("11.7")
    one = system.body("one", 2.0, (0.2, 0.3, 0.4))
    two = system.body("two", 3.0, (0.5, 0.4, 0.3))
    system.connect("free", tm.Free(), system.ground, one)
    system.connect("ball", tm.Ball(), two.at(points[1]), one.at(points[0]))
    system.load("f", tm.Force(y=10.0), one)
    system.load("n1", tm.Moment(z=5.0), one)
    system.load("n2", tm.Moment(x=1.0, y=-2.0), two)
    places = [0, 0, 0, 0.396, -1.26, 0.028], [0.2, 0, -0.1, -0.2572, -0.354, -0.3596]
    wanted = [
        -0.683394766, -0.037568148, -9.364622126, 5.93358188, 2.751455633, -0.485590417, 0.455596511, 3.358378765,
        -10.106918583, 5.146587602, -3.035958046, -2.38913421,
    ]  # fmt: skip
    for name in ("nikravesh-3-dense", "nikravesh-3-sparse", "augmented-lagrangian-dense"):
        made = FORMULATIONS[name](system)
        y = np.concatenate([*(np.r_[places[0][3 * i : 3 * i + 3], p[i]] for i in (0, 1)),
                            *(np.r_[places[1][3 * i : 3 * i + 3], w[i]] for i in (0, 1))])  # fmt: skip
        made._select(0.0, y)
        assert_allclose(made.rhs(0.0, y)[14:], wanted, atol=1e-7)
        force, _ = made.reactions(0.0, y)["ball"]
        assert_allclose(force, [-1.366789532, -10.075136295, 0.890755748], atol=1e-7)


# ---------------------------------------------------------------- sparse LU
def test_sparse_factors_solve_with_zeros_on_the_diagonal():
    rng = np.random.default_rng(1)
    n = 30
    for trial in range(20):
        A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.15)
        A[np.arange(n), rng.permutation(n)] += 2.0
        A[trial % n, trial % n] = 0.0
        if abs(np.linalg.det(A)) < 1e-6:
            continue
        i, j = np.nonzero(A)
        Ap, Ai, slot, order = sparse_lu.analyse(n, i, j)
        workspace = 20 * len(i) + n * n
        Lp, Up = np.zeros(n + 1, int), np.zeros(n + 1, int)
        Li, Ui, Lx, Ux = (
            np.zeros(workspace, int),
            np.zeros(workspace, int),
            np.zeros(workspace),
            np.zeros(workspace),
        )
        pinv, stack, mark, x = np.zeros(2 * n, int), np.zeros(3 * n, int), np.zeros(n, int), np.zeros(n)
        for scale in (1.0, 1.7):  # the second time with the pivots of the first
            Ax = np.zeros(len(Ai))
            values = scale * A[i, j] * rng.uniform(0.9, 1.1, len(i))
            Ax[slot] = values
            B = np.zeros((n, n))
            B[i, j] = values
            arrays = (n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x)
            if scale == 1.0 or not sparse_lu.refactor.py_func(*arrays):
                assert sparse_lu.factor.py_func(*arrays, stack, mark) == 0
            b = rng.normal(size=n)
            solution = b.copy()
            sparse_lu.solve.py_func(n, order, Lp, Li, Lx, Up, Ui, Ux, pinv, solution, x)
            assert_allclose(B @ solution, b, atol=1e3 * ROUND * (1 + np.abs(solution).max()))


def test_a_singular_matrix_is_reported():
    A = np.ones((3, 3))
    i, j = np.nonzero(A)
    Ap, Ai, _, order = sparse_lu.analyse(3, i, j)
    ints = [np.zeros(40, int) for _ in range(7)]
    floats = [np.zeros(40) for _ in range(3)]
    Lp, Li, Up, Ui, pinv, stack, mark = ints
    Lx, Ux, x = floats
    status = sparse_lu.factor.py_func(
        3, Ap, Ai, np.ones(9), order, Lp, Li, Lx, Up, Ui, Ux, pinv, x, stack, mark
    )
    assert status == 2


# ---------------------------------------------------------------- fairness
@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", ["a03_andrews_squeezer", "spring_damper_chain", "sprung"])
def test_assembly_costs_no_more_than_two_factorisations(reference, name, kind):
    """On mechanisms without and with force elements; measured in one run, one against the other."""
    ref = reference(name)
    made, _ = made_for(kind, ref)
    if name != "a03_andrews_squeezer" and made.assembly_note:
        return
    for _ in range(3):  # a busy machine gets three attempts
        work = made.work(ref.state)
        if "assembly" not in work or work["assembly"] <= 2.0 * work["factorization"]:
            return
    raise AssertionError(work)
