"""`tm.check` of energetic and active elements: what is right passes, and every planted error is named."""

import re
from dataclasses import dataclass
from itertools import count
from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from numba import config

from tests.support.places import ROOT
from treemech.elements import (
    ENERGETIC,
    Energetic,
    ForceFunction,
    Harmonic,
    MomentFunction,
    MusclePath,
    Path,
    RotationalSpring,
    Spring,
    as_signal,
)
from treemech.elements.check.checks import check
from treemech.elements.check.probe import probe
from treemech.elements.compilation.explain import ElementCompileWarning
from treemech.elements.element import example_of
from treemech.elements.energetic import motion_views
from treemech.topology.errors import ElementError

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
as_python = pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")


# ---------------------------------------------------------------- right elements of every form
def rich(motion, t, out):
    """A spring, a damper, a Maxwell arm with state x and an actuator, between points off the two ends."""
    p, v, R, w = motion.position, motion.velocity, motion.rotation, motion.angular_velocity
    a, b = np.array([0.2, 0.1, -0.3]), np.array([-0.1, 0.4, 0.2])
    ra, rb = R[0] @ a, R[1] @ b
    gap = p[1] + rb - p[0] - ra
    length = np.sqrt(gap @ gap)
    n = gap / length
    rate = n @ (v[1] + np.cross(w[1], rb) - v[0] - np.cross(w[0], ra))
    stretch, arm = length - 0.4, length - 0.4 - motion.x[0]
    tension = 30.0 * stretch + 2.0 * rate + 12.0 * arm + motion.inputs[0]
    out.force[0], out.force[1] = tension * n, -tension * n
    out.moment[0], out.moment[1] = np.cross(ra, tension * n), np.cross(rb, -tension * n)
    out.rates[0] = 12.0 * arm / 3.0
    out.energy[0] = 15.0 * stretch**2 + 6.0 * arm**2
    out.dissipated[0] = 2.0 * rate**2 + (12.0 * arm) ** 2 / 3.0
    out.supplied[0] = -motion.inputs[0] * rate
    if len(out.effort):
        out.deformation[0], out.effort[0] = stretch, tension


@dataclass(frozen=True)
class Rich(Energetic):
    n_states = 1
    n_deformations = 1
    input_names = ("pull",)

    def evaluate(self, motion, t, out):
        rich(motion, t, out)


def mutant(change, **members):
    """An element that does what Rich does, changed; without deformation and effort."""

    def evaluate(self, motion, t, out):
        rich(motion, t, out)
        change(motion, t, out)

    return dataclass(frozen=True)(
        type("Mutant", (Rich,), {"evaluate": evaluate, "n_deformations": 0, **members})
    )()


def stretch_of(p, rotation, length):
    x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    x += 0.3 * rotation[1, 0, 0]
    y += 0.3 * rotation[1, 1, 0]
    z += 0.3 * rotation[1, 2, 0]
    return sqrt(x * x + y * y + z * z) - length


@dataclass(frozen=True)
class Ligament(Energetic):
    """By deformation and effort, with a signal in the deformation."""

    stiffness: float = 20.0
    length: Any = 0.3
    damping: float = 0.5
    n_deformations = 1

    def __post_init__(self):
        object.__setattr__(self, "length", as_signal(self.length, "Ligament.length"))

    def deformation(self, position, rotation, t, eps):
        eps[0] = stretch_of(position, rotation, self.length)

    def effort(self, now, t, out):
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = self.stiffness * e**3 + self.damping * rate
        out.energy[0] = 0.25 * self.stiffness * e**4
        out.dissipated[0] = self.damping * rate**2
        out.supplied[0] = -self.length.rate * out.effort[0]


@dataclass(frozen=True)
class Drive(Energetic):
    """On a hinge coordinate, with two states and an input: a motor with a current and a filtered speed."""

    n_ends = 0
    n_coordinates = n_deformations = 1
    n_states = 2
    input_names = ("voltage",)

    def effort(self, now, t, out):
        current, speed = now.x[0], now.x[1]
        out.effort[0] = -0.4 * current
        out.rates[0] = (now.inputs[0] - 0.4 * now.rate[0] - 1.5 * current) / 0.02
        out.rates[1] = (now.rate[0] - speed) / 0.1
        out.energy[0] = 0.01 * current**2
        out.dissipated[0] = 1.5 * current**2
        out.supplied[0] = now.inputs[0] * current


