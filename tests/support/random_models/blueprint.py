"""Blueprints: a recipe made into bodies, hinges and parts that fit together at the start, built in any order and direction."""

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import treemech as tm
from tests.support.models import any_hinge, inertia, rotation

from . import more_constraints, more_elements, parts
from .more_hinges import MORE_HINGES, rod
from .parts import End, Scene, hinge_of

# Hinges whose reverse is a hinge of the same kind
REVERSIBLE = (
    "Rigid",
    "Revolute",
    "Prismatic",
    "Screw",
    "Cylindrical",
    "Planar",
    "Translation",
    "Ball",
    "Free",
)


IMMOVABLE = "a drive moves what cannot move"


def _constraint(kind, scene):
    if kind in more_constraints.PLANAR:
        return more_constraints.planar(kind, scene)
    return (more_constraints.spatial if kind in more_constraints.SPATIAL else parts.constraint)(kind, scene)


def _element(kind, scene, taken):
    if kind in more_elements.ON_COORDINATES:
        return more_elements.on_coordinate(kind, scene, taken)
    if kind in more_elements.SMOOTH + more_elements.CORNERED:
        return more_elements.between(kind, scene)
    return parts.element(kind, scene, taken)


class Joint(NamedTuple):
    """A hinge between two ends, with the coordinates that fit at the start."""

    kind: str
    hinge: Any
    ends: tuple[End, End]
    q: np.ndarray

    @property
    def element(self):
        """What is given to `System.connect`: an assembly is given as such."""
        if self.kind != "Assembly":
            return self.hinge
        return rod(float(self.hinge.members[-2].offset[2]))

    def reversed(self):
        """Return the same joint seen from its other end."""
        m = self.hinge.motion(q=self.q)
        q = self.hinge.coordinates(-m.rotation.T @ m.offset, m.rotation.T, guess=-self.q)
        return self._replace(ends=self.ends[::-1], q=np.atleast_1d(q))


