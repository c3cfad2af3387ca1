"""The work of drives closes the balance of energy."""

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import four_bar_system


def arm():
    """Return an arm on a turned and lifted column, with a spring and a damper."""
    system = tm.System("arm")
    column = system.body("column", 2.0, (0.1, 0.1, 0.2))
    link = system.body("link", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("column", tm.Cylindrical("z"), system.ground, column)
    system.connect("elbow", tm.Revolute("y"), column, link)
    system.connect(
        "spring", tm.Spring(stiffness=40.0, damping=0.6, length=0.3), system.ground, link.at((1, 0, 0))
    )
    system.prescribe("column", tm.Harmonic(0.5, 3.0))
    system.prescribe("column", tm.Harmonic(0.1, 5.0), coordinate=1)
    return system


def linkage():
    system = four_bar_system()
    system.connect("damper", tm.Spring(stiffness=5.0, damping=2.0, length=1.0), *system.bodies[-3:-1])
    system.prescribe("A", tm.Polynomial([0.4, 2.0, 0.5]))
    return system


def guided():
    """Return a plate whose pose is partly given by a constraint, on a spring."""
    system = tm.System("guided")
    plate = system.body("plate", 1.5, (0.1, 0.1, 0.2))
    system.connect("free", tm.Planar("z"), system.ground, plate)
    system.connect(
        "spring", tm.Spring(stiffness=30.0, damping=0.5, length=0.2), system.ground, plate.at((1, 0.3, 0))
    )
    system.prescribe_pose("guide", plate, system.ground, x=tm.Harmonic(0.3, 4.0))
    return system


@pytest.mark.parametrize("method", ["DOP853", "DP5", "Radau", "Adams"])
@pytest.mark.parametrize("make", [arm, linkage, guided])
@pytest.mark.parametrize("outputs", [None, 7])
def test_the_balance_of_a_driven_mechanism_closes(make, method, outputs):
    mech = make().build()
    times = None if outputs is None else np.linspace(0, 1.5, outputs)
    rtol = 1e-10 if method != "DP5" else 1e-8
    run = mech.simulate((0, 1.5), mech.assemble(), method, rtol=rtol, atol=rtol, audit=True, t_eval=times)
    assert run.success and (times is None or np.array_equal(run.t, times))
    supplied = sum(a.supplied for a in run.audit.values())
    lost = sum(a.dissipated for a in run.audit.values())
    gap = run.energy.total - run.energy.total[0] + lost - supplied
    size = max(np.abs(a.work).max() for a in run.audit.values())
    assert np.abs(gap).max() < 100 * rtol * max(size, 1.0) and np.abs(supplied).max() > 0.05 * size


def test_drives_are_audited_by_the_names_of_their_coordinates(tmp_path):
    mech = arm().build()
    run = mech.simulate((0, 1), audit=True)
    assert list(run.audit) == ["spring", "column[0]", "column[1]"]
    alone = mech.simulate((0, 1), t_eval=np.linspace(0, 1, 20001), rtol=1e-9)  # by the trapezoidal rule
    for k in range(2):
        power = alone.drive("column", k) * alone.connection("column").u[:, k]
        work = np.sum(0.5 * np.diff(alone.t) * (power[1:] + power[:-1]))
        assert run.audit[f"column[{k}]"].work[-1] == pytest.approx(work, rel=1e-5, abs=1e-6)
    again = tm.read(run.save(tmp_path / "run.npz")).audit
    assert np.array_equal(again["column[1]"].supplied, run.audit["column[1]"].supplied)


def test_the_outputs_of_an_audited_run_are_those_of_the_run():
    mech, times = linkage().build(), np.linspace(0, 1, 9)
    start = mech.assemble()
    plain = mech.simulate((0, 1), start, rtol=1e-10, t_eval=times)
    audited = mech.simulate((0, 1), start, rtol=1e-10, t_eval=times, audit=True)
    np.testing.assert_allclose(audited.q, plain.q, atol=1e-9)
    assert np.abs(audited.residual.position).max() < 1e-10


def test_a_driven_run_without_an_audit_says_so():
    system = tm.System("driven")
    system.connect("A", tm.Revolute("y"), system.ground, system.body("a", 1.0, (1, 1, 1)))
    system.prescribe("A", tm.Harmonic(0.5, 3.0))
    mech = system.build()
    with pytest.raises(tm.TreemechError, match="audit=True"):
        _ = mech.simulate((0, 1)).audit
    # all of the work goes into the speed: J u^2 / 2
    run = mech.simulate((0, 1), audit=True, rtol=1e-8)
    np.testing.assert_allclose(run.audit["A"].work, 0.5 * (run.u[:, 0] ** 2 - run.u[0, 0] ** 2), atol=1e-9)


def test_constraints_that_stand_still_are_no_drives():
    """A rod of constant length is given by a signal too, a constant one: it does no work, and none is sought."""
    system = tm.System("pendulum")
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1))
    system.connect("rod", tm.Distance(1.0), system.ground, bob)
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(guess={"free bob[0]": 1.0}), audit=True, rtol=1e-9)
    assert list(run.audit) == []
    assert abs(run.energy.total - run.energy.total[0]).max() < 1e-7


