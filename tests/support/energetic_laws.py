"""Laws of energetic elements, checked without the library's own check: power balance, objectivity, equilibrium."""

import numpy as np
from scipy.spatial.transform import Rotation

from treemech.elements.compilation.callback import C_ELEMENT
from treemech.elements.compilation.entry import make_entry
from treemech.elements.element import record
from treemech.elements.energetic import EndsMotion, load_views, motion_views
from treemech.topology.arrays import addresses


def moved(motion: EndsMotion, h: float) -> EndsMotion:
    """Return the motion a time h later, at constant velocities."""
    turns = Rotation.from_rotvec(h * motion.angular_velocity).as_matrix()
    return motion._replace(
        position=motion.position + h * motion.velocity,
        rotation=turns @ motion.rotation,
        q=motion.q + h * motion.u,
    )


def power_to_bodies(motion, load) -> float:
    return float(
        np.sum(load.force * motion.velocity)
        + np.sum(load.moment * motion.angular_velocity)
        + load.load @ motion.u
    )


def balance_error(element, rng, t=0.3, h=1e-5) -> float:
    """Return |power to the bodies + energy' + dissipated - supplied|, relative to the largest of them."""
    motion = motion_views(element.sample(rng, t), element.n)
    now = element.at(motion, t)
    after, before = element.at(moved(motion, h), t + h), element.at(moved(motion, -h), t - h)
    change = (after.energy[0] - before.energy[0]) / (2 * h)
    terms = [power_to_bodies(motion, now), change, now.dissipated[0], -now.supplied[0]]
    return abs(sum(terms)) / max(1.0, *(abs(x) for x in terms))


def objectivity_error(element, rng, t=0.3) -> float:
    """Return how far the loads fail to follow a rigid motion of all ends (3.2.23)."""
    motion = motion_views(element.sample(rng, t), element.n)
    Q, shift = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    spin, speed = rng.normal(size=3), rng.normal(size=3)
    place = motion.position @ Q.T + shift
    other = motion._replace(
        position=place,
        rotation=Q @ motion.rotation,
        velocity=motion.velocity @ Q.T + speed + np.cross(spin, place),
        angular_velocity=motion.angular_velocity @ Q.T + spin,
    )
    one, two = element.at(motion, t), element.at(other, t)
    error = np.max(np.abs(two.force - one.force @ Q.T)) + np.max(np.abs(two.moment - one.moment @ Q.T))
    error += abs(two.energy[0] - one.energy[0]) + abs(two.dissipated[0] - one.dissipated[0])
    return float(error / scale(one))


def resultant_error(element, rng, t=0.3) -> float:
    """Return resultant force and moment of the loads, which a massless element cannot have (3.2.20)."""
    motion = motion_views(element.sample(rng, t), element.n)
    load = element.at(motion, t)
    force = np.sum(load.force, axis=0)
    moment = np.sum(load.moment + np.cross(motion.position, load.force), axis=0)
    return float(np.max(np.abs([force, moment])) / scale(load))


def scale(load) -> float:
    return max(1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in (load.force, load.moment, load.energy)))


def at_rest(element, positions, rotations=None) -> EndsMotion:
    """Return ends at given places, not moving."""
    motion = motion_views(np.zeros(element.n.motion_size), element.n)
    motion.position[:] = positions
    motion.rotation[:] = np.eye(3) if rotations is None else rotations
    return motion


def at_rest_often(element):
    """Return `element.at(at_rest(element, positions, rotations))` as a function of both, for Newton's method."""
    entry, n = make_entry(element), element.n
    function, numbers, _ = C_ELEMENT(entry.address), *record(element)
    seen, out = np.zeros(n.motion_size), np.zeros(n.load_size)
    motion, load = motion_views(seen, n), load_views(out, n)
    a, par, to = addresses((seen, numbers, out))

    def loads(positions, rotations):
        motion.position[:], motion.rotation[:] = positions, rotations
        out[:] = 0.0
        assert function(a, a, 0.0, par, to) == 1
        assert numbers.size and entry.address
        return load

    return loads