class Blueprint:
    """Bodies at random poses, joined where they are: every loop is closed by construction."""

    def __init__(self, recipe):
        self.recipe = recipe
        self.tilt = rotation(recipe.stream("tilt"))  # of the plane of a planar mechanism
        self.masses, self.poses = {}, {"ground": (np.zeros(3), self.tilt if recipe.planar else np.eye(3))}
        self.joints: dict[str, Joint] = {}
        self.loops: list[list[str]] = []
        self.notes: list[
            tuple[str, str]
        ] = []  # (law, words) of laws that hold, but were looked at in another way
        self.settled = None  # states of elements at the start, by name
        for k, chain in enumerate(recipe.chains):
            self._chain(k, chain)
        for k, kind in enumerate(recipe.branches):
            self._branch(k, kind)

        def scene(what, k):
            return Scene(self.poses, self.joints, recipe.stream(what, k), recipe.floating)

        self.used: set[str] = set()  # hinges whose coordinate means something to a part
        self.couplings, self.drives, self.constraints, self.elements = {}, {}, {}, {}
        for k, kind in enumerate(recipe.couplings):
            made = parts.coupling(
                kind, scene("coupling", k), {n: j.q for n, j in self.joints.items()}, self.used
            )
            if made:
                self.couplings[f"{kind} {k}"] = made
                self.used.update(map(hinge_of, made[1]))
        for k, kind in enumerate(recipe.drives):
            names = scene("drive", k).hinge(taken=self.used)
            if names:
                self.drives[names[0]] = self._motion(
                    kind, recipe.stream("motion", k), self.joints[names[0]].q[0]
                )
                self.used.update(names)
        for k, kind in enumerate(recipe.on_coordinates):
            place = scene("drive on a coordinate", k).coordinate(taken=self.used)
            if place:
                self.drives[place[0]] = self._motion(
                    kind, recipe.stream("motion of a coordinate", k), place[1]
                )
                self.used.add(hinge_of(place[0]))
        for k, kind in enumerate(recipe.constraints):
            made = _constraint(kind, scene("constraint", k))
            if made:
                self.constraints[f"{kind} {k}"] = made
        for k, kind in enumerate(recipe.elements):
            made = _element(kind, scene("element", k), self.drives)
            if made:
                self.elements[f"{kind} {k}"] = made
                self.used.update(hinge_of(end) for end in made.ends if isinstance(end, str))
                self.used.update([made.reaction_of] if made.reaction_of else [])

    @property
    def kinds(self) -> "set[str]":
        """The kinds of parts that found a place."""
        made = {name.rsplit(" ", 1)[0] for name in (*self.couplings, *self.constraints, *self.elements)}
        driven = {("drive on a coordinate" if "[" in name else "drive") for name in self.drives}
        return made | driven | {joint.kind for joint in self.joints.values()}

    # ------------------------------------------------------------ bodies and hinges
    def _body(self, place):
        rng, name = self.recipe.stream("body", place), f"b{len(self.masses) + 1}"
        mass = float(rng.uniform(0.5, 2.0))
        self.masses[name] = (mass, inertia(rng, mass), rng.uniform(-0.2, 0.2, 3))
        position, base = rng.uniform(-1.0, 1.0, 3), rotation(rng)
        if self.recipe.planar:
            position[2] = 0.0
            position, base = self.tilt @ position, self.tilt @ parts.turn("z", rng.uniform(-3, 3))
        self.poses[name] = (position, base)
        return name

    def _hinge(self, kind, rng):
        if kind in MORE_HINGES:
            return MORE_HINGES[kind](rng)
        if not self.recipe.planar:
            return any_hinge(rng, kind)
        if kind == "Revolute":
            return tm.Revolute("z")
        angle = rng.uniform(-3.0, 3.0)
        return tm.Prismatic((np.cos(angle), np.sin(angle), 0.0))

    def _join(self, a, b, kind, rng):
        """Join two bodies where they are: the ends are placed so that the hinge fits at random coordinates."""
        hinge = self._hinge(kind, rng)
        q = hinge.sample(rng)
        motion, axes = hinge.motion(q=q), hinge.base()
        point, base = self.poses[a][0] + rng.uniform(-0.6, 0.6, 3), rotation(rng)
        if self.recipe.planar:
            point = point - self.tilt[:, 2] * (self.tilt[:, 2] @ point)
            base = self.tilt
        ends = []
        there = point + base @ axes @ motion.offset, base @ axes @ motion.rotation @ axes.T
        for body, (p, R) in ((a, (point, base)), (b, there)):
            x, B = self.poses[body]
            ends.append(End(body, B.T @ (p - x), B.T @ R))
        joint = Joint(kind, hinge, tuple(ends), q)
        if rng.random() < 0.4 and kind in REVERSIBLE:
            joint = joint.reversed()
        name = f"h{len(self.joints) + 1}"
        self.joints[name] = joint
        return name

    def _branch(self, place, kind):
        rng = self.recipe.stream("branch", place)
        there = list(self.poses)
        if self.recipe.floating and len(there) > 1:
            there.remove("ground")
        parent = there[int(rng.integers(max(0, len(there) - 4), len(there)))]
        self._join(parent, self._body(100 + place), kind, rng)

    def _chain(self, place, kinds):
        rng = self.recipe.stream("chain", place)
        names = list(self.poses)
        here, last = (
            ("ground", "ground")
            if place == 0
            else (names[k] for k in rng.choice(len(names), 2, replace=False))
        )
        loop = []
        for k, kind in enumerate(kinds):
            there = last if k == len(kinds) - 1 else self._body(10 * place + k)
            loop.append(self._join(here, there, kind, rng))
            here = there
        self.loops.append(loop)

    def _motion(self, kind, rng, q):
        """Return a motion that starts at q."""
        rate, phase = float(rng.uniform(-1.5, 1.5)), float(rng.uniform(-3, 3))
        if kind == "Harmonic":
            size = 0.2 * rate
            return tm.Harmonic(size, 5.0, phase, float(q - size * np.sin(phase)))
        if kind == "Polynomial":
            return tm.Polynomial([float(q), rate, phase])
        return tm.Spline([0.0, 0.2, 0.45, 1.5], q + rate * np.array([0.0, 0.1, 0.3, 0.2]))

    # ------------------------------------------------------------ systems
    def system(self, order=None, flip=False, chords=(), name="random"):
        """Return the system; declared in another order, with ends exchanged, or with other hinges cut."""
        recipe = self.recipe
        gravity = (0.0, 0.0, 0.0) if recipe.floating else recipe.stream("gravity").uniform(-7.0, 7.0, 3)
        system = tm.System(name, gravity=gravity)
        bodies = {"ground": system.ground}

        def listed(things):
            names = list(things)
            return (
                names
                if order is None
                else [names[k] for k in np.random.default_rng(order).permutation(len(names))]
            )

        for body in listed(self.masses):
            mass, J, com = self.masses[body]
            if recipe.parameters and body == "b1":
                mass = tm.Parameter("mass", mass)
            bodies[body] = system.body(body, mass, J, com=com)

        def attached(end):
            if isinstance(end, str):
                return handles.get(end, end)
            return bodies[end.body].at(end.offset, end.base)

        handles = {}
        for hinge in listed(self.joints):
            joint = self.joint(hinge, flip)
            handles[hinge] = system.connect(
                hinge, joint.element, *map(attached, joint.ends), role="chord" if hinge in chords else None
            )
        for hinge, motion in self.drives.items():
            system.prescribe(hinge_of(hinge), motion, int(hinge[:-1].partition("[")[2] or 0))
        for coupling in listed(self.couplings):
            element, names = self.couplings[coupling]
            system.couple(coupling, element, *names)
        for part in listed({**self.constraints, **self.elements}):
            element, ends, inputs, symmetric, reaction_of = (self.constraints | self.elements)[part]
            ends = ends[::-1] if flip and symmetric else ends
            inputs = {key: self._input(system, part, value) for key, value in inputs.items()}
            verb = system.load if isinstance(element, (tm.Load, tm.Drag)) else system.connect
            given = {"inputs": inputs, "reaction_of": reaction_of}
            verb(part, element, *map(attached, ends), **{k: v for k, v in given.items() if v})
        return system

    def _input(self, system, part, value):
        """Return an input of an element; that of a controller is declared first."""
        if not (isinstance(value, tuple) and value[0] == "controller"):
            return value
        hinge, held = value[1], f"held by {part}"
        system.controller(f"regulator of {part}", regulate, 0.07, (f"{hinge}.q", f"{hinge}.u"), (held,))
        return held

    def joint(self, name, flip=False):
        """Return a joint; with `flip` from its other end, if its coordinate means nothing to others."""
        joint = self.joints[name]
        return joint.reversed() if flip and joint.kind in REVERSIBLE and name not in self.used else joint

    @cached_property
    def mech(self):
        return self.system().build()

    @cached_property
    def state(self):
        """A start: closed, prescribed coordinates on their motions, other speeds at random as far as the rows allow."""
        mech = self.mech
        start = self._closed(mech)
        u = start.u.copy()
        free = self.free_speeds(mech)
        u[free] = self.recipe.stream("speeds").normal(size=mech.nu)[free]
        rows = mech.constraints(replace(start, u=u))
        for _ in range(2):
            u[free] -= np.linalg.lstsq(rows.partials[:, free], rows.velocity, rcond=1e-9)[0]
            rows = mech.constraints(replace(start, u=u))
        if np.abs(rows.velocity).max(initial=0.0) > 1e-8:
            raise Unfit(IMMOVABLE)
        self._check_motions(mech, rows)
        return self._state(mech, start.q, u, start.cut)

    def _closed(self, mech):
        """Return the start with the rates of drives and no others; that these are refused must be true."""
        still = self.at_rest()
        try:
            return self.state_of(mech, still)
        except tm.TreemechError as error:
            if "the given rates do not fit together" not in str(error):
                raise
            q, u, _ = self.numbers_of(mech, still)
            moved = mech.state(q=q, u=self._driven(mech, u))  # without names nothing is checked
            rows = mech.constraints(replace(moved, x=np.nan_to_num(moved.x, nan=0.37)))
            if _left(rows.partials[:, self.free_speeds(mech)], rows.velocity) < 1e-8:
                raise AssertionError(f"refused without need: {error}") from error
            raise Unfit(IMMOVABLE) from error

    @property
    def rheonomic(self):
        """Whether hinges or constraints move by themselves."""
        return "Moving" in self.recipe.branches or bool(
            set(self.recipe.constraints) & {"PrescribedPose", "RelativeDistance", "RelativeAngle"}
        )

    def _check_motions(self, mech, rows):
        """Raise Unfit if prescribed motions soon go where the others cannot follow, though they can at the start."""
        P, _free = rows.partials[:, self.free_speeds(mech)], self.free_speeds(mech)
        if self.drives and np.linalg.matrix_rank(P, 1e-9) < np.linalg.matrix_rank(rows.partials, 1e-9):
            raise Unfit(IMMOVABLE)
        ud = np.zeros(mech.nu)
        for name, motion in self.drives.items():
            ud[mech.speeds.index(name)] = motion.at(0.0).acceleration
        if self.drives or self.rheonomic:
            wanted = rows.partials @ ud + rows.bias
            if _left(P, wanted) > 1e-6 * (1.0 + np.abs(wanted).max(initial=0.0)):
                raise Unfit(IMMOVABLE)

    def free_speeds(self, mech):
        """Return which speeds are not prescribed."""
        free = np.ones(mech.nu, dtype=bool)
        for name in self.drives:
            free[mech.speeds.index(name)] = False
        return free

    def at_rest(self):
        """Return the motion of the bodies at the start as if nothing moved."""
        return {name: (*pose, np.zeros(3), np.zeros(3)) for name, pose in self.placed.items()}

    @property
    def placed(self):
        """The poses as the system has them, whose ground stands upright: a planar mechanism is drawn on a tilted one."""
        tilt = self.poses["ground"][1]
        return {name: (tilt.T @ x, tilt.T @ B) for name, (x, B) in self.poses.items()}

    def state_of(self, mech, twists, flip=False):
        """Return the start for any build of the system, found from the motion of the bodies alone.

        `twists` has position, rotation, velocity and angular velocity of every body by name.
        """
        return self._state(mech, *self.numbers_of(mech, twists, flip))

    def numbers_of(self, mech, twists, flip=False):
        """Return coordinates and speeds of any build of the system, and the coordinates of its cut hinges by name."""
        q, u, cut = np.zeros(mech.nq), np.zeros(mech.nu), {}
        for c in mech._lagrange.hinges:
            joint = self.joint(c.name, flip) if c.name in self.joints else _free(c, self.placed)
            if joint.hinge.n_speeds:
                q[c.q_slice], u[c.u_slice] = joint.q, speeds_of(joint, twists)
        for c in mech.tree.chords:
            if c.name in self.joints and len(self.joint(c.name, flip).q):
                cut[c.name] = self.joint(c.name, flip).q
        return q, u, cut

    def _driven(self, mech, u):
        """Return the speeds with those of the drives at the start."""
        u = u.copy()
        for name, motion in self.drives.items():
            u[mech.speeds.index(name)] = motion.at(0.0).rate
        return u

    def _state(self, mech, q, u, cut):
        """Return the state with these numbers; states of elements start in equilibrium where they have one."""
        u = self._driven(mech, u)
        named = {n: q[c.q_slice] for c in mech._lagrange.hinges if (n := c.name) and c.hinge.n_coordinates}
        near = {name: value[0] if isinstance(value, tuple) else value for name, value in cut.items()}
        near = {name: value for name, value in near.items() if len(value)}
        state = mech.state(q={**named, **near}, u=u)
        if len(state.x):
            names = mech._core.layout.efforts.z_names[: len(state.x)]
            if self.settled is None:
                self.settled = dict(zip(names, mech.assemble(guess={**named, **near}).x, strict=True))
            state = replace(state, x=np.array([self.settled[name] for name in names]))
        return state