def test_a_mass_on_a_moving_platform_that_lets_go_of_it():
    """The platform works on the mass while it pushes; the energy of the mass is what it was given."""
    system = tm.System("platform", gravity=(0, 0, -9.81))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    platform = tm.InPlane(distance=tm.Harmonic(0.1, 14.0), unilateral=True)
    system.connect("platform", platform, system.ground, mass)
    mech = system.build()
    times = np.linspace(0, 0.25, 11)
    run = mech.simulate((0, 0.25), mech.assemble(), rtol=1e-9, audit=True, t_eval=times)
    plain = mech.simulate((0, 0.25), mech.assemble(), rtol=1e-9, t_eval=times)
    assert run.switched and not run.switched[0].holds
    np.testing.assert_allclose(run.q, plain.q, atol=1e-8)
    gained = run.energy.total - run.energy.total[0]
    np.testing.assert_allclose(run.audit["platform"].work, gained, atol=1e-6)


def geared(belt):
    """Return two wheels on a belt between pendulums: a stiff spring makes the load of the belt large."""
    system = tm.System("geared", gravity=(0, 0, -9.81))
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.2, 0, 0)) for n in "ab")
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), system.ground.at((1, 0, 0)), b)
    system.couple("belt", belt, "A", "B")
    system.connect("spring", tm.RotationalSpring(stiffness=1e4), "B")
    return system.build()


def evaluations(monkeypatch, mech, **given):
    """Return an audited run and the number of states that its audit looked at."""
    from treemech.simulation import drive_work

    looked, own = [], drive_work.results_of_states

    def count(mech, t, *rest):
        looked.append(len(t))
        return own(mech, t, *rest)

    monkeypatch.setattr(drive_work, "results_of_states", count)
    return mech.simulate((0, 0.5), mech.assemble(fix={"A": 0.1}), rtol=1e-10, audit=True, **given), sum(
        looked
    )


def test_a_belt_that_rests_takes_no_work_and_no_time(monkeypatch):
    """The power was rounding, which no number of halvings makes smaller: 4,096 states in place of one."""
    run, looked = evaluations(monkeypatch, geared(tm.Belt(0.1, 0.1, offset=tm.Polynomial([0.0]))))
    assert np.all(run.audit["belt"].work == 0.0) and run.energy.kinetic.max() > 10.0
    assert looked <= 15 * len(run.t)
    run, looked = evaluations(monkeypatch, geared(tm.Belt(0.1, 0.1)))
    assert list(run.audit) == ["spring"] and looked == 0  # a number is no drive


def test_work_is_integrated_in_blocks_whose_size_changes_nothing(monkeypatch):
    """The results of all bodies at all times of a long run would take gigabytes at once."""
    from treemech.simulation import drive_work

    mech = linkage().build()
    whole = mech.simulate((0, 0.5), mech.assemble(), audit=True)
    blocks, own = [], drive_work.results_of_states

    def count(mech, t, *rest):
        blocks.append(len(t))
        return own(mech, t, *rest)

    monkeypatch.setattr(drive_work, "results_of_states", count)
    monkeypatch.setattr(drive_work, "_BLOCK", 7)
    parts = mech.simulate((0, 0.5), mech.assemble(), audit=True)
    assert max(blocks) == 7 and len(blocks) > 3
    np.testing.assert_allclose(parts.audit["A"].work, whole.audit["A"].work, rtol=1e-12)


def test_a_drive_without_load_takes_little_time(monkeypatch):
    """A belt that moves loosely beside large loads: its power is rounding of theirs."""
    system = tm.System("loose", gravity=(0, 0, -9.81))
    wheel = system.body("wheel", 1.0, (0.1, 0.1, 0.1))  # about its centre: it turns without any load
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0.2, 0, 0))
    system.connect("W", tm.Revolute("y"), system.ground, wheel)
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.connect("spring", tm.RotationalSpring(stiffness=1e4), "A")
    system.prescribe("W", tm.Polynomial([0.0, 3.0]))
    run, looked = evaluations(monkeypatch, system.build())
    assert np.abs(run.audit["W"].work).max() < 1e-12
    assert looked <= 40 * len(run.t)


def test_a_run_that_fails_keeps_the_outputs_it_reached():
    system = arm()
    system.controller("fail", lambda t: 1.0 if t < 0.45 else 1 / 0, 0.1, (), ("volts",))
    system.connect("motor", tm.ElectricMotor(0.3, 1.5, 0.03), "elbow", inputs={"voltage": "volts"})
    mech = system.build()
    with pytest.raises(tm.ElementError, match="controller 'fail'") as told:
        mech.simulate((0, 1), audit=True, t_eval=[0.0, 0.2, 0.3, 0.9])
    assert told.value.partial.t.tolist() == [0.0, 0.2, 0.3]
