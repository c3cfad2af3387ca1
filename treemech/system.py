"""System: bodies and connections as the user writes them, and how a Mechanism is built from them."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.elements import Constraint, Coupling, Energetic, Hinge, Load, RotorInertia, Signal, as_signal
from treemech.elements.hinge import AxialHinge
from treemech.elements.native.library import open_library
from treemech.elements.native.numba_version import UnsuitableNumba, without_jit
from treemech.kinematics.layout.chords import Coupled
from treemech.kinematics.layout.layout import Description, Prescription, make_layout
from treemech.topology import (
    Attachment,
    Body,
    Connection,
    ElementError,
    TopologyError,
    as_vector,
    make_body,
)
from treemech.topology.declared import mapped, remade
from treemech.topology.parameter import plain

from .description.building import describe
from .description.composite import Composite
from .description.ends import (
    attachment_of,
    coordinate_of,
    hinge_of,
    name_of,
    no_coordinate,
    place_in_world,
    plain_coordinates,
)
from .description.parameters import Origin
from .description.recording import Journal, recorded
from .description.wiring import AssemblyHandle, Controller, ElementHandle, Limit, Wiring
from .mechanism import Mechanism
from .results.measures import Measure, as_measure, check_measures
from .results.naming import numbered

if TYPE_CHECKING:
    from pathlib import Path


class System(Journal):
    """A multibody system: the ground, bodies, connections and loads.

    Parameters
    ----------
    name : str
    gravity : vector
        Acceleration of gravity in the world [m/s2].

    Examples
    --------
    >>> import treemech as tm
    >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
    >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
    >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    >>> mech = system.build()
    >>> mech.coordinates
    ['pin']
    """

    def __init__(self, name: str = "system", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        super().__init__()
        self.name = str(name)
        self.gravity = gravity  # type: ignore[assignment]
        self.checked = True  # whether impossible bodies are refused
        self.ground = make_body("ground", 0.0, (0.0, 0.0, 0.0), pose=np.zeros(3), number=0)
        self.bodies: list[Body] = [self.ground]
        self.connections: dict[str, Connection] = {}
        self.couplings: dict[str, Coupled] = {}
        self.assemblies: dict[
            str, Composite
        ] = {}  # as they were connected; the hinges and couplings made of them are above
        self.wiring = Wiring()
        self.unsupported: list[str] = []  # what a file of another program says that this system does not have
        self.prescriptions: dict[tuple[str, int], Prescription] = {}

    def __repr__(self) -> str:
        from .description.listing import counted

        return f"System({self.name!r}: {counted(self)})"

    def _repr_html_(self) -> str:
        """Return bodies, connections and elements as tables, for notebooks."""
        from .notebook.html import system_html

        return system_html(self)

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Acceleration of gravity in the world [m/s2]."""
        return as_vector(remade(self.declared_gravity, {}), f"system {self.name!r}: gravity")

    @gravity.setter
    def gravity(self, vector: ArrayLike) -> None:
        where = f"system {self.name!r}: gravity"
        as_vector(remade(vector, {}), where)
        self._known(vector, where)
        self.declared_gravity = mapped(vector, lambda x: x)

    # ------------------------------------------------------------ description
    @recorded
    def body(
        self,
        name: str,
        mass: Any,
        inertia: ArrayLike,
        com: ArrayLike = (0.0, 0.0, 0.0),
        shapes: Any = (),
        pose: Any = None,
    ) -> Body:
        """Add a rigid body.

        inertia about the centre of mass in body axes: 3 numbers, 6 (xx, yy, zz, xy, xz, yz) or 3x3; a body that
        moves in a plane needs one moment only, `tm.planar_inertia(J)`. `tm.solids` makes mass, inertia, com and
        shapes together, ``**tm.solids.polygon(corners, mass=2.0).properties``. `pose` is
        a reference pose, a position or (position, rotation), needed only for `connect(..., at=, axis=)`.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("crank")
        >>> system.body("crank", mass=1.0, inertia=(0, 1 / 12, 1 / 12), com=(0.5, 0, 0)).com.tolist()
        [0.5, 0.0, 0.0]
        >>> system.body("wheel", **tm.solids.cylinder(radius=0.2, length=0.1, mass=3.0).properties).mass
        3.0
        """
        if any(body.name == name for body in self.bodies):
            raise TopologyError(f"two bodies are named {name!r}: give every body a name of its own.")
        body = make_body(name, mass, inertia, com, shapes, pose, len(self.bodies), self.checked)
        self.bodies.append(body)
        return body

    @recorded
    def connect(
        self,
        name: str,
        element: Any,
        *ends: Any,
        at: ArrayLike | None = None,
        axis: Any = None,
        role: Any = None,
        inputs: Mapping[str, Any] | None = None,
        reaction_of: Any = None,
    ) -> Any:
        """Connect bodies by a hinge, a constraint, an energetic or active element, or a composite.

        A hinge or constraint measures the second end relative to the first. With reference poses, `at` (a
        point) and `axis` (a direction) in world coordinates place both ends. An energetic element takes as
        many ends as it has: bodies, attachments, points of composites, or a hinge, on whose coordinate it
        acts. `inputs` gives its inputs by name: a number, a signal, a function of t, the name of a
        `system.input`, or a coordinate, "A.q", "A.u". `reaction_of` names the hinge or constraint whose load it
        depends on; a hinge becomes a chord.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("slider-crank")
        >>> crank = system.body("crank", **tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties)
        >>> slider = system.body("slider", 2.0, (0.1, 0.1, 0.1))
        >>> A = system.connect("A", tm.Revolute("y"), system.ground, crank)  # a hinge
        >>> B = system.connect("B", tm.Prismatic("x"), system.ground, slider)
        >>> rod = system.connect("rod", tm.Distance(3.0), crank.at((1, 0, 0)), slider)  # a constraint
        >>> spring = system.connect("spring", tm.Spring(50.0, length=1.0), system.ground, slider)  # between points
        >>> rubbing = system.connect("rubbing", tm.RotationalSpring(damping=0.1), "A")  # on the coordinate of a hinge
        >>> mech = system.build()
        >>> mech.mobility(mech.assemble(fix={"A": -0.6}, guess={"B": 3.5})).dof
        1
        """
        self._refuse_taken(name, _joined(ends))
        self._refuse_class("connection", name, element)
        if isinstance(element, Composite) and element.is_assembly:
            return self._connect_assembly(name, element, ends, role)
        if isinstance(element, Composite):
            return self.wiring.connect_composite(self, name, element, ends)
        if isinstance(element, Energetic):
            return self.wiring.connect(self, name, element, ends, inputs, reaction_of)
        if isinstance(element, RotorInertia) and not inputs and reaction_of is None:
            return self.wiring.connect_rotor(self, name, element, ends)
        if not isinstance(element, (Hinge, Constraint)):
            raise ElementError(
                f"connection {name!r}: {type(element).__name__} is not a hinge, a constraint or an energetic element. Subclass "
                "tm.Hinge for a joint, tm.Constraint for equations, tm.Energetic for a spring or an actuator; couplings go to system.couple(), "
                "external forces to system.load()."
            )
        if inputs or reaction_of is not None:
            raise ElementError(f"connection {name!r}: {element.kind} takes no inputs and no reaction_of.")
        hinge = isinstance(element, Hinge)
        what = f"{'hinge' if hinge else 'constraint'} {name!r}"
        if isinstance(element, AxialHinge):
            try:
                element.base()
            except ElementError as error:
                raise ElementError(f"{what}: {error}") from None
        attachments = tuple(attachment_of(self, end, f"connection {name!r}") for end in ends)
        if len(attachments) != 2:
            raise TopologyError(f"{what} has {len(attachments)} ends; wanted 2: the bodies it joins.")
        if at is not None or axis is not None:
            attachments = tuple(place_in_world(what, element, end, at, axis) for end in attachments)
        if role not in (None, "branch", "chord"):
            raise TopologyError(f"{what}: role is {role!r}; wanted 'branch', 'chord' or None.")
        connection = Connection(
            name,
            element,
            attachments,
            n_coordinates=element.n_speeds if isinstance(element, Hinge) else 0,
            is_hinge=hinge,
            is_constraint=not hinge,
            role=role,
        )
        self.connections[name] = connection
        return connection

    def _connect_assembly(
        self, name: str, composite: Composite, ends: Sequence[Any], role: Any
    ) -> "Connection | AssemblyHandle":
        """Connect a kinematic assembly (7.2): one hinge, or several where it is no plain row of hinges.

        Its constraints become couplings "name.part" of its coordinates.
        """
        from .description.kinematic_assembly import Expansion, reduce_assembly  # with the elements of it

        composite.check(f"composite {name!r}")
        reduction = reduce_assembly(composite, f"composite {name!r}")
        if isinstance(reduction, Expansion):
            return self._expand_assembly(name, composite, ends, role)
        connection: Connection = self.connect(name, reduction.hinge, *ends, role=role)
        self.assemblies[name] = composite.copied()
        n = reduction.hinge.n_coordinates
        for part, rows in reduction.rows:
            self.couple(f"{name}.{part}", rows, *numbered(name, n))
        return connection

    def _expand_assembly(
        self, name: str, composite: Composite, ends: Sequence[Any], role: Any
    ) -> AssemblyHandle:
        """Connect an assembly by its parts: frames become bodies "name.frame" without mass, elements "name.part"."""
        what = f"composite {name!r}"
        if role is not None:
            raise TopologyError(f"{what}: role is {role!r}, but it is several connections; leave it out.")
        if len(ends) != len(composite.ends):
            raise TopologyError(f"{what} has {len(ends)} ends; wanted {', '.join(composite.ends)}.")
        where = {
            end: attachment_of(self, given, what) for end, given in zip(composite.ends, ends, strict=True)
        }
        where |= {
            frame: self.body(f"{name}.{frame}", 0.0, (0.0, 0.0, 0.0)).at() for frame in composite.frames
        }
        connections = {}
        for part in composite.parts:
            a, b = (where[place.name].at(place.offset, place.rotation) for place in part.places)
            connections[part.name] = self.connect(f"{name}.{part.name}", part.element, a, b)
        self.assemblies[name] = composite.copied()
        frames = {frame: where[frame].body for frame in composite.frames}
        return AssemblyHandle(name, frames, connections)

    @recorded
    def couple(self, name: str, element: Coupling, *coordinates: str | Connection) -> Coupled:
        """Join coordinates of hinges by equations: gear, rack and pinion, belt, any f(q, t) = 0.

        Coordinates are given by name, "A", or "C[1]" for hinges with several; a hinge with one coordinate may
        be given itself. Coupled hinges stay branches.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("gears")
        >>> small, large = (system.body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("small", "large"))
        >>> A = system.connect("A", tm.Revolute("z"), system.ground, small)
        >>> B = system.connect("B", tm.Revolute("z"), system.ground.at((0.3, 0, 0)), large)
        >>> system.couple("mesh", tm.Gear.of_teeth(20, 40), "A", "B").arguments
        (('A', 0), ('B', 0))
        """
        self._refuse_taken(name, f"the coupling of {', '.join(name_of(c) for c in coordinates)}")
        self._refuse_class("coupling", name, element)
        if not isinstance(element, Coupling):
            raise ElementError(
                f"coupling {name!r}: {type(element).__name__} is not a coupling; wanted tm.Gear, tm.Relation, ... or a "
                "tm.Coupling."
            )
        arguments = tuple(coordinate_of(self, c, f"coupling {name!r}") for c in coordinates)
        for k, (hinge, coordinate) in enumerate(arguments):
            if (hinge, coordinate) in arguments[:k]:
                raise TopologyError(
                    f"coupling {name!r} joins coordinate {coordinate} of hinge {hinge!r} twice; name each once."
                )
        wanted = element.n_arguments
        if not arguments or (wanted is not None and len(arguments) != wanted):
            raise ElementError(
                f"coupling {name!r} ({element.kind}) gets {len(arguments)} coordinates; wanted {wanted or 'some'}."
            )
        self.couplings[name] = Coupled(name, element.joining(len(arguments)), arguments)
        return self.couplings[name]

    @recorded
    def prescribe_pose(
        self,
        name: str,
        end: Body | Attachment,
        relative_to: Body | Attachment | None = None,
        x: Any = None,
        y: Any = None,
        z: Any = None,
        rotation: Any = None,
    ) -> Connection:
        """Give any of the attitude coordinates of an end relative to another (default: the ground) as signals (5.4.1).

        x, y, z are components of the offset in the base of `relative_to`; rotation is (a, b, c), Bryant
        angles, or
        (axis, angle). Coordinates that are None stay free.
        """
        from treemech.elements import PrescribedPose

        element = PrescribedPose(x=x, y=y, z=z, rotation=rotation)
        ends = (self.ground if relative_to is None else relative_to, end)
        connection: Connection = self.connect(name, element, *ends)
        return connection

    @recorded
    def load(
        self, name: str, element: Load | Energetic, *ends: Any, inputs: Mapping[str, Any] | None = None
    ) -> ElementHandle:
        """Apply an external force or moment to a body, at an attachment, or to a point of a composite."""
        if name in self.wiring.elements:
            raise TopologyError(f"two loads are named {name!r}: give every load a name of its own.")
        self._refuse_class("load", name, element)
        if not isinstance(element, (Load, Energetic)):
            raise ElementError(
                f"load {name!r}: {element!r} is not a load; wanted tm.Force, tm.Moment or a tm.Load."
            )
        for end in ends:
            if getattr(end, "body", end) is self.ground and len(ends) == 1:
                raise TopologyError(f"load {name!r} acts on the ground, which does not move: load a body.")
        return self.wiring.connect(self, name, element, ends, inputs)

    # ------------------------------------------------------------ frames and limits
    @recorded
    def frame(self, name: str, end: Body | Attachment) -> Attachment:
        """Name a place on a body: a tool, a sensor, a link that is fixed to another. Analyses take it by its name."""
        if name in self.wiring.frames:
            raise TopologyError(f"two frames are named {name!r}: give every frame a name of its own.")
        self.wiring.frames[name] = attachment_of(self, end, f"frame {name!r}")
        return self.wiring.frames[name]

    @property
    def frames(self) -> dict[str, Attachment]:
        """Frames by name."""
        return dict(self.wiring.frames)

    @recorded
    def limit(
        self,
        name: str | Connection,
        lower: float | None = None,
        upper: float | None = None,
        effort: float | None = None,
        velocity: float | None = None,
        coordinate: int = 0,
    ) -> Limit:
        """Note between which values a coordinate, its load and its speed are meant to stay.

        Analyses that search, such as inverse kinematics, keep to it. The motion does not: a stop is an element,
        `tm.HingeStop`, which has a stiffness.
        """
        name, coordinate = self._coordinate(name, coordinate, "limit", "limited")
        found = Limit.of(f"limit of {name!r}", lower, upper, effort, velocity)
        self.wiring.limits[name, coordinate] = found
        return found

    @property
    def limits(self) -> dict[str, Limit]:
        """Limits by the name of the coordinate."""
        return {
            name if hinge_of(self, name).n_coordinates == 1 else f"{name}[{k}]": limit
            for (name, k), limit in self.wiring.limits.items()
        }

    # ------------------------------------------------------------ inputs and measures
    @recorded
    def input(self, name: str, signal: Signal | float | Any = None) -> Signal | str:
        """Name an external input i(t): a signal, a number, a function of t, or a table (times, values), a smooth curve.

        Elements take it by its name. `tm.Steps(times, values)` holds each value until the next. Without a signal it is held at what it was set to last, 0 at first: by
        ``mech.step(state, dt, inputs={name: value})`` or a stepper.
        """
        if name in self.wiring.inputs or name in self.wiring.held():
            raise TopologyError(f"two inputs are named {name!r}: give every input a name of its own.")
        if signal is None:
            self.wiring.opened.append(name)
            return name
        self.wiring.inputs[name] = as_signal(signal, f"input {name!r}")
        return self.wiring.inputs[name]

    @recorded
    def measure(self, name: str, what: Any) -> Measure:
        """Name a scalar of the motion: "A.q", "A.u[1]", "rod.position[2]", "spring.effort", or a function of a Run.

        It is known to controllers, and in results as ``run.measure(name)``.

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> height = system.measure("height", "bob.com[2]")
        >>> twice = system.measure("twice", lambda run: 2.0 * run.connection("pin").q)
        >>> mech = system.build()
        >>> float(mech.simulate((0, 1), mech.state(q={"pin": 0.0})).measure("height")[-1])
        -2.0
        """
        if name in self.wiring.measures:
            raise TopologyError(f"two measures are named {name!r}: give every measure a name of its own.")
        self.wiring.measures[name] = as_measure(name, what)
        measure: Measure = self.wiring.measures[name]
        return measure

    @recorded
    def controller(
        self,
        name: str,
        function: Callable[..., Any],
        period: float,
        measures: Sequence[str] = (),
        inputs: Sequence[str] = (),
    ) -> Controller:
        """Call ``function(t, *measures)`` exactly every `period` [s]; it returns the values of `inputs`.

        The inputs are constant in between; elements take them by name. Measures are names of
        `system.measure`, or texts such as "A.q".
        """
        if name in self.wiring.controllers:
            raise TopologyError(
                f"two controllers are named {name!r}: give every controller a name of its own."
            )
        if not callable(function):
            raise ElementError(
                f"controller {name!r}: {function!r} is not callable; wanted a function of t and measures."
            )
        period = plain(period)  # the Plan does not use it
        if not (isinstance(period, (int, float, np.number)) and np.isfinite(period) and period > 0.0):
            raise ElementError(f"controller {name!r}: period is {period!r}; wanted a positive time [s].")
        outputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        for output in outputs:
            if output in self.wiring.inputs or output in self.wiring.held():
                raise TopologyError(f"controller {name!r}: the input {output!r} is set elsewhere already.")
        wanted = (measures,) if isinstance(measures, str) else tuple(measures)
        self.wiring.controllers[name] = Controller(name, function, float(period), wanted, outputs)
        return self.wiring.controllers[name]

    @recorded
    def prescribe(
        self, name: str | Connection, motion: Signal | float | Any, coordinate: int = 0
    ) -> Prescription:
        """Give a Lagrange coordinate of a hinge as a function of time (5.4): "A", "C[1]" or "pose.roll".

        Examples
        --------
        >>> import treemech as tm
        >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -2))
        >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> drive = system.prescribe("pin", lambda t: 0.5 * t)  # or tm.Harmonic, tm.Polynomial, tm.Spline
        >>> run = system.build().kinematics([0.0, 1.0])
        >>> run.connection("pin").q.tolist(), run.drive("pin").round(3).tolist()
        ([0.0, 0.5], [0.0, 9.406])
        """
        name, coordinate = self._coordinate(name, coordinate, "prescribed motion", "prescribed")
        if (name, coordinate) in self.prescriptions:
            raise TopologyError(f"coordinate {coordinate} of hinge {name!r} is prescribed twice.")
        signal = as_signal(motion, f"prescribed motion of {name!r}")
        self.prescriptions[name, coordinate] = Prescription(name, coordinate, signal)
        return self.prescriptions[name, coordinate]

    # ------------------------------------------------------------ build
    def build(
        self, free_isolated: bool = True, *, inline: bool = True, origin: Origin | None = None
    ) -> Mechanism:
        """Build the mechanism: graph, regular-numbered tree and Plan, on which the analyses run.

        Bodies that are not joined to the ground get a free hinge; if `free_isolated` is False they are an
        error. inline=False calls built-in hinges through the address table too (for tests); `origin` is for
        with_parameters.
        """
        described = self.description(free_isolated, probed=origin is None)
        try:
            layout = make_layout(described, inline)
        except UnsuitableNumba:  # the library serves; elements of one's own can run as Python
            open_library()  # before it is passed over
            if not without_jit():
                raise
            layout = make_layout(described, inline)
        mech = Mechanism(
            self.name, described.tree, described.coordinates, layout, described.prescriptions, self.wiring
        )
        mech._origin = origin or Origin.of(self, {"free_isolated": free_isolated, "inline": inline})
        mech._system, mech._calls = ref(self), len(self.calls)
        for name in self.wiring.unused() if origin is None else ():
            warnings.warn(f"system {self.name!r}: no element takes the input {name!r}.", stacklevel=2)
        if self.wiring.measures:
            from .analyses.evaluation import empty_run

            check_measures(self.wiring.measures.values(), empty_run(mech))
        return mech

    def description(self, free_isolated: bool = True, probed: bool = False) -> Description:
        """Return bodies, connections and elements in a tree.

        With `probed`, elements of users are examined first.
        """
        return describe(self, free_isolated, probed)

    # ------------------------------------------------------------ files
    def save(self, path: "str | Path") -> "Path":
        """Write the system as JSON for people and programs.

        `treemech.read` brings it back, executing nothing.

        Functions cannot be written: controllers, signals and measures made of them are refused by name, as
        are elements of classes that no entry point names, before anything is written.
        """
        from .files.models import save_system

        return save_system(self, path)

    def _coordinate(self, name: Any, coordinate: int, what: str, done: str) -> tuple[str, int]:
        """Return (hinge, number) of a coordinate, given as "A" with its number, "A[1]", or by the name it has, "pose.roll"."""
        name = name_of(name)
        if name not in self.connections and not coordinate and ("." in name or "[" in name):
            return coordinate_of(self, name, f"{what} of {name!r}", done)
        hinge = hinge_of(self, name)
        if coordinate not in plain_coordinates(hinge):
            raise ElementError(no_coordinate(name, hinge, coordinate, done))
        return name, coordinate

    def _refuse_taken(self, name: str, what: str) -> None:
        """Refuse a name that is taken: connections and couplings share their names, and results are found by them."""
        if name in self.connections:
            raise TopologyError(
                f"two connections are named {name!r}: {_joined(self.connections[name].ends)} and {what}."
            )
        if name in self.couplings:
            raise TopologyError(f"a coupling is named {name!r} already: {what} needs another name.")
        if name in self.wiring.elements or name in self.wiring.composites:
            raise TopologyError(f"an element is named {name!r} already: {what} needs another name.")

    def _refuse_class(self, kind: str, name: str, element: Any) -> None:
        if isinstance(element, type):
            raise ElementError(
                f"{kind} {name!r}: {element.__name__} is a class; wanted {element.__name__}(...)."
            )


def _joined(ends: Any) -> str:
    bodies = [getattr(end, "body", end) for end in ends]
    return "-".join(str(getattr(body, "name", body)) for body in bodies)
