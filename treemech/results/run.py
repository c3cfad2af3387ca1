"""Run: the results of a simulation by the user's names, computed on first use."""

from collections.abc import Callable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.model import trace as columns
from treemech.dynamics.model.core import Core
from treemech.dynamics.simulation.dense_output import interpolate
from treemech.dynamics.simulation.integrate import Integration
from treemech.dynamics.simulation.integrator import Switch
from treemech.dynamics.simulation.report import Report
from treemech.topology import TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.parameter import as_floats

from .computed import Energy, Residual, Results, RunEnergy, Tracer, Unique, Unpack
from .measures import Measure, all_measures, find_measure, known_measure
from .model_info import ChordInfo, HingeInfo, ModelInfo, energies
from .naming import as_place

if TYPE_CHECKING:
    from pathlib import Path

    from ..simulation.events import EventPoints
    from .elements import Audit, ElementMotion
    from .motions import BodyMotion, ConnectionMotion, PointMotion
    from .state import State


def _columns(x: Floats, connection: HingeInfo | ChordInfo, start: int, count: int) -> Floats:
    """Return a view of the numbers of a connection; as one column if it has one coordinate."""
    if connection.nu == 1 and connection.nq == 1:
        return x[:, start]
    return x[:, start : start + count]


def _named(thing: Any) -> str:
    """Return the name of a body, connection or element; a name stays as it is."""
    return str(thing if isinstance(thing, str) else getattr(thing, "name", thing))


