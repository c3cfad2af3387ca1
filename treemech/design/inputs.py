"""A mechanism whose open inputs follow signals: the same description, with signals in its calls of `input`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treemech.elements import as_signal
from treemech.topology import ElementError, unknown

from ..description.parameters import origin_of

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def with_inputs(mech: "Mechanism", signals: Mapping[str, Any]) -> "Mechanism":
    """Build the mechanism again with signals for inputs, declared with a signal or without.

    A signal is what `System.input` takes.
    """
    if not signals:
        return mech
    origin = origin_of(mech)
    known = [_name(call) for call in origin.calls if call.method == "input"]
    for name in signals:
        if name not in known:
            raise ElementError(
                f"{unknown('input', name, known)} Declare it with system.input({name!r}), and give it to an element."
            )
    calls = tuple(
        call._replace(
            args=(_name(call), as_signal(signals[_name(call)], f"input {_name(call)!r}")), options={}
        )
        if call.method == "input" and _name(call) in signals
        else call
        for call in origin.calls
    )
    return origin._replace(calls=calls).build({})


def _name(call: Any) -> str:
    return str(call.args[0] if call.args else call.options["name"])