@dataclass(frozen=True)
class Implicit(Energetic):
    """F + F^3 / 100 = 40 eps (3.4.5), with its energy by balance."""

    n_ends = 0
    n_coordinates = n_deformations = 1

    def law(self, now, effort, t, f):
        f[0] = effort[0] + 0.01 * effort[0] ** 3 - 40.0 * now.deformation[0]

    def balance(self, now, t, out):
        F = out.effort[0]
        out.energy[0] = (0.5 * F**2 + 0.0075 * F**4) / 40.0


@dataclass(frozen=True)
class Remembering(Energetic):
    """A spring from where it was at the last step."""

    n_ends = 0
    n_coordinates = n_deformations = 1
    n_memory = 2

    def effort(self, now, t, out):
        out.effort[0] = 3.0 * (now.deformation[0] - now.memory[0])
        out.energy[0] = 1.5 * (now.deformation[0] - now.memory[0]) ** 2

    def remember(self, motion, t, memory):
        memory[0] = 0.9 * memory[0] + 0.1 * motion.q[0]
        memory[1] = t


@dataclass(frozen=True)
class Friction(Energetic):
    """On a hinge coordinate, by the load of a hinge."""

    n_ends = 0
    n_coordinates = 1
    n_reactions = 1

    def evaluate(self, motion, t, out):
        r = motion.reaction[0]
        normal = sqrt(r[0] * r[0] + r[1] * r[1] + 0.01)
        out.load[0] = -0.3 * normal * motion.u[0] / sqrt(motion.u[0] ** 2 + 1e-2)
        out.dissipated[0] = -out.load[0] * motion.u[0]


@dataclass(frozen=True)
class AnyEnds(Energetic):
    """A band around all its ends."""

    n_ends = None
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        n = len(position)
        for k in range(n):
            a, b = position[k], position[(k + 1) % n]
            eps[0] += sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)

    def effort(self, now, t, out):
        out.effort[0] = 5.0 * now.deformation[0]
        out.energy[0] = 2.5 * now.deformation[0] ** 2


@dataclass(frozen=True)
class Pad(Energetic):
    """A contact: deformation and effort along the normal, friction beside them."""

    n_deformations = 1

    def evaluate(self, motion, t, out):
        p, v, R, w = motion.position, motion.velocity, motion.rotation[0], motion.angular_velocity[0]
        slip = [0.0, 0.0, 0.0]
        depth, rate = 0.6, 0.0
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            r = v[1, k] - v[0, k] - w[i] * (p[1, j] - p[0, j]) + w[j] * (p[1, i] - p[0, i])
            slip[k] = r
            depth -= R[k, 2] * (p[1, k] - p[0, k])
            rate -= R[k, 2] * r
        if depth < 0.0:
            return
        size = sqrt(slip[0] ** 2 + slip[1] ** 2 + slip[2] ** 2 - rate**2 + 1e-4)
        push = 50.0 * depth
        out.deformation[0], out.effort[0], out.energy[0] = -depth, -push, 25.0 * depth**2
        for k in range(3):
            along = slip[k] + rate * R[k, 2]
            out.force[1, k] = push * R[k, 2] - 0.3 * push * along / size
            out.force[0, k] = -out.force[1, k]
            out.dissipated[0] += 0.3 * push * along * along / size
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            out.moment[0, k] = -(p[1, i] - p[0, i]) * out.force[1, j] + (p[1, j] - p[0, j]) * out.force[1, i]


RIGHT = [
    Pad(),
    Ligament(length=Harmonic(0.1, 2.0)),
    Drive(),
    Implicit(),
    Remembering(),
    Friction(),
    AnyEnds(),
]


FULL = Spring(40.0, 0.5, 0.3, Harmonic(2.0, 3.0))  # of which nothing is zero


