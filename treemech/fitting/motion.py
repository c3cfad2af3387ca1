"""Measured motions: the model is simulated, and differentiated by parameters and start values.

Multiple shooting cuts a motion into segments, each with a start of its own; the gaps between the end of one and
the start of the next are further residuals (Bock 1981).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.displacement import Motion, difference, magnitude, moved
from treemech.dynamics.analyses.parameter_derivatives import CENTRAL, STEP, Direction, sum_of, weights
from treemech.dynamics.analyses.sensitivity import Variation
from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..analyses.evaluation import results_of_states
from ..analyses.small_motions import derivative_workspace
from ..description.parameters import directions, follow, neighbours, origin_of
from ..design.sensitivities import Along, Sensitivities, smooth_steps
from ..design.starts import start_derivative
from ..plots.signals import signals
from ..results.run import Run, not_interrupted
from ..results.state import State
from .measurement import Channel, Measurement
from .starts import Start, independent_speeds

if TYPE_CHECKING:
    from ..mechanism import Mechanism

STILL = " "  # a parameter that nothing depends on: the direction in which only the state changes

_SLOPES = 1e-4  # relative error of derivatives, enough for the steps of a search and for standard errors


class Options(NamedTuple):
    """How motions are integrated: as in `Mechanism.simulate`."""

    method: str
    rtol: float
    atol: Any


class Segment(NamedTuple):
    """Part of a motion with a start of its own."""

    start: float
    end: float
    times: Floats  # outputs
    unknowns: list[int]  # places of its start values among the unknowns
    asked: list[int]  # and among the independent numbers
    near: list[State]  # a state near its start, from the second segment on


class MeasuredMotion:
    """One experiment with a measured motion: predictions of its channels, and their derivatives."""

    def __init__(
        self, mech: "Mechanism", given: Measurement, channels: list[Channel], what: str, options: Options
    ) -> None:
        self.given, self.channels, self.what, self.options = given, channels, what, options
        self.mech, self.first = mech, 0
        self.times = np.unique(np.concatenate([c.t for c in channels]))
        if len(self.times) < 2:
            raise ElementError(f"{what}: a motion is measured at one time only; wanted several.")
        self.t0 = float(self.times[0])
        self.begun = given.begun(mech, what) or mech.assemble(self.t0)
        if (
            len(self.begun.memory) and len(self.begun.z) != mech._core.nz
        ):  # of a mechanism whose inputs are open
            self.begun = replace(self.begun, memory=np.zeros(0))
        named = [] if isinstance(given.estimate, bool) else given.estimate
        self.preferred = [*([named] if isinstance(named, str) else named), *(c.label for c in channels)]
        self.start: Start | None = None
        if given.estimate or (mech._core.loops is not None and not callable(given.start)):
            self.start = self._start()
        self.segments: list[Segment] = []
        self.sizes = np.zeros(0)  # of the independent numbers: gaps are judged by them

    def _start(self) -> Start:
        return Start(self.mech, self.begun, independent_speeds(self.mech, self.begun, self.preferred))

    def own_unknowns(self) -> tuple[list[str], list[float]]:
        """Return the names and first values of the start values to be found."""
        if self.start is None:
            return [], []
        asked = self.start.places(self.given.estimate, self.what)
        prefix = f"{self.given.name or self.what}: start of "
        return [prefix + self.start.names[k] for k in asked], [float(self.start.values[k]) for k in asked]

    def cut(self, first: int, segments: int) -> tuple[list[str], list[float]]:
        """Cut the motion into segments; return the names and first values of the unknowns between them.

        `first` is the place of the unknowns of this experiment. Afterwards those of the start stand there, then
        those of every other segment.
        """
        asked = [] if self.start is None else self.start.places(self.given.estimate, self.what)
        own, names, values = list(range(first, first + len(asked))), list[str](), list[float]()
        edges = np.linspace(self.t0, float(self.times[-1]), segments + 1)
        self.segments, at = [], first + len(asked)
        if segments > 1 and self.start is None:
            self.start = self._start()
        for k in range(segments):
            last = k == segments - 1
            inside = (self.times >= edges[k]) & ((self.times < edges[k + 1]) | last)
            t = np.append(self.times[inside], [] if last else [edges[k + 1]])
            if k:
                assert self.start is not None
                asked = list(range(len(self.start.names)))
                own = list(range(at, at + len(asked)))
                names += [f"{self.what}: {n} at {edges[k]:g} s" for n in self.start.names]
                at += len(asked)
            self.segments.append(Segment(float(edges[k]), float(edges[k + 1]), t, own, asked, []))
        if segments > 1:
            nodes = self._nodes(self.segments[1:])
            values, size = nodes.ravel().tolist(), np.max(np.abs(nodes), axis=0)
            self.sizes = np.maximum(size, 1e-2 * max(float(np.max(size)), 1e-6))
        return names, values

    def _nodes(self, segments: Sequence[Segment]) -> Floats:
        """Guess the independent numbers where segments begin: measured ones where there are any, else those of a simulation.

        A closed chain stays on its branch: the state that begins a segment is sought near that of the simulation, or, where
        this failed, near the start of the segment before.
        """
        assert self.start is not None
        times, k, near = [s.start for s in segments], len(self.start.chosen), [self.begun] * len(segments)
        found = np.tile(self.start.values, (len(times), 1))
        with suppress(TreemechError):
            span = (self.t0, float(self.times[-1]))
            run = self.mech.simulate(span, self.begun, self.options.method, self.options.rtol, t_eval=times)
            for j in range(len(run.t)):
                near[j] = run.state(j)
                found[j, :k] += difference(self.mech._core, self.begun.q, run.q[j])[self.start.chosen]
                found[j, k:] = run.u[j, self.start.chosen]
        seen = {c.label: c for c in self.channels}
        for j, name in enumerate(self.start.names):
            rate = name.endswith(".u")
            label = name if rate else f"{name}.q"
            position = seen.get(f"{name.removesuffix('.u')}.q")
            for row, t in zip(found, times, strict=True):
                if label in seen:
                    row[j] = _local(seen[label], t)[0]
                elif rate and position is not None:
                    row[j] = _local(position, t)[1]
        before = self.begun
        for segment, state, row in zip(segments, near, found, strict=True):
            before = self.start.state(self.mech, segment.start, row, before if state is self.begun else state)
            segment.near.append(before)
        return found

    # ------------------------------------------------------------ evaluation
    def evaluate(
        self, mech: "Mechanism", parameters: Sequence[str], values: Floats, slopes: bool
    ) -> tuple[list[Floats], list[Floats], Floats, Floats]:
        """Return predictions of the channels, their derivatives by all unknowns, gaps and their derivatives."""
        parts, gaps, by_gaps = [], [], []
        for k, segment in enumerate(self.segments):
            later = None if k + 1 == len(self.segments) else self.segments[k + 1]
            found = self._segment(mech, segment, parameters, values, slopes, k == 0)
            parts.append(found)
            if later is not None:
                assert self.start is not None
                core, n = mech._core, mech.nu
                begin = self.start.state(mech, later.start, values[later.unknowns], *later.near)
                own = np.array([*self.start.chosen, *(n + j for j in self.start.chosen)])
                gap = np.concatenate((-difference(core, found.end.q, begin.q), found.end.u - begin.u))[own]
                by = np.zeros((len(gap), len(values)))
                if slopes:
                    by[:, : len(parameters)] = found.end_s[own, : len(parameters)]
                    by[:, segment.unknowns] += found.end_s[own, len(parameters) :]
                    by[:, later.unknowns] -= np.eye(len(gap))
                gaps.append(gap / self.sizes)
                by_gaps.append(by / self.sizes[:, None])
        predicted, derived = [], []
        for c in range(len(self.channels)):
            channel = self.channels[c]
            y, J = np.zeros(len(channel.t)), np.zeros((len(channel.t), len(values)))
            for segment, found in zip(self.segments, parts, strict=True):
                mine = (channel.t >= segment.start) & (
                    (channel.t < segment.end) | (segment is self.segments[-1])
                )
                rows, at = np.searchsorted(segment.times, channel.t[mine]), np.flatnonzero(mine)
                y[mine] = found.values[c][rows]
                if slopes:
                    J[np.ix_(at, np.arange(len(parameters)))] = found.slopes[c][rows][:, : len(parameters)]
                    J[np.ix_(at, np.array(segment.unknowns, dtype=np.int64))] = found.slopes[c][rows][
                        :, len(parameters) :
                    ]
            predicted.append(y)
            derived.append(J)
        none = np.zeros((0, len(values)))
        return predicted, derived, np.concatenate([np.zeros(0), *gaps]), np.vstack((none, *by_gaps))

    def _segment(
        self,
        mech: "Mechanism",
        segment: Segment,
        parameters: Sequence[str],
        values: Floats,
        slopes: bool,
        first: bool,
    ) -> "_Found":
        numbers = None
        if self.start is not None:
            numbers = self.start.values
            numbers[segment.asked] = values[segment.unknowns]
        given = self.given.start
        s0: Any = None
        along = directions(mech, parameters) if slopes else []
        if numbers is not None and (self.given.estimate or not first or not callable(given)):
            assert self.start is not None
            state = self.start.state(mech, segment.start, numbers, *segment.near)
            if slopes:
                (still,) = directions(mech, [STILL])
                s0 = self.start.derivative(mech, state, along, still, segment.asked)
        else:
            state = given(mech) if callable(given) else self.begun
            if slopes:
                s0 = start_derivative(
                    mech,
                    given if callable(given) else state,
                    segment.start,
                    neighbours(mech, parameters),
                    along,
                    list(parameters),
                ).s
        span = (segment.start, segment.end)
        run = not_interrupted(
            mech.simulate(span, state, *self.options, dense_output=True)
            if slopes
            else mech.simulate(span, state, *self.options, t_eval=segment.times)
        )
        if not run.success:
            raise TreemechError(f"{self.what}: {run.message}")
        if not slopes:
            return _Found([_signal(run, c) for c in self.channels], [], run.state(-1), np.zeros((0, 0)))
        s, motion = self._change(mech, run, along, s0, segment)
        whole = Run(
            mech._info, motion.t, motion.q, motion.u, True, run.message, run.method, None, partial(results_of_states, mech),
            None, motion.cut, motion.z, measures=mech._wiring.measures,
        )  # fmt: skip
        sampled = [_signal(whole, c) for c in self.channels]
        return _Found(sampled, self._slopes(mech, whole, motion, s, parameters), run.state(-1), s[-1])

    def _change(
        self, mech: "Mechanism", run: Run, along: Sequence[Direction], s0: Floats, segment: Segment
    ) -> tuple[Floats, Motion]:
        """Return how the motion changes with parameters and start values, and its states."""
        edges = smooth_steps(mech, run, f"{self.what}: the motion cannot be differentiated")
        motion = Along(mech._core, run)
        variation = Variation(mech._core, derivative_workspace(mech), along)
        s, _ = variation.solve(motion, edges, s0, max(_SLOPES, self.options.rtol), segment.times)
        return s, motion(segment.times)

    def _slopes(
        self, mech: "Mechanism", run: Run, motion: Motion, s: Floats, parameters: Sequence[str]
    ) -> list[Floats]:
        """Return the derivatives of the channels: of coordinates and speeds those of the motion, of others differences."""
        direct, found = {c: s[:, k] for c, k in self._direct(mech).items()}, dict[int, Floats]()
        others = [c for c in range(len(self.channels)) if c not in direct]
        if others:
            wanted = [self.channels[c] for c in others]

            def sampled(other: Run) -> Floats:
                return np.array([_signal(other, c) for c in wanted])

            by = differenced(mech, run, motion, s, parameters, sampled)
            found = {c: by[k] for k, c in enumerate(others)}
        return [direct[c] if c in direct else found[c] for c in range(len(self.channels))]

    def _direct(self, mech: "Mechanism") -> dict[int, int]:
        """Return the channels that are coordinates or speeds of the tree, and their places in s."""
        places = {}
        for h in mech._lagrange.hinges:
            if h.hinge.euler_parameters is None:
                for j, u in enumerate(range(h.u_slice.start, h.u_slice.stop)):
                    places[f"{h.name}.q", j], places[f"{h.name}.u", j] = u, mech.nu + u
        found = {}
        for c, channel in enumerate(self.channels):
            owner, _, quantity = channel.label.partition("[")[0].rpartition(".")
            _, bracket, number = channel.label.partition("[")
            j = int(number.rstrip("]")) if bracket and number.rstrip("]").isdigit() else 0
            if (f"{owner}.{quantity}", j) in places:
                found[c] = places[f"{owner}.{quantity}", j]
        return found


class _Found(NamedTuple):
    values: list[Floats]
    slopes: list[Floats]
    end: State
    end_s: Floats


def differenced(
    mech: "Mechanism", run: Run, motion: Motion, s: Floats, parameters: Sequence[str], function: Any
) -> Floats:
    """Return derivatives of a function of a run along the changes s: first those of parameters, then of starts."""

    def results(other: "Mechanism", y: Motion) -> Any:
        return results_of_states(other, y.t, y.q, y.u, None, y.z)

    none = np.zeros(len(parameters))
    tracing, twin = Sensitivities(mech, run, parameters, motion, s, results, none), mech.with_parameters()
    follow(twin._core, mech._core)
    beside, columns = neighbours(mech, parameters), []
    for j in range(s.shape[2]):
        step = STEP / magnitude(mech._core, s[:, :, j], motion)
        there = [moved(mech._core, motion, k * step * s[:, :, j]) for k in CENTRAL]
        column = sum_of(weights(CENTRAL) / step, tuple(function(tracing._retrace(twin, y)) for y in there))
        if j < len(parameters):
            here = tuple(function(tracing._retrace(m, motion)) for m in beside[j].mechanisms)
            column = column + sum_of(beside[j].stencil.weights, here)
        columns.append(column)
    return np.stack(columns, axis=-1)


def _signal(run: Run, channel: Channel) -> Floats:
    return signals(run, channel.signal)[channel.column].values


def _local(channel: Channel, t: float) -> tuple[float, float]:
    """Return value and rate of a channel at a time, from a parabola through its samples near it."""
    near = np.argsort(np.abs(channel.t - t), kind="stable")[:9]
    degree = min(2, len(near) - 1)
    c = np.polynomial.polynomial.polyfit(channel.t[near] - t, channel.y[near], degree)
    return float(c[0]), float(c[1]) if degree else 0.0


def with_still(mech: "Mechanism") -> "Mechanism":
    """Build a mechanism again with one parameter more, on which nothing depends."""
    origin = origin_of(mech)
    return origin._replace(values={**origin.values, STILL: 0.0}).build({})
