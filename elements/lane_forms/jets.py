# mypy: ignore-errors
"""Jets of several states at once: what carries derivatives through the methods of an author on lanes.

``LaneJet(K)`` is the jet of dual.numbers with a vector in place of each double. Its partials stand in one vector too, partial 0
of all states first, so that every rule is the same sequence of instructions as for one state, and has its digits.
Comparisons give masks, as those of lanes do.
"""

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, make_attribute_wrapper, register_model

from ..compilation.motion import Scalars
from ..dual import functions as _functions  # noqa: F401  teaches numba sin, exp, ... of jets
from ..dual.numbers import KINDS, OPERATORS, DualNumberModel, Jet, constant, seeds
from ..lanes.numbers import LANES, PLAIN, Lanes, Mask

KIND = Lanes(LANES, True)  # numbers whose masks may stand in conditions


class LaneJet(Jet):
    """A jet of every state."""

    states, part, truth, mixes = LANES, KIND, Mask(KIND), (*PLAIN, Lanes)


register_model(LaneJet)(DualNumberModel)
for _name in ("v", "a", "b", "g"):
    make_attribute_wrapper(LaneJet, _name, _name)
for _function, _lower in OPERATORS:
    lower_builtin(_function, LaneJet, Lanes)(_lower)
    lower_builtin(_function, Lanes, LaneJet)(_lower)
lower_cast(Lanes, LaneJet)(constant)

lane_seed, lane_signal, lane_number = seeds(LaneJet)
KINDS["lanejet"], KINDS["lanes"] = LaneJet, lambda K: KIND
LANE_SCALARS = Scalars("lanes", "lanejet", lane_seed, lane_signal, lane_number)


@infer_global(int)
class Whole(AbstractTemplate):
    """Type of int(x), which has no derivatives."""

    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], LaneJet):
            return signature(types.intp, *args)


@lower_builtin(int, LaneJet)
def _whole(context, builder, sig, args):
    return context.compile_internal(builder, lambda x: int(x.v), sig, args)
