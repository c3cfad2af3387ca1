"""Modes as motions: frequency, damping, and a run that oscillates in the shape."""

from dataclasses import dataclass

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import loops


def chain():
    system = tm.System("two masses")
    a, b = (system.body(n, 2.0, (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("A", tm.Prismatic("x"), system.ground, a)
    system.connect("B", tm.Prismatic("x"), system.ground, b)
    for name, ends in (("k", (system.ground, a)), ("l", (a, b)), ("m", (b, system.ground))):
        system.connect(name, Coil(50.0), *ends)
    return system.build()


@dataclass(frozen=True)
class Coil(tm.Energetic):
    """A linear spring along x with a damper."""

    stiffness: float
    n_ends = 2
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 0] - position[0, 0]

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0] + 0.4 * now.rate[0]


def test_frequency_and_damping_of_two_masses():
    mech = chain()
    modes = mech.linearize(mech.state()).modes
    # k/m = 25: undamped frequencies 5 and sqrt(75) rad/s; damping ratio c w / (2 k)
    slow = min(modes, key=lambda m: abs(m.eigenvalue))
    fast = max(modes, key=lambda m: abs(m.eigenvalue))
    for mode, w in ((slow, 5.0), (fast, np.sqrt(75.0))):
        z = 0.4 * w / (2 * 50.0)
        assert abs(mode.eigenvalue) == pytest.approx(w, rel=1e-9)
        assert mode.damping_ratio == pytest.approx(z, rel=1e-9)
        assert mode.frequency == pytest.approx(w * np.sqrt(1 - z**2) / (2 * np.pi), rel=1e-9)


def test_the_motion_of_a_mode_has_its_shape_and_frequency():
    mech = chain()
    modes = mech.linearize(mech.state()).modes
    for number, mode in enumerate(modes):
        run = modes.motion(number, amplitude=0.1)
        assert np.max(np.abs(run.q)) == pytest.approx(0.1, rel=1e-2)
        assert run.t[-1] == pytest.approx(3 / mode.frequency)
        sign = np.sign((mode.shape["A"] / mode.shape["B"]).real)
        assert np.allclose(run.q[:, 0], sign * run.q[:, 1], atol=1e-9)
        rate = np.gradient(run.q[:, 0], run.t)
        assert np.max(np.abs(rate - run.u[:, 0])[2:-2]) < 1e-2 * np.max(np.abs(run.u))


def test_closed_chains_stay_closed(tmp_path):
    mech, start = loops()
    found = mech.linearize(mech.state(q=start.q), hold=())
    for number in range(min(2, len(found.modes))):
        run = found.modes.motion(number, amplitude=0.05)
        assert np.max(run.residual.position) < 1e-10
    assert found.modes.animate(0, tmp_path / "mode.html").exists()


def test_wrong_numbers_are_told():
    modes = chain().linearize(chain().state()).modes
    for number in (99, "a"):
        with pytest.raises(tm.ElementError, match="no mode"):
            modes.motion(number)
    with pytest.raises(tm.ElementError, match="amplitude"):
        modes.motion(0, amplitude=0.0)
