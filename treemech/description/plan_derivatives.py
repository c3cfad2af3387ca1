"""Derivatives of the numbers of a Plan: the mechanism is described once more on dual numbers of one parameter.

Elements that cannot be made of dual numbers (a user's element that calls functions of `math`) are made of
plain ones. Then the Plan is compared with those of neighbouring models: where they show another derivative,
theirs is used.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treemech.elements.element import Element
from treemech.elements.native.cache import log
from treemech.kinematics.layout.layout import make_layout
from treemech.kinematics.layout.plan_derivatives import (
    PlanDerivatives,
    carried_derivatives,
    confirmed_derivatives,
    numbers_of,
)
from treemech.topology.declared import Declaration, made_again, remade
from treemech.topology.dual import Dual

from .parameters import neighbours, origin_of

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def plan_derivatives(mech: "Mechanism", name: str) -> PlanDerivatives:
    """Return the derivatives of the numbers of the Plan of a mechanism by one parameter."""
    own, layout, refusals, found = origin_of(mech).values, mech._core.layout, list[str](), None

    def making(declared: Declaration, values: Mapping[str, float]) -> Any:
        """Make a thing with the dual parameter.

        An element that refuses it is made with the plain value of the parameter.
        """
        try:
            args, options = (remade(part, values, making) for part in (declared.args, declared.options))
            return declared.make(*args, **options)
        except Exception as error:  # a user's code may raise anything
            make = declared.make
            if not (isinstance(make, type) and issubclass(make, Element)):
                raise
            refusals.append(f"{make.__name__}: {error}")
            return made_again(declared, own)

    values: dict[str, Any] = {**own, name: Dual(own[name], 1.0)}
    origin = origin_of(mech)._replace(values=values)
    options = dict(origin.options)
    inline = options.pop("inline", True)
    try:
        described = origin.system(checked=False, making=making).description(**options)
        found = carried_derivatives(make_layout(described, inline, numbers=object), layout)
        if found.exact and not refusals:
            return found
    except Exception as error:
        refusals.append(f"{type(error).__name__}: {error}")
    log.info(
        "the model by %r is differenced: %s",
        name,
        "; ".join(refusals) or "made of varying numbers it is another",
    )
    return _differenced(mech, name, found)


def _differenced(mech: "Mechanism", name: str, found: PlanDerivatives | None) -> PlanDerivatives:
    from treemech.dynamics.analyses.parameter_derivatives import sum_of

    (near,) = neighbours(mech, [name])
    layouts = [numbers_of(m._core.layout) for m in near.mechanisms]
    return confirmed_derivatives(
        found, {part: sum_of(near.stencil.weights, tuple(a[part] for a in layouts)) for part in layouts[0]}
    )
