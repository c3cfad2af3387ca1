# mypy: ignore-errors
"""From a pose alone to all records of a hinge, and from a signal to its rates, by running them on jets.

The author of a hinge writes c(q, t) and C(q, t). Compiled for ``Jet(K)`` the same source yields (3.3.28-34)::

    v_k = dc/dq_k          w_k = axial(dC/dq_k C^T)             partials: lane k
    v0  = dc/dt            w0  = axial(dC/dt C^T)               drift: the lane after the coordinates
    v00 = c''              w00 = axial(skew part of C'' C^T)    bias: second derivative for q'' = 0

(C'' C^T = [alpha x] + [omega x][omega x]; the second term is symmetric.)
"""

from collections.abc import Callable
from typing import Any

from numba import njit

from treemech.topology.errors import ElementError

from . import elementary  # noqa: F401  teaches numba sin, exp, ... of jets
from .differential import jet_seed, lane, stack_array

JIT_OPTIONS = {"error_model": "numpy", "fastmath": {"contract", "nsz"}}


def jet_width(n_coordinates: int) -> int:
    """K of the jets for a pose: a lane for each coordinate and one for time, rounded up to 2, 4 or 8.

    Signals handed to the pose in ``self`` are made by ``jet_signal(K, ..., n_coordinates)`` with this K.

    >>> [jet_width(n) for n in (0, 1, 3, 4, 7)]
    [2, 2, 4, 8, 8]
    """
    for width in (2, 4, 8):
        if 0 <= n_coordinates < width:
            return width
    raise ElementError(
        f"a pose can have 0 to 7 coordinates, got {n_coordinates}: write evaluate() with its partials."
    )


def compiled(function: Callable, jit_options: dict[str, Any] | None) -> Callable:
    """The function itself if it is compiled already."""
    return function if hasattr(function, "py_func") else njit(**(jit_options or JIT_OPTIONS))(function)


def compile_pose(pose: Callable, n_coordinates: int, jit_options: dict[str, Any] | None = None) -> Callable:
    """Compile ``pose(self, q, t, offset, rotation)`` to ``evaluate(self, q, u, t, motion)``.

    The pose finds offset = 0 and rotation = 1 and writes what differs. ``evaluate`` fills every array of
    ``motion``; nothing needs to be zeroed before. ``self`` is a namedtuple of floats and arrays, some of
    which may be jets already (see ``jet_width``).
    """
    K = jet_width(n_coordinates)
    n = n_coordinates
    pose = compiled(pose, jit_options)

    def evaluate(self, q, u, t, motion):
        coordinates = stack_array("jet", K, (n,))
        offset = stack_array("jet", K, (3,))
        rotation = stack_array("jet", K, (3, 3))
        for k in range(n):
            coordinates[k] = jet_seed(K, q[k], u[k], k)
        for i in range(3):
            rotation[i, i] = 1.0
        pose(self, coordinates, jet_seed(K, t, 1.0, n), offset, rotation)

        for i in range(3):
            c = offset[i]
            motion.offset[i] = c.v
            motion.translation_drift[i] = lane(c.g, n)
            motion.translation_bias[i] = c.b
            for k in range(n):
                motion.translation_partials[k, i] = lane(c.g, k)
            for j in range(3):
                motion.rotation[i, j] = rotation[i, j].v

        for r in range(3):
            # Twice the axial component r of dC C^T, for every derivative d at once: C^T is held constant.
            i, j = (r + 2) % 3, (r + 1) % 3
            w = rotation[i, 0] * rotation[j, 0].v - rotation[j, 0] * rotation[i, 0].v
            for k in range(1, 3):
                w += rotation[i, k] * rotation[j, k].v - rotation[j, k] * rotation[i, k].v
            motion.rotation_drift[r] = 0.5 * lane(w.g, n)
            motion.rotation_bias[r] = 0.5 * w.b
            for k in range(n):
                motion.rotation_partials[k, r] = 0.5 * lane(w.g, k)

    return compiled(evaluate, jit_options)


def compile_signal(function: Callable, jit_options: dict[str, Any] | None = None) -> Callable:
    """Compile ``value(self, t)`` to ``evaluate(self, t, out)``: out = value, rate, acceleration."""
    function = compiled(function, jit_options)

    def evaluate(self, t, out):
        result = stack_array("jet", 2, (1,))
        result[0] = function(self, jet_seed(2, t, 1.0, 0))  # a constant function returns a plain number
        out[0] = result[0].v
        out[1] = result[0].a
        out[2] = result[0].b

    return compiled(evaluate, jit_options)
