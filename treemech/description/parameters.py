"""Parameters of a built mechanism: new values, and the models that derivatives by parameters need."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from treemech.dynamics.model.core import Core
from treemech.elements.native.messages import log
from treemech.topology import Body, Connection, ElementError, TreemechError
from treemech.topology.declared import Making, made_again, remade
from treemech.topology.parameter import Parameter, as_value

from .recording import Call, replay

_PAYS = 3  # designs from which on a refill is made

if TYPE_CHECKING:
    from treemech.dynamics.analyses.parameter_derivatives import Direction, Stencil
    from treemech.kinematics.layout.plan_derivatives import PlanDerivatives

    from ..mechanism import Mechanism
    from ..system import System
    from .refill import Refill

__all__ = ["Origin", "Parameter"]


class Origin(NamedTuple):
    """Origin of a mechanism: the calls that described its system, and the values of its parameters."""

    kind: type["System"]
    name: str
    gravity: Any
    calls: tuple[Call, ...]
    options: Mapping[str, bool]  # of build
    values: Mapping[str, float]
    declared: Mapping[str, float]  # values of the reference design

    @classmethod
    def of(cls, system: "System", options: Mapping[str, bool]) -> "Origin":
        values = {name: p.value for name, p in sorted(system.parameters.items())}
        return cls(
            type(system), system.name, system.declared_gravity, tuple(system.calls), options, values, values
        )

    def build(self, values: Mapping[str, float], checked: bool = True) -> "Mechanism":
        """Build the same mechanism with other values.

        `checked=False` accepts bodies that are physically impossible.
        """
        origin = self._replace(values={**self.values, **values})
        return origin.system(checked).build(**self.options, origin=origin)

    def system(self, checked: bool = True, making: Making = made_again) -> "System":
        """Return the system, described again with these values; `making` makes its elements."""
        system = self.kind(self.name, remade(self.gravity, self.values))
        system.checked = checked

        def of(handle: Any) -> Any:
            if isinstance(handle, Body):
                return system.bodies[handle.number]
            return system.connections[handle.name] if isinstance(handle, Connection) else handle

        replay(self.calls, system, self.values, of, making)
        return system


class Neighbours(NamedTuple):
    """Copies of a mechanism with neighbouring values of one parameter, and the weights of a difference."""

    mechanisms: tuple["Mechanism", ...]
    stencil: "Stencil"


def origin_of(mech: "Mechanism", names: Iterable[str] = ()) -> Origin:
    """Return where a mechanism comes from, which must know parameters of these names."""
    origin = mech._origin
    if origin is None:
        raise TreemechError("this mechanism was not built by a System: it has no parameters.")
    for name in names:
        if name not in origin.values:
            known = ", ".join(map(repr, origin.values)) or "none"
            raise ElementError(f"there is no parameter {name!r}: there are {known}.")
    return origin


def with_parameters(mech: "Mechanism", values: Mapping[str, Any]) -> "Mechanism":
    """Build the same mechanism with other values of some parameters."""
    origin = origin_of(mech, values)
    made = mech._refilling.build(origin, {name: as_value(name, value) for name, value in values.items()})
    made._refilling.reference = mech if origin.values == origin.declared else mech._refilling.reference
    return made


def reference_of(mech: "Mechanism") -> "Mechanism | None":
    """Return the mechanism with the declared values of all parameters; None if this is it, or there are none."""
    origin = mech._origin
    if origin is None or origin.values == origin.declared:
        return None
    refilling = mech._refilling
    if refilling.reference is None:  # one that came from another process, or was copied
        refilling.reference = origin.build(origin.declared)
    return refilling.reference


def changed_parameters(mech: "Mechanism") -> list[str]:
    """Return the names of parameters that have other values than the declared ones."""
    origin = mech._origin
    return [] if origin is None else [name for name, x in origin.values.items() if x != origin.declared[name]]


class Refilling:
    """Builds a mechanism with other values of its parameters: anew at first, by a refill once it pays.

    A refill is confirmed by building twice, so it is made when a third design is asked for, or when many are
    announced (`announce`). Mechanisms made of one another share it.
    """

    def __init__(self, mech: "Mechanism") -> None:
        self.first, self.changed = ref(mech), frozenset[str]()
        self.asked: Counter[frozenset[str]] = Counter()
        self.kept: dict[frozenset[str], Refill | None] = {}
        self.root: Mechanism | None = None  # of a refilled mechanism: the one that was built
        self.reference: Mechanism | None = None  # design with the declared values, where this is another one
        self.closed: dict[Any, Any] = {}  # positions of a reference design (assembly/branch.py)

    def announce(self, names: Iterable[str]) -> None:
        """Expect many values of these parameters."""
        self.asked[self.changed | frozenset(names)] += _PAYS

    def refill(self, names: Iterable[str]) -> "Refill | None":
        """Return the refill for these parameters, once it pays; None if there is none."""
        wanted, root = self.changed | frozenset(names), self.root or self.first()
        self.asked[wanted] += 1
        if self.asked[wanted] < _PAYS or root is None:
            return None
        if wanted not in self.kept:
            from .refill import confirmed

            self.kept[wanted] = confirmed(root, wanted)
        return self.kept[wanted]

    def build(self, origin: Origin, values: Mapping[str, float]) -> "Mechanism":
        """Build a mechanism with these values."""
        refill = self.refill(values) if values else None
        if refill is not None:
            try:
                made = refill.mechanism(origin._replace(values={**origin.values, **values}))
            except TreemechError:
                pass  # building anew says what is wrong
            else:
                self._share(made, values, refill.mech)
                return made
        made = origin.build(values)
        return made

    def _share(self, made: "Mechanism", values: Iterable[str], root: "Mechanism") -> None:
        own = made._refilling
        own.root, own.changed = root, self.changed | frozenset(values)
        own.asked, own.kept = self.asked, self.kept


class ByParameter(NamedTuple):
    """Cache of a mechanism for derivatives by its parameters; each entry is made on first use."""

    neighbours: dict[str, Neighbours]
    directions: "dict[str, Direction]"
    plan_derivatives: "dict[str, PlanDerivatives]"

    @classmethod
    def of(cls, mech: "Mechanism") -> "ByParameter":
        """Return that of the thread that asks: its entries hold arrays in which it computes."""
        own = mech._workspaces.own
        if own.by_parameter is None:
            own.by_parameter = cls({}, {}, {})
        found: ByParameter = own.by_parameter
        return found


def directions(mech: "Mechanism", names: Iterable[str]) -> "list[Direction]":
    """Return the parameters as directions in which the equations of motion are differentiated.

    The derivatives are exact if all elements support dual numbers, otherwise they are differences.
    """
    from treemech.dynamics.analyses.dual_model import DualModel, obstacle

    kept = ByParameter.of(mech).directions
    for name in names:
        if name in kept:
            continue

        def differenced(name: str = name) -> "Direction":
            return neighbours(mech, [name])[0].stencil

        derivatives = plan_derivatives(mech, [name])[0]
        hinders = obstacle(mech._core.layout, derivatives)
        if hinders is None:
            kept[name] = DualModel(mech._core, derivatives, differenced)
        else:
            log.info("the equations by %r are differenced: %s has no derivatives", name, hinders)
            kept[name] = differenced()
    return [kept[name] for name in names]


def neighbours(mech: "Mechanism", names: Iterable[str]) -> list[Neighbours]:
    """Return mechanisms for differences by these parameters.

    Next to a limit of a parameter they all lie on the permitted side of it.
    """
    origin, kept = origin_of(mech, names), ByParameter.of(mech).neighbours
    for name in names:
        if name not in kept:
            kept[name] = _neighbours(origin, name, mech)
    return [kept[name] for name in names]


def plan_derivatives(mech: "Mechanism", names: Iterable[str]) -> "list[PlanDerivatives]":
    """Return the derivatives of the numbers of the Plan by these parameters."""
    from .plan_derivatives import plan_derivatives as made

    names, kept = list(names), ByParameter.of(mech).plan_derivatives
    origin_of(mech, names)
    for name in names:
        if name not in kept:
            kept[name] = made(mech, name)
    return [kept[name] for name in names]


def _neighbours(origin: Origin, name: str, mech: "Mechanism") -> Neighbours:
    from treemech.dynamics.analyses.parameter_derivatives import AHEAD, CENTRAL, STEP, Stencil, weights

    value, refusal = origin.values[name], None
    step = STEP * (abs(value) or 1.0)
    for nodes in (CENTRAL, AHEAD, tuple(-k for k in AHEAD)):
        try:
            made = tuple(origin.build({name: value + k * step}, checked=False) for k in nodes)
        except TreemechError as error:
            refusal = refusal or error
            continue
        for m in made:
            m._refilling.reference = mech if origin.values == origin.declared else mech._refilling.reference
        cores = tuple(m._core for m in made)
        for core in cores:
            follow(core, mech._core)
        return Neighbours(made, Stencil(mech._core, cores, weights(nodes) / step))
    raise ElementError(f"no derivative by {name!r}: values next to {value:g} are refused. {refusal}")


def follow(core: Core, leader: Core) -> None:
    """Make a core choose the same rows as another core of the same model."""
    if core.loops is not None and leader.loops is not None:
        core.loops.follow(leader.loops)
