"""Viscoelastic and Fung's elements: closed-form relaxation, both forms of the integral, energy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.support.balance import assert_balance
from treemech.elements.springs.fung import relaxation

K, BRANCHES, TIMES = 80.0, np.array([50.0, 30.0]), np.array([0.1, 0.7])
TOTAL = K + BRANCHES.sum()
RAMP, REACH = 0.4, 0.2


def stretched(element, **options):
    """The element stretched by REACH within RAMP, then held."""
    system = tm.System("test bench", gravity=(0, 0, 0))
    clamp = system.body("clamp", mass=1.0, inertia=(1, 1, 1))
    slide = system.connect("slide", tm.Prismatic("x"), system.ground, clamp)
    system.connect("tissue", element, system.ground.at((-1, 0, 0)), clamp)
    system.prescribe(slide, tm.Function(lambda t: REACH * min(t / RAMP, 1.0), break_times=(RAMP,)))
    mech = system.build()
    return mech.simulate((0, 2), mech.assemble(), t_eval=np.linspace(0.05, 2, 40), **options)


def force_after_ramp(t):
    """int G(t - s) eps' ds with G = K + sum k_i exp(-t / tau_i)."""
    rate, end = REACH / RAMP, np.minimum(t, RAMP)
    F = K * rate * end
    for k, tau in zip(BRANCHES, TIMES, strict=True):
        F = F + k * rate * tau * (np.exp(-(t - end) / tau) - np.exp(-t / tau))
    return F


def table():
    s = np.linspace(0.0, 12.0, 1500)
    return s, (K + np.exp(-np.outer(s, 1.0 / TIMES)) @ BRANCHES) / TOTAL


def mass_on(element, gravity=(0, 0, -9.81), x=0.3):
    """A mass hanging on the element, its end at x, at rest."""
    system = tm.System("hanging", gravity=gravity)
    mass = system.body("mass", mass=2.0, inertia=(1, 1, 1))
    system.connect("slide", tm.Prismatic("z"), system.ground, mass)
    system.connect("tissue", element, system.ground.at((0, 0, 1)), mass)
    mech = system.build()
    return mech, mech.assemble(fix={"slide": -x})


def test_viscoelastic_relaxes_after_a_ramp_as_its_closed_form():
    run = stretched(tm.Viscoelastic(K, BRANCHES, TIMES, length=1.0), rtol=1e-11)
    assert_allclose(run.element("tissue").effort, force_after_ramp(run.t), rtol=1e-9)


def test_fung_relaxes_after_a_ramp_as_its_closed_form():
    run = stretched(tm.Fung(TOTAL, BRANCHES / TOTAL, TIMES, length=1.0), rtol=1e-11)
    assert_allclose(run.element("tissue").effort, force_after_ramp(run.t), rtol=1e-9)


def test_history_relaxes_after_a_ramp_with_second_order():
    errors = []
    for samples in (101, 201, 401):  # 0.02, 0.01, 0.005 s apart
        element = tm.FungHistory(TOTAL, *table(), span=2.0, samples=samples, length=1.0)
        run = stretched(element)
        errors.append(np.abs(run.element("tissue").effort - force_after_ramp(run.t)).max())
    assert errors[2] < 1e-4 * force_after_ramp(np.array(RAMP))
    assert_allclose(np.array(errors[:2]) / errors[1:], 4.0, rtol=0.15)


def test_a_jump_relaxes_with_the_relaxation_function():
    for element in (
        tm.Viscoelastic(K, BRANCHES, TIMES, length=0.5, relaxed=False),
        tm.Fung(TOTAL, BRANCHES / TOTAL, TIMES, length=0.5, stiffening=2.0, relaxed=False),
        tm.FungHistory(TOTAL, *table(), span=2.0, samples=600, length=0.5, stiffening=2.0, relaxed=False),
    ):
        system = tm.System("held", gravity=(0, 0, 0))
        body = system.body("body", mass=1.0, inertia=(1, 1, 1))
        hinge = system.connect("hinge", tm.Prismatic("x"), system.ground, body)
        system.connect("tissue", element, system.ground.at((-1, 0, 0)), body)
        system.prescribe(hinge, 0.0)
        mech = system.build()
        run = mech.simulate(
            (0, 2), mech.assemble(), t_eval=np.linspace(0.1, 2, 20), rtol=1e-10, first_step=1e-8
        )
        instant = 0.5 * TOTAL if element.kind == "Viscoelastic" else TOTAL * np.expm1(1.0) / 2.0
        want = instant * (K + np.exp(-np.outer(run.t, 1.0 / TIMES)) @ BRANCHES) / TOTAL
        assert_allclose(run.element("tissue").effort, want, rtol=1e-6)