FURTHER = [  # whose ends, coordinates or laws are as many as they are given
    FULL,
    Path(stiffness=30.0, damping=0.5, length=0.2).joining(3),
    MusclePath(max_force=50.0, optimal_length=0.5, tendon_length=0.4).joining(2),
    ForceFunction(lambda t, q, u: (q[0], 0.1 * u[0], 1.0)).reading(1),
    MomentFunction(lambda t, q, u: (0.0, t, 1.0), frame="body"),
    Spring(stiffness=30.0, damping=0.5, length=0.2, only="tension"),
    RotationalSpring(stiffness=2.0, damping=0.1, angle=0.5),
]


@jit
@pytest.mark.parametrize("element", [*(example_of(cls) for cls in ENERGETIC), *FURTHER], ids=lambda e: e.kind)
def test_built_in_elements_keep_their_contract(element):
    check(element, samples=8)


def test_the_elements_of_the_page_take_less_than_forty_lines():
    page = (ROOT / "docs" / "own-element.md").read_text(encoding="utf-8")
    classes = re.findall(r"^class .*?(?=^(?:class |[^ \n]))", page, flags=re.S | re.M)
    assert len(classes) >= 3 and all(len(c.splitlines()) < 40 for c in classes)


@jit
@pytest.mark.parametrize("element", RIGHT, ids=lambda e: e.kind)
def test_elements_of_every_form_pass(element):
    report = check(element, samples=6)
    assert report.way == "numba"
    assert all(row.deviation <= row.allowed for row in report.rows)


@as_python
def test_the_report_lists_the_duties():
    text = str(check(mutant(lambda *_: None, n_deformations=1), samples=6))
    for words in ("same arguments", "dissipated power", "no resultant", "rigid motion", "-G^T F", "dE/dt"):
        assert words in text


@jit
def test_what_is_skipped_is_said():
    @dataclass(frozen=True)
    class Wind(Energetic):
        n_ends = 1
        world = True

        def evaluate(self, motion, t, out):
            out.force[0, 0] = 1.0 - motion.velocity[0, 0]

    duties = [row.duty for row in check(Wind(), samples=3).rows]
    assert "power balance: skipped, it states no energy and no powers" in duties
    assert "world = True: resultant and rigid motion skipped" in duties


@jit
def test_an_element_by_the_load_of_a_hinge_is_evaluated_once():
    element = Friction()
    motion = motion_views(element.sample(np.random.default_rng(0), 0.0), element.n)
    out = element.at(motion)
    normal = np.sqrt(motion.reaction[0, 0] ** 2 + motion.reaction[0, 1] ** 2 + 0.01)
    assert np.isclose(out.load[0], -0.3 * normal * motion.u[0] / np.sqrt(motion.u[0] ** 2 + 0.01), rtol=1e-12)


# ---------------------------------------------------------------- planted errors
def failure(element, **options):
    with pytest.raises(ElementError) as caught:
        check(element, samples=6, **options)
    return str(caught.value)


def times(name, factor, index=slice(None)):
    def change(motion, t, out):
        getattr(out, name)[index] *= factor

    return change


def both(*changes):
    def change(motion, t, out):
        for one in changes:
            one(motion, t, out)

    return change


def sets(name, index, value):
    def change(motion, t, out):
        getattr(out, name)[index] = value(motion, t) if callable(value) else value

    return change


def world_damping(motion, t, out):
    out.force[0] += motion.velocity[0]
    out.force[1] -= motion.velocity[0]
    out.moment[1] += np.cross(motion.position[1] - motion.position[0], motion.velocity[0])


def world_stiffness(motion, t, out):
    out.energy[0] += motion.position[0, 0] ** 2


