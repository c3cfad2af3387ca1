"""Power balance, third law and sign of the dissipation of energetic elements at random motions, by differences."""

import numpy as np
from scipy.spatial.transform import Rotation

from treemech.elements.energetic import EndsMotion, motion_views

STEP = 1e-6


def random_motion(element, rng, t):
    return EndsMotion(*(np.array(x) for x in motion_views(element.sample(rng, t), element.n)))


def moved(motion, h, rates):
    """Return the motion a moment h later."""
    turned = np.array(
        [
            Rotation.from_rotvec(h * w).as_matrix() @ R
            for w, R in zip(motion.angular_velocity, motion.rotation, strict=True)
        ]
    )
    return motion._replace(
        position=motion.position + h * motion.velocity, rotation=turned, x=motion.x + h * rates
    )


def assert_balance(element, prepare=lambda motion, rng: motion, n=60, least=0.0, active=0.3, seed=1):
    """Assert that power to the bodies + energy' + dissipated - supplied = 0.

    There is no resultant, and the dissipation is at least `least`.
    """
    rng, t, busy = np.random.default_rng(seed), 0.3, 0
    for _ in range(n):
        motion = prepare(random_motion(element, rng, t), rng)
        out = element.at(motion, t)
        power = np.sum(out.force * motion.velocity) + np.sum(out.moment * motion.angular_velocity)
        later, before = (element.at(moved(motion, h, out.rates), t + h).energy[0] for h in (STEP, -STEP))
        change = (later - before) / (2 * STEP)
        size = abs(power) + abs(change) + abs(out.dissipated[0])
        busy += size > 0.0
        assert abs(power + change + out.dissipated[0] - out.supplied[0]) <= 1e-7 * size  # differences
        assert out.dissipated[0] >= least
        moment = out.moment + np.cross(motion.position, out.force)
        assert np.abs(out.force.sum(0)).max() <= 1e-12 * np.abs(out.force).max()
        assert np.abs(moment.sum(0)).max() <= 1e-12 * (np.abs(moment).max() + np.abs(out.force).max())
    assert busy >= active * n