def test_rates_of_the_standard_linear_solid():
    run = stretched(tm.Viscoelastic.from_rates(-4.0, 320.0, 140.0, length=1.0), rtol=1e-11)
    late = run.t > RAMP
    F = run.element("tissue").effort
    peak = REACH * 80.0 + 60.0 * 0.25 * REACH / RAMP * (1 - np.exp(-4.0 * RAMP))
    want = REACH * 80.0 + (peak - REACH * 80.0) * np.exp(-4.0 * (run.t - RAMP))  # F' = -4 F + 320 eps
    assert_allclose(F[late], want[late], rtol=1e-8)


def test_prony_states_and_history_give_the_same_motion():
    """Large motion of a stiffening tissue: the history of samples against exact states."""
    prony, state = mass_on(tm.Fung(TOTAL, BRANCHES / TOTAL, TIMES, length=1.1, stiffening=4.0))
    t = np.linspace(0.02, 2, 50)
    want = prony.simulate((0, 2), state, t_eval=t, rtol=1e-10).connection("slide").q
    errors = []
    for samples in (251, 501):  # 8 and 4 ms apart
        element = tm.FungHistory(TOTAL, *table(), span=2.0, samples=samples, length=1.1, stiffening=4.0)
        history, state = mass_on(element)
        run = history.simulate((0, 2), state, t_eval=t, rtol=1e-8)
        errors.append(np.abs(run.connection("slide").q - want).max())
    assert errors[1] < 1e-5 and errors[0] / errors[1] > 3.0


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams", "DP5"])
def test_tolerances_and_methods_change_the_motion_of_a_history_by_no_more_than_they_allow(method):
    """What the element stores lies at its own times, not at the steps of the integrator (off by 1e-4 before)."""
    element = tm.FungHistory(TOTAL, *table(), span=1.0, samples=41, length=1.1, stiffening=4.0)
    mech, state = mass_on(element)
    t = np.linspace(0, 1, 11)
    want = mech.simulate((0, 1), state, t_eval=t, rtol=1e-12).q
    for rtol in (1e-6, 1e-9):
        run = mech.simulate((0, 1), state, t_eval=t, method=method, rtol=rtol)
        assert np.abs(run.q - want).max() < 30.0 * rtol
    whole = mech.simulate((0, 1), state, method=method)
    assert set(np.round(np.arange(0, 41) / 40.0, 9)) <= set(np.round(whole.t, 9))


def test_a_run_that_goes_on_remembers_at_the_same_times():
    element = tm.FungHistory(TOTAL, *table(), span=1.0, samples=41, length=1.1, stiffening=4.0)
    mech, state = mass_on(element)
    whole = mech.simulate((0, 1), state, rtol=1e-11)
    half = mech.simulate((0, 0.5), state, rtol=1e-11)
    rest = mech.simulate((0.5, 1), half.state(), rtol=1e-11)
    assert_allclose(rest.q[-1], whole.q[-1], atol=1e-9)


def test_a_history_with_more_times_than_a_run_can_have_is_refused_by_name():
    mech, state = mass_on(tm.FungHistory(TOTAL, *table(), span=1e-5, samples=201, length=1.1))
    with pytest.raises(tm.ElementError, match="FungHistory 'tissue' remembers every 5e-08 s, 2e.07 times"):
        mech.simulate((0, 1), state)


def test_a_short_memory_forgets_only_what_has_relaxed():
    """A ring of 600 samples over 1.5 s, ten time constants long, in a run of 2400 steps."""
    t = np.linspace(4, 6, 20)
    fast = np.array([0.05, 0.15])
    s = np.linspace(0, 4, 1500)
    G = (K + np.exp(-np.outer(s, 1.0 / fast)) @ BRANCHES) / TOTAL
    prony, state = mass_on(tm.Fung(TOTAL, BRANCHES / TOTAL, fast, length=1.1), x=0.1)
    want = prony.simulate((0, 6), state, t_eval=t, rtol=1e-9).connection("slide").q
    ring, state = mass_on(tm.FungHistory(TOTAL, s, G, span=1.5, samples=600, length=1.1), x=0.1)
    run = ring.simulate((0, 6), state, t_eval=t, rtol=1e-8, max_step=0.0025, first_step=1e-6)
    assert_allclose(run.connection("slide").q, want, atol=2e-5)


def test_fungs_own_relaxation_function():
    from scipy.special import exp1

    c, tau_1, tau_2 = 0.3, 0.02, 5.0
    element = tm.FungHistory.fung(100.0, c, tau_1, tau_2, span=10.0, samples=20, relaxed=False)
    motion = element.sample(np.random.default_rng(0), 0.0)
    views = tm.EndsMotion(*(np.array(x) for x in _views(motion, element)))
    views.position[:] = (0, 0, 0), (0.1, 0, 0)
    views.velocity[:], views.angular_velocity[:] = 0.0, 0.0
    views.memory[:6] = 1, 0.0, 0.0, 0.1, 0.0, 0.0  # one sample: 0.1 m at t = 0
    for t in (1e-3, 0.1, 1.0, 20.0):
        G = (1 + c * (exp1(t / tau_2) - exp1(t / tau_1))) / (1 + c * np.log(tau_2 / tau_1))
        assert element.at(views, t).effort[0] == pytest.approx(100.0 * 0.1 * G, rel=1e-6)