def _left(A, b):
    """Return the size of what is left of b by the best combination of the columns of A."""
    return np.abs(b - A @ np.linalg.lstsq(A, b, rcond=1e-9)[0]).max(initial=0.0)


class Unfit(Exception):
    """The recipe makes no sense as a mechanism: nothing to test."""


def _free(coordinates, poses):
    """Return the free hinge that a body got at build, because all its own hinges are cut."""
    ends = tuple(
        End(end.body.name, np.array(end.offset), np.array(end.rotation))
        for end in coordinates.connection.ends
    )
    still = {name: (*pose, np.zeros(3), np.zeros(3)) for name, pose in poses.items()}
    (pa, Ra, _, _), (pb, Rb, _, _) = (end_motion(end, still) for end in ends)
    return Joint("Free", coordinates.hinge, ends, coordinates.hinge.coordinates(Ra.T @ (pb - pa), Ra.T @ Rb))


def speeds_of(joint, twists):
    """Return the speeds of a hinge from the motion of its bodies (3.3.28-32)."""
    (pa, Ra, va, wa), (pb, _, vb, wb) = (end_motion(end, twists) for end in joint.ends)
    axes = Ra @ joint.hinge.base()
    m = joint.hinge.motion(q=joint.q)
    relative = np.concatenate((axes.T @ (vb - va - np.cross(wa, pb - pa)), axes.T @ (wb - wa)))
    partials = np.hstack((m.translation_partials, m.rotation_partials))
    drift = np.concatenate((m.translation_drift, m.rotation_drift))
    return np.linalg.lstsq(partials.T, relative - drift, rcond=None)[0]


def end_motion(end, twists):
    """Return position, base, velocity and angular velocity of an end in the world."""
    if end.body == "ground":
        return end.offset, end.base, np.zeros(3), np.zeros(3)
    x, R, v, w = twists[end.body]
    arm = R @ end.offset
    return x + arm, R @ end.base, v + np.cross(w, arm), w


def regulate(t, q, u):
    """Return the voltage of a sampled controller."""
    return 3.0 - 2.0 * q - 0.3 * u
