"""Functions of a mechanism for PyTorch: autograd, torch.func (needs torch)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from .functions import Functions
from .operation import Operation


class TorchFunctions(Functions):
    __doc__ = Functions.__doc__

    def _number(self, given: Any, what: str) -> float:
        if isinstance(given, torch.Tensor) and given.requires_grad:
            raise ElementError(
                f"{what} requires a gradient; wanted a plain number: there are no derivatives by time."
            )
        return float(given)

    def _stack(self, given: Sequence[Any]) -> Any:
        kinds = [x for x in given if isinstance(x, torch.Tensor)]
        like = kinds[0] if kinds else torch.zeros((), dtype=torch.float64)
        each = [x if isinstance(x, torch.Tensor) else like.new_full((), float(x)) for x in given]
        return torch.stack(torch.broadcast_tensors(*each), dim=-1)

    def _arrays(self, given: Sequence[Any]) -> Sequence[Any]:
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        dtype, device = None, tensors[0].device if tensors else torch.device("cpu")
        for x in tensors:
            if x.is_floating_point():
                dtype = x.dtype if dtype is None else torch.promote_types(dtype, x.dtype)
        kind = dtype or torch.float64
        return [
            x.to(kind)
            if isinstance(x, torch.Tensor)
            else torch.as_tensor(np.asarray(x), dtype=kind, device=device)
            for x in given
        ]

    def _broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        return array.expand(shape)

    def _evaluate(self, operation: Operation, arrays: Sequence[Any]) -> Sequence[Any]:
        wanted = torch.is_grad_enabled() and any(a.requires_grad for a in arrays)
        found: Sequence[Any] = _Forward.apply(operation, wanted, *arrays)
        return found[: len(operation.results)]


class _Forward(torch.autograd.Function):  # type: ignore[misc]
    """An operation: its results, then its slopes if gradients are wanted."""

    @staticmethod
    def forward(operation: Operation, wanted: bool, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = [_plain(a) for a in arrays]
        if not wanted:
            return _tensors(operation.values(*given), [arrays[0].dtype] * len(operation.results), arrays[0])
        kinds = [arrays[0].dtype] * len(operation.results) + [torch.float64] * len(operation.slopes)
        return _tensors(operation.with_slopes(*given), kinds, arrays[0])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        ctx.operation, ctx.dtype, k = inputs[0], inputs[2].dtype, len(inputs[0].results)
        ctx.mark_non_differentiable(*output[k:])
        ctx.save_for_backward(*output[k:])

    @staticmethod
    def backward(ctx: Any, *of_results: torch.Tensor) -> tuple[Any, ...]:
        given = of_results[: len(ctx.operation.results)]
        return None, None, *_Pullback.apply(ctx.operation, ctx.dtype, *ctx.saved_tensors, *given)

    @staticmethod
    def vmap(
        info: Any, dims: tuple[Any, ...], operation: Operation, wanted: bool, *arrays: torch.Tensor
    ) -> Any:
        found = _Forward.apply(operation, wanted, *_in_front(info, dims[2:], arrays))
        return found, (0,) * len(found)


class _Pullback(torch.autograd.Function):  # type: ignore[misc]
    """Derivatives by the arguments of an operation, by its slopes."""

    @staticmethod
    def forward(operation: Operation, dtype: torch.dtype, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given, k = [_plain(a) for a in arrays], len(operation.slopes)
        found = operation.pullback(given[:k], given[k:])
        return _tensors(found, [dtype] * len(found), arrays[-1])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *of_results: torch.Tensor) -> tuple[Any, ...]:
        raise TreemechError("there are no second derivatives here: differentiate once.")

    @staticmethod
    def vmap(
        info: Any, dims: tuple[Any, ...], operation: Operation, dtype: torch.dtype, *arrays: torch.Tensor
    ) -> Any:
        found = _Pullback.apply(operation, dtype, *_in_front(info, dims[2:], arrays))
        return found, (0,) * len(found)


def _plain(array: torch.Tensor) -> Floats:
    return np.asarray(array.detach().cpu().to(torch.float64).numpy(), dtype=np.float64)


def _tensors(found: Sequence[Floats], kinds: Sequence[Any], like: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(
        torch.as_tensor(np.ascontiguousarray(a), dtype=kind, device=like.device)
        for a, kind in zip(found, kinds, strict=True)
    )


def _in_front(info: Any, dims: Sequence[int | None], arrays: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the arrays with the axis of a vmap in front."""
    return [
        a.expand(info.batch_size, *a.shape) if dim is None else a.movedim(dim, 0)
        for a, dim in zip(arrays, dims, strict=True)
    ]