def _views(record, element):
    from treemech.elements.energetic import motion_views

    return motion_views(record, element.n)


def test_energy_dissipated_and_stored_is_what_was_put_in():
    for element in (
        tm.Viscoelastic(K, BRANCHES, TIMES, length=1.0, damping=0.5),
        tm.Fung(TOTAL, BRANCHES / TOTAL, TIMES, length=1.1, stiffening=4.0),
    ):
        mech, state = mass_on(element)
        run = mech.simulate((0, 5), state, rtol=1e-11, audit=True)
        energy = run.energy.total + run.audit["tissue"].dissipated
        assert_allclose(energy, energy[0], atol=1e-9 * np.ptp(run.energy.kinetic))
        assert np.all(np.diff(run.audit["tissue"].dissipated) >= 0.0)


def test_energy_of_the_history_closes_over_the_steps():
    element = tm.FungHistory(TOTAL, *table(), span=5.0, samples=1000, length=1.1, stiffening=4.0)
    mech, state = mass_on(element)
    run = mech.simulate((0, 5), state, rtol=1e-9, max_step=0.01, first_step=1e-6, audit=True)
    energy = run.energy.total + run.audit["tissue"].dissipated
    assert_allclose(energy, energy[0], atol=1e-6 * np.ptp(run.energy.kinetic))
    lost = run.element("tissue").dissipated
    assert lost.min() > -1e-3 * lost.max()  # positive but for the error of the sum


def test_a_table_that_a_spline_would_overshoot_still_falls():
    s, G = np.array([0.0, 0.1, 0.2, 0.3, 3.0]), np.array([1.0, 1.0, 0.4, 0.4, 0.3])
    element = tm.FungHistory(TOTAL, s, G, span=2.0)
    ages = np.linspace(0.0, 3.0, 2000)
    found = np.array([relaxation(element.knots, element.table, age) for age in ages])
    assert np.all(np.diff(found[:, 0]) <= 1e-15) and np.all(found[:, 1] <= 1e-12)
    assert_allclose([relaxation(element.knots, element.table, x)[0] for x in s], G, rtol=1e-14)


@pytest.mark.parametrize("stiffening", [0.0, 2.0])
def test_power_balance_of_prony_elements(stiffening):
    assert_balance(tm.Viscoelastic(K, BRANCHES, TIMES, length=0.5, damping=3.0))
    assert_balance(tm.Fung(TOTAL, BRANCHES / TOTAL, TIMES, length=0.5, stiffening=stiffening))


@pytest.mark.parametrize("relaxed", [True, False])
def test_power_balance_of_the_history(relaxed):
    element = tm.FungHistory(
        TOTAL, *table(), span=1.0, samples=20, length=0.5, stiffening=2.0, relaxed=relaxed
    )

    def with_history(motion, rng):
        count = rng.integers(0, 40)  # beyond the ring, too
        times = np.sort(rng.uniform(-1.0, 0.29, count))
        motion.memory[0], motion.memory[1] = count, times[0] if count else 0.0
        for i, s in enumerate(times):
            motion.memory[2 + 2 * (i % 20) : 4 + 2 * (i % 20)] = s, 0.3 * np.sin(5.0 * s)
        return motion

    assert_balance(element, with_history, least=-np.inf)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.Viscoelastic(1.0, [1.0], [0.0]), "Viscoelastic.times"),
        (lambda: tm.Viscoelastic(1.0, [-1.0], [1.0]), "negative"),
        (lambda: tm.Viscoelastic(1.0, [1.0, 2.0], [1.0]), "2 branches and 1 times"),
        (lambda: tm.Viscoelastic.from_rates(1.0, 1.0, 1.0), "K_F"),
        (lambda: tm.Fung(1.0, [0.7, 0.6], [1.0, 2.0]), "add up to 1.3"),
        (lambda: tm.Fung(0.0, [0.7], [1.0]), "Fung.stiffness"),
        (lambda: tm.FungHistory(1.0, [0.0, 2.0, 1.0], [1.0, 0.5, 0.4], span=1.0), "increasing from 0"),
        (lambda: tm.FungHistory(1.0, [0.0, 1.0], [1.0, 1.5], span=1.0), "must fall"),
        (lambda: tm.FungHistory.fung(1.0, 0.1, 2.0, 1.0, span=1.0), "tau_1 < tau_2"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
