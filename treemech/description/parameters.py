"""Other values for the parameters of a built mechanism, and what depends on them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from treemech.dynamics.model.core import Core
from treemech.elements.native.cache import log
from treemech.topology import Body, Connection, ElementError, TreemechError
from treemech.topology.declared import Making, made_again, remade
from treemech.topology.parameter import Parameter, as_value

from .recording import Call, replay

if TYPE_CHECKING:
    from treemech.dynamics.analyses.parameter_derivatives import Direction, Stencil
    from treemech.kinematics.plan_derivatives import PlanSlopes

    from ..mechanism import Mechanism
    from ..system import System

__all__ = ["Origin", "Parameter", "Parametric"]


class Origin(NamedTuple):
    """Where a mechanism comes from: the calls that described its system, and the values of its parameters."""

    kind: type["System"]
    name: str
    gravity: Any
    calls: tuple[Call, ...]
    options: Mapping[str, bool]  # of build
    values: Mapping[str, float]

    @classmethod
    def of(cls, system: "System", options: Mapping[str, bool]) -> "Origin":
        values = {name: p.value for name, p in sorted(system.parameters.items())}
        return cls(type(system), system.name, system.declared_gravity, tuple(system.calls), options, values)

    def build(self, values: Mapping[str, float], checked: bool = True) -> "Mechanism":
        """The same mechanism with other values; `checked=False` lets bodies pass that nobody can make."""
        origin = self._replace(values={**self.values, **values})
        return origin.system(checked).build(**self.options, origin=origin)

    def system(self, checked: bool = True, making: Making = made_again) -> "System":
        """The system described again, with these values; `making` makes its elements."""
        system = self.kind(self.name, remade(self.gravity, self.values))
        system.checked = checked

        def of(handle: Any) -> Any:
            if isinstance(handle, Body):
                return system.bodies[handle.number]
            return system.connections[handle.name] if isinstance(handle, Connection) else handle

        replay(self.calls, system, self.values, of, making)
        return system


class Neighbours(NamedTuple):
    """The same mechanism with some values of one parameter next to its own, and the weights of a difference."""

    mechanisms: tuple["Mechanism", ...]
    stencil: "Stencil"


class Parametric:
    """Methods of a Mechanism."""

    origin: Origin | None = None
    _neighbours: dict[str, Neighbours] | None = None
    _directions: "dict[str, Direction] | None" = None
    _plan_slopes: dict[str, "PlanSlopes"] | None = None

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the parameters by name."""
        return dict(_origin(self).values)

    def with_parameters(self, **values: Any) -> "Mechanism":
        """The same mechanism with other values of some parameters: as if built with them, and nothing is compiled.

        Examples
        --------
        >>> import treemech as tm
        >>> l, system = tm.Parameter("l", 1.0), tm.System("pendulum")
        >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -l))
        >>> _ = system.connect("pin", tm.Revolute("y"), system.ground, bob)
        >>> mech = system.build()
        >>> mech.with_parameters(l=2.0).parameters, mech.parameters
        ({'l': 2.0}, {'l': 1.0})
        """
        origin = self._known(values)
        return origin.build({name: as_value(name, value) for name, value in values.items()})

    def directions(self, names: Iterable[str]) -> "list[Direction]":
        """The parameters as the equations of motion are differentiated by them: exact where all elements have slopes."""
        from treemech.dynamics.analyses.dual_model import VariedModel, obstacle

        mech = cast("Mechanism", self)
        if self._directions is None:
            self._directions = {}
        for name in names:
            if name in self._directions:
                continue

            def differenced(name: str = name) -> "Direction":
                return self.neighbours([name])[0].stencil

            slopes = self.plan_slopes([name])[0]
            hinders = obstacle(mech.core.layout, slopes)
            if hinders is None:
                self._directions[name] = VariedModel(mech.core, slopes, differenced)
            else:
                log.info("the equations by %r are differenced: %s has no slopes", name, hinders)
                self._directions[name] = differenced()
        return [self._directions[name] for name in names]

    def neighbours(self, names: Iterable[str]) -> list[Neighbours]:
        """Mechanisms for differences by these parameters; made once. Next to a limit they lie on one side of it."""
        origin, mech = self._known(names), cast("Mechanism", self)
        if self._neighbours is None:
            self._neighbours = {}
        for name in names:
            if name not in self._neighbours:
                self._neighbours[name] = _neighbours(origin, name, mech)
        return [self._neighbours[name] for name in names]

    def plan_slopes(self, names: Iterable[str]) -> "list[PlanSlopes]":
        """Derivatives of the numbers of the Plan by these parameters; made once."""
        from .plan_derivatives import plan_slopes

        names = list(names)
        self._known(names)
        if self._plan_slopes is None:
            self._plan_slopes = {}
        for name in names:
            if name not in self._plan_slopes:
                self._plan_slopes[name] = plan_slopes(cast("Mechanism", self), name)
        return [self._plan_slopes[name] for name in names]

    def _known(self, names: Iterable[str]) -> Origin:
        origin = _origin(self)
        for name in names:
            if name not in origin.values:
                known = ", ".join(map(repr, origin.values)) or "none"
                raise ElementError(f"there is no parameter {name!r}: there are {known}.")
        return origin


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
        cores = tuple(m.core for m in made)
        for core in cores:
            follow(core, mech.core)
        return Neighbours(made, Stencil(mech.core, cores, weights(nodes) / step))
    raise ElementError(f"no derivative by {name!r}: values next to {value:g} are refused. {refusal}")


def follow(core: Core, leader: Core) -> None:
    """Let a core choose its rows as another one of the same model does."""
    if core.loops is not None and leader.loops is not None:
        core.loops.follow(leader.loops)


def _origin(mech: Any) -> Origin:
    if mech.origin is None:
        raise TreemechError("this mechanism was not built by a System: it has no parameters.")
    origin: Origin = mech.origin
    return origin
