"""A mechanism whose open inputs follow signals: the same description, with signals in its calls of `input`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treemech.elements import Signal, Spline
from treemech.topology import ElementError, unknown

from ..description.parameters import origin_of

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def with_inputs(mech: "Mechanism", signals: Mapping[str, Any]) -> "Mechanism":
    """Build the mechanism again with signals for inputs, declared with a signal or without.

    A signal may be a tm signal, a number, a function of t, or a table (times, values).
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
        call._replace(args=(_name(call), table_signal(signals[_name(call)])), options={})
        if call.method == "input" and _name(call) in signals
        else call
        for call in origin.calls
    )
    return origin._replace(calls=calls).build({})


def table_signal(given: Any) -> Any:
    """Return a signal; a table (times, values) becomes a spline."""
    if isinstance(given, tuple) and len(given) == 2 and not isinstance(given, Signal):
        return Spline(given[0], given[1], ends="not-a-knot" if len(given[0]) > 3 else "natural")
    return given


def _name(call: Any) -> str:
    return str(call.args[0] if call.args else call.options["name"])
