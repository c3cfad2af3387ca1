"""Other values for the parameters of a built mechanism, and what depends on them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from treemech.topology import Body, Connection, ElementError, TreemechError, unknown
from treemech.topology.declared import remade
from treemech.topology.parameter import Parameter, as_value

from .journal import Call, replay

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .system import System

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
        system = self.kind(self.name, remade(self.gravity, origin.values))
        system.checked = checked

        def of(handle: Any) -> Any:
            if isinstance(handle, Body):
                return system.bodies[handle.number]
            return system.connections[handle.name] if isinstance(handle, Connection) else handle

        replay(self.calls, system, origin.values, of)
        return system.build(**self.options, origin=origin)


class Parametric:
    """Methods of a Mechanism."""

    origin: Origin | None = None

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
        origin = _origin(self)
        for name in values:
            if name not in origin.values:
                raise ElementError(unknown("parameter", name, origin.values))
        return origin.build({name: as_value(name, value) for name, value in values.items()})


def _origin(mech: Any) -> Origin:
    if mech.origin is None:
        raise TreemechError("this mechanism was not built by a System: it has no parameters.")
    origin: Origin = mech.origin
    return origin
