"""Functions of a mechanism for JAX: jit, vmap (one crossing for all rows) and grad (needs jax)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from .functions import Functions
from .operation import Operation, Shape


class JaxFunctions(Functions):
    __doc__ = Functions.__doc__

    def _number(self, given: Any, what: str) -> float:
        if isinstance(given, jax.core.Tracer):
            raise ElementError(
                f"{what} is traced by JAX; wanted a plain number: there are no derivatives by time. Inputs carry what changes."
            )
        return float(given)

    def _stack(self, given: Sequence[Any]) -> Any:
        return jnp.stack(jnp.broadcast_arrays(*(jnp.asarray(x) for x in given)), axis=-1)

    def _arrays(self, given: Sequence[Any]) -> Sequence[Any]:
        kinds = [a.dtype for a in given if isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jnp.floating)]
        dtype = jnp.result_type(*kinds) if kinds else _full()
        return [jnp.asarray(a, dtype=dtype) for a in given]

    def _broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        return jnp.broadcast_to(array, shape)

    def _wrapped(self, operation: Operation) -> Any:
        return _Wrapped(operation)

    def _evaluate(self, operation: "_Wrapped", arrays: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = operation.function(*arrays)
        return found


class _Wrapped:
    """An operation as a function that JAX differentiates by its slopes."""

    def __init__(self, operation: Operation) -> None:
        self.operation, self.shapes = operation, operation.shapes
        self.function: Any = jax.custom_vjp(self._values)
        self.function.defvjp(self._with_slopes, self._pullback)

    def _values(self, *arrays: Any) -> tuple[Any, ...]:
        lead, dtype = self._lead(arrays), arrays[0].dtype
        results = [(lead + shape, dtype) for shape in self.operation.results]
        return _crossing(self.operation.values, results, arrays)

    def _with_slopes(self, *arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        lead, dtype, k = self._lead(arrays), arrays[0].dtype, len(self.operation.results)
        results = [(lead + shape, dtype) for shape in self.operation.results]
        results += [(lead + shape, _full()) for shape in self.operation.slopes]
        found = _crossing(self.operation.with_slopes, results, arrays)
        return found[:k], found[k:]

    def _pullback(self, slopes: tuple[Any, ...], of_results: tuple[Any, ...]) -> tuple[Any, ...]:
        lead, k = of_results[0].shape[: of_results[0].ndim - len(self.operation.results[0])], len(slopes)
        arguments = [(lead + shape, of_results[0].dtype) for shape in self.operation.shapes]

        def back(*given: Floats) -> tuple[Floats, ...]:
            return self.operation.pullback(given[:k], given[k:])

        return _crossing(back, arguments, (*slopes, *of_results))

    def _lead(self, arrays: Sequence[Any]) -> Shape:
        lead: Shape = arrays[0].shape[: arrays[0].ndim - len(self.operation.shapes[0])]
        return lead


def _full() -> Any:
    """Return the type of numbers with most digits that JAX is set to."""
    return jax.dtypes.canonicalize_dtype(np.float64)


def _crossing(
    function: Callable[..., tuple[Floats, ...]], results: Sequence[tuple[Shape, Any]], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """Call a function of numpy arrays, which computes in double precision; vmap puts its axis in front."""
    kinds = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
    host = partial(_on_host, function, [dtype for _, dtype in results])

    def on_host(*given: Any) -> tuple[Any, ...]:
        return tuple(jax.pure_callback(host, kinds, *given, vmap_method="broadcast_all"))

    crossing = jax.custom_jvp(on_host)
    crossing.defjvp(_refuse)
    return tuple(crossing(*arrays))


def _refuse(*_: Any) -> Any:
    raise TreemechError("there are no second derivatives here: differentiate once.")


def _on_host(
    function: Callable[..., tuple[Floats, ...]], kinds: Sequence[Any], *arrays: Any
) -> tuple[Any, ...]:
    found = function(*(np.asarray(a, dtype=np.float64) for a in arrays))
    return tuple(np.asarray(a, dtype=kind) for a, kind in zip(found, kinds, strict=True))