PLANTED = {
    "loads with the wrong sign": (
        both(times("force", -1.0), times("moment", -1.0)),
        "power balance of Mutant: .*the loads look to have the wrong sign",
    ),
    "one load with the wrong sign": (times("force", -1.0, 1), "resultant force .*3.2.20.*Also wrong: .*power balance"),
    "a missing moment": (times("moment", 0.0, 1), "resultant moment .*3.2.20"),
    "both moments missing": (times("moment", 0.0), "resultant moment"),
    "energy twice": (times("energy", 2.0), "power balance of Mutant: .*the energy looks 2 times too large"),
    "energy half": (times("energy", 0.5), "the energy looks 0.5 times too large"),
    "energy with the wrong sign": (times("energy", -1.0), "the energy looks to have the wrong sign"),
    "no dissipated power": (times("dissipated", 0.0), "power balance of Mutant"),
    "negative dissipation": (times("dissipated", -1.0), "dissipated of Mutant is -.*a power lost is not negative"),
    "dissipation twice": (times("dissipated", 2.0), "dissipated looks 2 times too large"),
    "supplied with the wrong sign": (times("supplied", -1.0), "supplied looks to have the wrong sign"),
    "x' with a wrong factor": (times("rates", 1.1), "power balance of Mutant"),
    "damping against the world": (world_damping, "force of Mutant does not follow a rigid motion with velocity"),
    "a place in the world": (world_stiffness, "energy of Mutant does not follow a rigid displacement"),
    "NaN": (sets("force", (1, 2), nan), "force of Mutant is .*nan.* at position = .*wanted finite numbers"),
    "NaN in x'": (sets("rates", 0, lambda m, t: nan if m.x[0] > 0.0 else 0.0), "rates of Mutant is .*nan"),
    "NaN at rest": (
        sets("dissipated", 0, lambda m, t: 0.0 / np.float64(np.linalg.norm(m.velocity))),
        "dissipated of Mutant is .*nan",
    ),
}  # fmt: skip


@as_python
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_named(name):
    change, said = PLANTED[name]
    message = failure(mutant(change))
    assert message.startswith("check: ") and " at position = [" in message
    assert re.search(said, message), message


@as_python
def test_the_unchanged_element_passes():
    check(mutant(lambda motion, t, out: None), samples=6)


@as_python
@pytest.mark.parametrize(
    "change",
    [times("force", 1.0 + 1e-6, slice(None)), times("energy", 1.0 + 1e-5), times("dissipated", 1.0 + 1e-5)],
)
def test_small_errors_are_found_too(change):
    assert "Mutant" in failure(mutant(change))


@as_python
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (both(times("force", -1.0), times("moment", -1.0)), "its sign looks wrong"),
        (times("effort", 1.1), "the loads of Mutant do not fit its deformation and effort"),
        (times("deformation", 2.0), "G the derivative of the deformation"),
        (
            both(times("force", 1.1), times("moment", 1.1)),
            "force .* on end .*Also wrong: power balance|moment .* on end .*Also wrong: power balance",
        ),
    ],
)
def test_loads_that_do_not_fit_deformation_and_effort_are_named(change, said):
    assert re.search(said, failure(mutant(change, n_deformations=1)))


@as_python
def test_an_element_that_is_not_the_same_when_asked_twice_is_named():
    calls = count()
    element = mutant(sets("energy", 0, lambda m, t: float(next(calls))))
    assert "energy of Mutant is not the same when asked twice" in failure(element)


@jit
def test_writing_outside_its_arrays_is_caught_where_only_compiled_code_does_it():
    @dataclass(frozen=True)
    class Outside(Energetic):
        n_deformations = 1

        def evaluate(self, motion, t, out):
            try:
                out.effort[3] = 1.0
            except Exception:
                pass

    assert "Outside writes outside the arrays it is given" in failure(Outside())


def wrong(**members):
    base = {"n_ends": 0, "n_coordinates": 1, "n_deformations": 1, "__annotations__": {"k": float}, "k": 1.0}
    return dataclass(frozen=True)(type("Broken", (Energetic,), {**base, **members}))()


def longer(self, now, t, out):
    out.effort[1] = 1.0


def list_of_two(self, now, t, out):
    out.effort[:] = [1.0, 2.0]


def replaces(self, now, t, out):
    out.effort = 2.0


def misspells(self, now, t, out):
    out.effort[0] = self.kk * now.deformation[0]


def no_such_input(self, now, t, out):
    out.effort[0] = now.inputs[0]


def changes_motion(self, motion, t, out):
    motion.q[0] = 0.0


def good(self, now, t, out):
    out.effort[0] = self.k * now.deformation[0]