class Run:
    """Results of a simulation.

    Coordinates and speeds are stored; all else is computed on first use and kept. Positions and velocities of
    bodies cost a sweep over the tree; accelerations, loads and records of elements come from one evaluation
    of all states.

    Attributes
    ----------
    t : array (n,)
        Times of the outputs [s].
    q : array (n, nq)
        Coordinates in the public order; by name through `connection`.
    u : array (n, nu)
        Speeds.
    success : bool
        True if the end was reached; if not, `message` tells what happened and what to try.
    report : Report
        The same as numbers and names: time, steps, the coordinate that dominates the error, the worst
        constraint, conditioning, advice. None for runs that were read from a file or made by another
        library's method.
    statistics : dict
        Steps, rejected steps, evaluations; Jacobians and factorisations of implicit methods, switches of
        "auto".
    singular : list of (time, connection)
        Singular positions that were passed, and the connection that is concerned.
    switched : list of (time, connection, holds)
        Unilateral constraints that were released, or hold again.
    events : list of EventPoints
        One for every event of `simulate`: its times, the states reached, and the states after its action.
    """

    def __init__(
        self,
        info: ModelInfo,
        t: Floats,
        q: Floats,
        u: Floats,
        success: bool,
        message: str,
        method: str = "",
        statistics: dict[str, int] | None = None,
        tracer: Tracer | None = None,
        computed: Results | None = None,
        cut: Floats | None = None,
        z: Floats | None = None,
        audit: Floats | None = None,
        singular: list[tuple[float, str]] | None = None,
        switched: list[Switch] | None = None,
        measures: Mapping[str, Measure] | None = None,
        core: Callable[[], Core] | None = None,
    ) -> None:
        self._info, self.t, self.q, self.u = info, t, q, u
        self.success, self.message, self.method = success, message, method
        self.statistics = statistics or {}
        self.singular, self.switched = singular or [], switched or []
        self._tracer, self._computed = tracer, computed
        self._core = core  # that of the thread that reads a result
        self._swept: Floats | None = None  # motions.sweep, until all results are there
        self._at_once = False  # whether even q and u of a connection evaluate all results (simulation.events)
        self._cut = np.zeros((len(t), 0)) if cut is None else cut
        self.z = np.zeros((len(t), 0)) if z is None else z
        self._audit = np.zeros((len(t), 0)) if audit is None else audit
        self._work: dict[str, Floats] = {}  # of drives, by name
        self._measures = dict(measures or {})
        self.events: list[EventPoints] = []
        self.report: Report | None = None
        self._dense: tuple[Floats, Floats, str, Unpack] | None = None
        self._drawing: list[dict[str, Any]] | None = (
            None  # marks of the model (view.drawings), of a run without a core
        )
        self._nx: int | None = None  # number of element states in z; the memory of the elements follows them

    @classmethod
    def _of_integration(
        cls,
        info: ModelInfo,
        result: Integration,
        method: str,
        core: Callable[[], Core],
        tracer: Tracer,
        measures: Mapping[str, Measure],
    ) -> "Run":
        """Make a run of the result of an integration; `core` returns the core of the thread that asks."""
        statistics = {
            "steps": result.n_steps,
            "rejected": result.n_rejected,
            "evaluations": result.n_evaluations,
            "jacobians": result.n_jacobians,
            "factorisations": result.n_factorisations,
            "switches": len(result.methods),
        }
        (q, u), rest = core().states(result.t, result.y), core().unpack(result.y)
        run = cls(
            info, result.t, q, u, result.success, result.message, method, statistics, tracer, None, rest.cut, rest.z, rest.audit,
            result.singular, result.switched, measures, core,
        )  # fmt: skip
        if result.dense is not None and result.nodes is not None:
            run._dense = (result.nodes, result.dense, method, lambda t, y: core().states(t, y))
        run.report, run._nx = result.report, core().nx
        return run

    def _sibling(self, t: Floats, q: Floats, u: Floats, cut: Floats, z: Floats, audit: Floats) -> "Run":
        """Return a run of the same model and simulation with other outputs."""
        found = Run(
            self._info, t, q, u, self.success, self.message, self.method, self.statistics, self._tracer, None, cut, z, audit,
            self.singular, self.switched, self._measures, self._core,
        )  # fmt: skip
        found.events, found.report, found._nx, found._dense = self.events, self.report, self._nx, self._dense
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or another process gets: all results, but no interpolant."""
        measures = {name: known_measure(name, values) for name, values in all_measures(self).items()}
        return self.__dict__ | {
            "_computed": self._results(), "_swept": None, "_tracer": None, "_core": None, "_dense": None,
            "_measures": measures, "_drawing": self._sketch(),
        }  # fmt: skip

    @property
    def info(self) -> ModelInfo:
        """Names and constants of the model that was simulated."""
        return self._info

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:.4g} .. {self.t[-1]:.4g} s" if len(self.t) else "no output"
        return f"Run({self._info.name!r}: {len(self.t)} states, {span}, success={self.success})"

    def _repr_html_(self) -> str:
        """Return how the run went, the animation and curves, for notebooks."""
        from ..notebook.html import run_html

        return run_html(self)

    def state(self, k: int = -1) -> "State":
        """Return the state at output k (default: the last), for example to continue: ``simulate((t, end), run.state())``.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("ball")
        >>> _ = system.connect("fall", tm.Prismatic("z"), system.ground, system.body("ball", 1.0, (1, 1, 1)))
        >>> mech = system.build()
        >>> first = mech.simulate((0, 1))
        >>> bool(abs(mech.simulate((1, 2), first.state()).q[-1, 0] + 0.5 * 9.81 * 4) < 1e-12)
        True
        """
        from .state import State

        try:
            k = index(k)
        except TypeError:
            raise TreemechError(
                f"run.state({k!r}): wanted the number of an output, from 0 to {len(self.t) - 1}; run.t has their times."
            ) from None
        if not -len(self.t) <= k < len(self.t):
            raise TreemechError(f"the run has {len(self.t)} states; asked for number {k}.")
        z, cut = self.z[k], {}
        if self._info.chords:
            found = self._results()
            cut = {
                c.name: (found.cut_q[k, c.q : c.q + c.nq].copy(), found.cut_u[k, c.u : c.u + c.nu].copy())
                for c in self._info.chords
            }
        nx = len(z) if self._nx is None else self._nx
        return State(
            float(self.t[k]), self.q[k].copy(), self.u[k].copy(), z[:nx].copy(), z[nx:].copy(), cut=cut,
            coordinates=self._info,
        )  # fmt: skip

    # ------------------------------------------------------------ by name, or by the body or connection itself
    def connection(self, name: Any) -> "ConnectionMotion":
        """Return coordinates, speeds, accelerations and the load of a connection.

        A coordinate with a name of its own, "pose.roll", is found too.

        Examples
        --------
        >>> import treemech as tm
        >>> run = tm.examples.four_bar().run()
        >>> run.connection("C")
        ConnectionMotion('C': q, u, ud, force, moment, unique, local_force, local_moment, local_unique, loads)
        >>> run.connection("C").q.shape, run.connection("C").force.shape  # one coordinate; rows over run.t
        ((601,), (601, 3))
        """
        name, info = _named(name), self._info
        for k, hinge in enumerate(info.hinges):
            if hinge.name == name:
                return self._hinge_motion(k, hinge)
        for k, chord in enumerate(info.chords):
            if chord.name == name:
                return self._chord_motion(k, chord)
        for connection in info.connections:
            for k, own in enumerate(connection.coordinates):
                if name == f"{connection.name}.{own}":
                    return self.connection(connection.name)._coordinate(k, name)
        known = [h.name for h in info.hinges] + [c.name for c in info.chords]
        raise TopologyError(unknown("connection", name, known))

    def _hinge_motion(self, k: int, hinge: HingeInfo) -> "ConnectionMotion":
        """Return the motion of hinge k: views of q and u, the rest from the results of all states."""
        if self._at_once:
            self._results()
        known = {
            "name": hinge.name,
            "q": _columns(self.q, hinge, hinge.q, hinge.nq),
            "u": _columns(self.u, hinge, hinge.u, hinge.nu),
        }
        from .motions import ConnectionMotion

        return ConnectionMotion.lazily(
            known,
            {
                "ud": lambda: _columns(self.ud, hinge, hinge.u, hinge.nu),
                "force": lambda: hinge.load(self._results().trace)[0],
                "moment": lambda: hinge.load(self._results().trace)[1],
            }
            | self._load_finders(k, hinge, lambda: hinge.load(self._results().trace)),
        )

    def _load_finders(
        self, number: int, end: HingeInfo | ChordInfo, load: Callable[[], tuple[Floats, Floats]]
    ) -> dict[str, Callable[[], Any]]:
        """Return what a connection tells about its load besides force and moment, by its number among all."""

        def unique(part: slice) -> Unique:
            known = self._results().unique[number] if self._info.chords else np.ones(12)
            return Unique.of(known[part] if known.ndim else known)

        def loads() -> dict[str, Floats]:
            joins = enumerate(getattr(end, "joins", ()))
            return {name: self._results().couplings[:, getattr(end, "first", 0) + k] for k, name in joins}

        return {
            "unique": lambda: unique(slice(0, 6)),
            "local_force": lambda: end.local(self._results().trace, load()[0])[0],
            "local_moment": lambda: end.local(self._results().trace, load()[1])[0],
            "local_unique": lambda: unique(slice(6, 12)),
            "loads": loads,
        }

    def _chord_motion(self, k: int, chord: ChordInfo) -> "ConnectionMotion":
        """Return the motion of chord k. Its exact coordinates are found together with all other results."""
        number = len(self._info.hinges) + k

        def load() -> tuple[Floats, Floats]:
            found = self._results().chord_loads[:, k]
            return found[:, :3], found[:, 3:]

        from .motions import ConnectionMotion

        return ConnectionMotion.lazily(
            {"name": chord.name},
            {
                "q": lambda: _columns(self._results().cut_q, chord, chord.q, chord.nq),
                "u": lambda: _columns(self._results().cut_u, chord, chord.u, chord.nu),
                "ud": lambda: _columns(self._results().cut_ud, chord, chord.u, chord.nu),
                "force": lambda: load()[0],
                "moment": lambda: load()[1],
            }
            | self._load_finders(number, chord, load),
        )

    hinge = connection
    chord = connection

    def body(self, name: Any) -> "BodyMotion":
        """Return the motion of a body.

        Examples
        --------
        >>> import treemech as tm
        >>> run = tm.examples.four_bar().run()
        >>> crank = run.body("crank")
        >>> crank.position.shape, crank.rotation.shape, crank.point((1, 0, 0)).velocity.shape
        ((601, 3), (601, 3, 3), (601, 3))
        """
        number = self._number(_named(name))
        from .motions import BodyMotion

        return BodyMotion(lambda part: self._trace(part)[:, number, part], self._info.bodies[number])

    def point(self, body: Any, offset: ArrayLike = (0.0, 0.0, 0.0)) -> "PointMotion":
        """Return the motion of a point fixed in a body."""
        return self.body(body).point(offset)

    def drive(self, name: Any, coordinate: int = 0) -> Floats:
        """Return the load that the drive of a prescribed coordinate must exert (6.3.8) [N m or N].

        The coordinate is "A" with its number, "A[1]", or has a name of its own, "pose.roll".
        """
        name = _named(name)
        own = {
            f"{c.name}.{own}": (c.name, k)
            for c in self._info.connections
            for k, own in enumerate(c.coordinates)
        }
        place = as_place(name, {h for h, _, _ in self._info.prescribed})
        if place.number is not None:
            name, coordinate = place.owner, place.number
        name, coordinate = own.get(name, (name, coordinate))
        for hinge, k, u in self._info.prescribed:
            if hinge == name and k == coordinate:
                return self._results().tau[:, u]
        known = [h for h, _, _ in self._info.prescribed]
        raise TopologyError(unknown("prescribed hinge", name, known))

    @property
    def ud(self) -> Floats:
        """Accelerations (n, nu)."""
        return self._results().ud

    @property
    def multipliers(self) -> Floats:
        """Lagrange multipliers of the constraint rows (n, m)."""
        return self._results().multipliers

    @property
    def energy(self) -> RunEnergy:
        """Kinetic, potential and total energy over time."""
        if self._info.elements:
            from .elements import stored_energy

            results = self._results()
            found = Energy(
                *energies(results.trace, self.u, self._info), stored_energy(results.elements, self._info)
            )
        else:
            found = Energy(
                *energies(self._trace(columns.VELOCITY), self.u, self._info), np.zeros(len(self.t))
            )
        return RunEnergy(found.kinetic, found.potential, found.stored, self)

    def element(self, name: Any) -> "ElementMotion":
        """Return the motion an energetic element or a load sees, and its load and energies.

        Examples
        --------
        >>> import treemech as tm
        >>> run = tm.examples.four_bar().run()
        >>> spring = run.element("spring")  # effort: positive when it is stretched
        >>> round(float(spring.effort[0]), 3), spring.force.shape  # on the bodies at both ends
        (-18.26, (601, 2, 3))
        """
        from .elements import element_motion

        return element_motion(self._info, self._results().elements, _named(name))

    @property
    def audit(self) -> "dict[str, Audit]":
        """Work done on the bodies, energy dissipated and supplied since the start, by element and by drive.

        Only after ``simulate(audit=True)``. Drives are the prescribed coordinates and the constraints that
        move; what they are supplied with they give to the bodies.
        """
        from .elements import Audit

        kept = self._audit.shape[1] or self._work
        if not kept and (self._info.elements or self._info.prescribed):
            raise TreemechError("this run kept no energy audit: simulate(..., audit=True).")
        parts = self._audit.reshape(len(self.t), self._audit.shape[1] // 3, 3)
        found = {e.name: Audit(*parts[:, k].T) for k, e in enumerate(self._info.elements)}
        return found | {n: Audit(w, np.zeros_like(w), w) for n, w in self._work.items()}

    def input(self, name: str) -> Floats:
        """Return an input over time, from `system.input` or a controller, as its element sees it."""
        for known, element, k in self._info.inputs:
            if known == name:
                return self.element(element).inputs[:, k]
        raise TopologyError(unknown("input", name, [n for n, _, _ in self._info.inputs]))

    def measure(self, name: str) -> Floats:
        """Return a measure over time, by its name in the system, or as 'A.q[0]'."""
        return find_measure(self._measures, name).of(self)

    @property
    def residual(self) -> Residual:
        """Residuals of the constraints; zero for a tree, which has none."""
        return Residual(*self._results().residual.T)

    def sol(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """Return (q, u) at any times within the run; needs ``simulate(..., dense_output=True)``."""
        if self._dense is None:
            raise TreemechError("this run kept no interpolant: simulate(..., dense_output=True).")
        times, table, method, unpack = self._dense
        starts = [h.q + h.euler_parameters for h in self._info.hinges if h.euler_parameters is not None]
        try:
            asked = as_floats(t)
        except (TypeError, ValueError):
            raise TreemechError(f"run.sol: t is {t!r}; wanted times.") from None
        if not asked.size:
            return np.zeros((*asked.shape, self.q.shape[-1])), np.zeros((*asked.shape, self.u.shape[-1]))
        y = interpolate(method, times, table, asked, starts)
        q, u = unpack(asked.ravel(), y.reshape(-1, y.shape[-1]))
        return q.reshape(*asked.shape, -1), u.reshape(*asked.shape, -1)

    # ------------------------------------------------------------ looking and keeping
    def animate(self, path: "str | Path", **options: Any) -> "Path":
        """Write the motion as one self-contained page (.html), a film (.gif, .mp4), or a picture of its start (.png).

        Options are those of `view.scene.options.Options`, among them ``show=("forces", "names")``,
        ``traces=[body.at((1, 0, 0))]``, ``signals=["A.q"]``, ``colors={"arm": "#cc3333"}``, ``view="front"``,
        ``follow="arm"``, ``theme="dark"``, ``floor=0.0`` and ``speed=0.5``. Bodies move as they did within the steps of the
        integrator; with ``t_eval`` by cubics between its outputs, which have to lie close enough to tell the motion.
        """
        from ..view.animate import animate_run

        return animate_run(self, path, **options)

    def show(self, path: "str | Path | None" = None, **options: Any) -> "Path":
        """Write a page, by default in a temporary folder, and open it in the browser; options as in `animate`."""
        from ..view.animate import show_run

        return show_run(self, path, **options)

    def plot(
        self,
        *signals: "str | Path",
        x: str = "t",
        path: "str | Path | None" = None,
        smooth: bool = True,
        axes: Any = None,
    ) -> Any:
        """Draw signals over time, or over another signal, with their units (needs matplotlib).

        Parameters
        ----------
        signals : str
            Names of what to draw: a connection ("A": its coordinates), "A.u", "A.force[2]", "rod.position", "spring.power",
            "energy.total", an input or a measure. Signals of one unit share axes. Without any, coordinates, speeds and
            energies are drawn. A single name that ends in .png, .pdf or .svg is a path.
        x : str
            The signal along the horizontal axis.
        path : str or Path
            Save the picture there, too.
        smooth : bool
            Fill in the motion between the steps of the run (results.refine); False draws the outputs alone.
        axes : matplotlib Axes, optional
            Where to draw; the signals then share it.

        Returns
        -------
        Axes
            Or an array of them, if the signals have several units.
        """
        from ..plots.curves import plot_run

        return plot_run(self, signals, x, path, smooth, axes)

    def phase(
        self, name: str, *, path: "str | Path | None" = None, smooth: bool = True, axes: Any = None
    ) -> Any:
        """Draw the speed of a coordinate, "A" or "A[1]", over the coordinate (needs matplotlib). Return the Axes."""
        from ..plots.curves import plot_phase

        return plot_phase(self, name, path, smooth, axes)

    def save(self, path: "str | Path") -> "Path":
        """Write the whole run as npz; `treemech.read` reads it without the model.

        A path that ends in .nc gets a NetCDF file of `to_xarray()` instead, for other programs.
        """
        from ..files.read import save_run

        return save_run(self, path)

    def to_pandas(self) -> Any:
        """Return a pandas table of coordinates, speeds, loads, inputs, measures and energies over time (needs pandas)."""
        from ..files.tables import to_pandas

        return to_pandas(self)

    def to_csv(self, path: "str | Path") -> "Path":
        """Write the table of `to_pandas` with all digits as a text file with commas; pandas is not needed."""
        from ..files.tables import to_csv

        return to_csv(self, path)

    def to_xarray(self) -> Any:
        """Return an xarray data set of all results, labelled with the names of the model (needs xarray)."""
        from ..files.dataset import to_xarray

        return to_xarray(self)

    # ------------------------------------------------------------ inside
    def _trace(self, part: slice) -> Floats:
        """Return a trace that has at least these columns: the cheapest one."""
        from .motions import N_SWEPT, sweep

        if self._computed is not None or self._core is None or part.stop > N_SWEPT:
            return self._results().trace
        swept = self._swept
        if swept is None:
            swept = self._swept = sweep(self._core(), self.t, self.q, self.u)
        return swept

    def _results(self) -> Results:
        """Return everything that follows from the states, computed on first use."""
        found = self._computed
        if found is None:
            if self._tracer is None:
                raise TreemechError("this run holds no results beyond t, q, u.")
            found = self._computed = self._tracer(self.t, self.q, self.u, self._cut, self.z)
            self._swept = None  # the trace holds it
        return found

    def _sketch(self) -> list[dict[str, Any]] | None:
        """Return what is drawn of the model, as data that can be kept with the results."""
        from ..view.drawings.sketch import kept_sketch

        return kept_sketch(self)

    def _number(self, name: str) -> int:
        for number, body in enumerate(self._info.bodies):
            if body.name == name:
                return number
        raise TopologyError(unknown("body", name, [b.name for b in self._info.bodies]))


def not_interrupted(run: Run) -> Run:
    """Raise the Ctrl-C that ended a run; return any other run. For analyses that compute many runs."""
    if not run.success and run.message.startswith("interrupted"):
        raise KeyboardInterrupt(run.message)
    return run