@pytest.mark.parametrize("way", [check, probe])
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"effort": longer}, "Broken.effort wrote effort[1], outside it; wanted (1,): one number per deformation"),
        ({"effort": list_of_two}, "Broken.effort wrote effort of shape (2,); wanted (1,): one number per deformation"),
        ({"effort": replaces}, "Broken.effort replaces out.effort"),
        ({"effort": misspells}, "The numeric fields are: k"),
        ({"effort": no_such_input}, "read inputs[0], outside it; wanted (0,): one number per input (input_names is ())"),
        ({"evaluate": changes_motion}, "Broken.evaluate changes q ("),
        ({}, "Broken has neither evaluate() nor effort("),
        ({"effort": good, "n_ends": 2}, "has no deformation(self, position, rotation, t, eps)"),
        ({"effort": lambda self, now, out: None}, "wanted effort(self, now, t, out)"),
        ({"effort": good, "n_states": 1, "initial": lambda self: [0.0, 1.0]}, "initial() is [0.0, 1.0]; wanted 1"),
        ({"effort": good, "n_memory": 1, "memory": lambda self: [nan]}, "memory() is [nan]; wanted 1"),
        ({"effort": good, "n_states": -1}, "n_states is -1; wanted an integer"),
        (
            {"effort": good, "n_memory": 1, "remember": lambda self, motion, t: None},
            "wanted remember(self, motion, t, memory)",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_the_terms_of_the_contract(members, said, way):
    with pytest.raises(ElementError) as caught:
        way(wrong(**members))
    assert said in str(caught.value)


def remembers_nan(self, motion, t, memory):
    memory[0] = nan


def remembers_too_much(self, motion, t, memory):
    memory[1] = 0.0


CALLS = count()


def remembers_calls(self, motion, t, memory):
    memory[0] = float(next(CALLS))


def swallowing(self, motion, t, memory):
    try:
        memory[2] = 1.0
    except Exception:
        pass


@jit
@as_python
@pytest.mark.parametrize(
    ("remember", "said"),
    [
        (remembers_nan, "Broken.remember writes [nan]"),
        (remembers_too_much, "Broken.remember wrote memory[1], outside it; wanted (1,)"),
        (remembers_calls, "is not the same when asked twice"),
        (swallowing, "writes outside the arrays"),
    ],
)
def test_what_remember_does_wrong_is_named(remember, said):
    assert said in failure(wrong(effort=good, n_memory=1, remember=remember))


@jit
def test_a_law_without_a_solution_is_named():
    def law(self, now, effort, t, f):
        f[0] = effort[0] ** 2 + 1.0 + now.deformation[0] ** 2

    assert "effort of Broken is [nan]" in failure(wrong(law=law))


@jit
def test_a_wrong_balance_of_a_law_is_named():
    def balance(self, now, t, out):
        out.energy[0] = now.deformation[0] * out.effort[0]

    def law(self, now, effort, t, f):
        f[0] = effort[0] - self.k * now.deformation[0]

    assert "the energy looks 2 times too large" in failure(wrong(law=law, balance=balance))


def test_a_sample_that_is_none_is_refused():
    def no_rotation(self, rng, t):
        record = rng.uniform(-1.0, 1.0, self.n.motion_size)
        motion_views(record, self.n).rotation[:] = 2.0 * np.eye(3)
        return record

    assert "gives a rotation that is none" in failure(mutant(lambda *_: None, sample=no_rotation))
    assert "wanted 41 finite numbers" not in failure(
        mutant(lambda *_: None, sample=lambda self, rng, t: [1.0])
    )


@as_python
def test_an_energy_that_is_not_differentiable_is_named():
    element = mutant(
        sets("energy", 0, lambda m, t: float(np.sin(1e12 * np.linalg.norm(m.position[0] - m.position[1]))))
    )
    assert "energy of Mutant is not differentiable" in failure(element)


def test_a_class_is_no_element():
    with pytest.raises(ElementError, match="Rich is a class; wanted an element"):
        check(Rich)


@jit
def test_python_elements_warn_once_when_checked():
    with pytest.warns(ElementCompileWarning, match="runs as a Python callback"):

        @dataclass(frozen=True)
        class Slow(Energetic):
            n_ends = 0
            n_coordinates = 1

            def evaluate(self, motion, t, out):
                out.load[0] = -float(f"{motion.q[0]:.9f}")

        check(Slow(), samples=3)
