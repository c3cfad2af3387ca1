# mypy: ignore-errors
"""Complete the record of an element by running its method on jets.

A hinge needs its pose alone, a constraint or coupling its residual or slip, a signal its value.

The author of a hinge writes c(q, t) and C(q, t). Compiled for ``Jet(K)`` the same source yields (3.3.28-34)::

    v_k = dc/dq_k          w_k = axial(dC/dq_k C^T)             partials: lane k
    v0  = dc/dt            w0  = axial(dC/dt C^T)               drift: the lane after the coordinates
    v00 = c''              w00 = axial(skew part of C'' C^T)    bias: second derivative for q'' = 0

(C'' C^T = [alpha x] + [omega x][omega x]; the second term is symmetric.)

The author of a constraint writes f(c, C, s, t). With a lane for each of c, a turn of C, s and t (5.3.17)::

    force = df/dc     moment = df/dturn     auxiliary = df/ds     drift = df/dt     bias = f'' for v' = w' = s'' = 0

or g(c, C, v, w, s, t), linear in v and w, with a lane for each of these::

    force = dg/dv     moment = dg/dw        drift = g for v = w = 0                 bias = g'  for v' = w' = 0

A coupling is the same with q in the place of c, C, s.

With `scalars=DUALS` all of it is compiled once more for dual numbers ``Dual(1)``, which carry their
derivative along one direction: everything that the element computes is then differentiated along that
direction.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import njit

from treemech.topology.errors import ElementError

from ..dual import functions as elementary  # noqa: F401  teaches numba sin, exp, ... of jets
from ..dual.numbers import (
    jet_number,
    jet_seed,
    jet_signal,
    lane,
    rate,
    second,
    stack_array,
    tangent_number,
    tangent_seed,
    tangent_signal,
    value,
    with_partial,
)

# No liberties with numbers: left to itself the compiler fuses other products with sums on lanes, and signs of zero differ.
# Jets say where they fuse (dual.numbers).
JIT_OPTIONS = {"error_model": "numpy"}


class Scalars(NamedTuple):
    """Numbers for which an element is compiled: those it is given, the jet of them, and how jets are made."""

    given: str
    jet: str
    seed: Callable
    signal: Callable
    number: Callable


FLOATS = Scalars("float", "jet", jet_seed, jet_signal, jet_number)
DUALS = Scalars("dual", "tangent", tangent_seed, tangent_signal, tangent_number)


def jet_width(n_coordinates: int, what: str = "pose", widest: int = 8) -> int:
    """Return K of the jets for a pose: one lane per coordinate and one for time, rounded up to 2, 4, 8, ...

    Signals that the pose finds in ``self`` are made by ``jet_signal(K, ..., n_coordinates)`` with this K.

    >>> [jet_width(n) for n in (0, 1, 3, 4, 7)]
    [2, 2, 4, 8, 8]
    """
    width = 2
    while width <= widest:
        if 0 <= n_coordinates < width:
            return width
        width *= 2
    raise ElementError(
        f"a {what} can have 0 to {widest - 1} coordinates, got {n_coordinates}: write evaluate() with its partials."
    )


def constraint_width(n_auxiliary: int) -> int:
    """Return K of the jets for a constraint: lanes for offset, turn, auxiliary unknowns and time."""
    return jet_width(6 + n_auxiliary, "residual or slip", 16)


def coupling_width(n_arguments: int) -> int:
    """Return K of the jets for a coupling: a lane for each argument and one for time."""
    return jet_width(n_arguments, "coupling", 32)


def compiled(function: Callable, jit_options: dict[str, Any] | None) -> Callable:
    """Compile a function, or return it unchanged if it is compiled already."""
    return function if hasattr(function, "py_func") else njit(**(jit_options or JIT_OPTIONS))(function)


def compile_pose(
    pose: Callable, n_coordinates: int, jit_options: dict[str, Any] | None = None, scalars: Scalars = FLOATS
) -> Callable:
    """Compile ``pose(self, q, t, offset, rotation)`` to ``evaluate(self, q, u, t, motion)``.

    The pose finds offset = 0 and rotation = 1 and writes the entries that differ. ``evaluate`` fills every
    array of ``motion``; nothing needs to be zeroed before. ``self`` is a namedtuple of floats and arrays,
    some of which may already be jets (see ``jet_width``).
    """
    K = jet_width(n_coordinates)
    n = n_coordinates
    pose = compiled(pose, jit_options)
    _, jet, seed, _, _ = scalars

    def evaluate(self, q, u, t, motion):
        coordinates = stack_array(jet, K, (n,))
        offset = stack_array(jet, K, (3,))
        rotation = stack_array(jet, K, (3, 3))
        for k in range(n):
            coordinates[k] = seed(K, q[k], u[k], k)
        for i in range(3):
            rotation[i, i] = 1.0
        pose(self, coordinates, seed(K, t, 1.0, n), offset, rotation)

        for i in range(3):
            c = offset[i]
            motion.offset[i] = value(c)
            motion.translation_drift[i] = lane(c, n)
            motion.translation_bias[i] = second(c)
            for k in range(n):
                motion.translation_partials[k, i] = lane(c, k)
            for j in range(3):
                motion.rotation[i, j] = value(rotation[i, j])

        for r in range(3):
            # Twice the axial component r of dC C^T, for every derivative d at once: C^T is held constant.
            i, j = (r + 2) % 3, (r + 1) % 3
            w = rotation[i, 0] * value(rotation[j, 0]) - rotation[j, 0] * value(rotation[i, 0])
            for k in range(1, 3):
                w += rotation[i, k] * value(rotation[j, k]) - rotation[j, k] * value(rotation[i, k])
            motion.rotation_drift[r] = 0.5 * lane(w, n)
            motion.rotation_bias[r] = 0.5 * second(w)
            for k in range(n):
                motion.rotation_partials[k, r] = 0.5 * lane(w, k)

    return compiled(evaluate, jit_options)


# ---------------------------------------------------------------- constraints
def moving_pose(K: int, lanes: float, jit_options: dict[str, Any] | None, scalars: Scalars) -> Callable:
    """Compile a function that fills offset and rotation with jets of the relative motion.

    With lanes = 1 it also sets the partials 0..5.
    """
    number = scalars.number

    def fill(motion, offset, rotation):
        C, w = motion.rotation, motion.angular_velocity
        for i in range(3):
            k, m = (i + 1) % 3, (i + 2) % 3
            offset[i] = with_partial(number(K, motion.offset[i], motion.velocity[i], 0.0), i, lanes)
            for j in range(3):
                # C' = [w x] C and, for w' = 0, C'' = [w x] C' (3.3.24); partial to a turn about axis l: [e_l x] C
                rate_k = w[m] * C[i, j] - w[i] * C[m, j]
                rate_m = w[i] * C[k, j] - w[k] * C[i, j]
                x = number(K, C[i, j], w[k] * C[m, j] - w[m] * C[k, j], w[k] * rate_m - w[m] * rate_k)
                rotation[i, j] = with_partial(
                    with_partial(x, 3 + k, lanes * C[m, j]), 3 + m, -lanes * C[k, j]
                )

    return compiled(fill, jit_options)


def compile_constraint(
    residual: Callable | None,
    slip: Callable | None,
    n_position: int,
    n_velocity: int,
    n_auxiliary: int,
    jit_options: dict[str, Any] | None = None,
    scalars: Scalars = FLOATS,
) -> Callable:
    """Compile ``residual`` and ``slip`` of a constraint to ``evaluate(self, motion, t, rows)``.

    They have n_position and n_velocity equations. ``evaluate`` fills every array of ``rows``; nothing needs to be
    zeroed before.
    """
    na, nf, nv = n_auxiliary, n_position, n_velocity
    N = 6 + na  # the lane of time
    K = constraint_width(na)
    _, jet, seed, _, number = scalars

    def nothing(self, motion, t, rows):
        pass

    position = velocity = compiled(nothing, jit_options)
    if residual is not None:
        residual, place = compiled(residual, jit_options), moving_pose(K, 1.0, jit_options, scalars)

        def position_rows(self, motion, t, rows):
            offset, rotation = stack_array(jet, K, (3,)), stack_array(jet, K, (3, 3))
            s, f = stack_array(jet, K, (na,)), stack_array(jet, K, (nf,))
            place(motion, offset, rotation)
            for k in range(na):
                s[k] = seed(K, motion.s[k], motion.s_rate[k], 6 + k)
            residual(self, offset, rotation, s, seed(K, t, 1.0, N), f)
            for i in range(nf):
                x = f[i]
                rows.residual[i] = value(x)
                rows.drift[i] = lane(x, N)
                rows.bias[i] = second(x)
                for k in range(3):
                    rows.force[i, k] = lane(x, k)
                    rows.moment[i, k] = lane(x, 3 + k)
                for k in range(na):
                    rows.auxiliary[i, k] = lane(x, 6 + k)

        position = compiled(position_rows, jit_options)
    if slip is not None:
        slip, carry = compiled(slip, jit_options), moving_pose(K, 0.0, jit_options, scalars)

        def velocity_rows(self, motion, t, rows):
            offset, rotation = stack_array(jet, K, (3,)), stack_array(jet, K, (3, 3))
            v, w, s = stack_array(jet, K, (3,)), stack_array(jet, K, (3,)), stack_array(jet, K, (na,))
            along, still = stack_array(jet, K, (nv,)), stack_array(jet, K, (nv,))
            time = number(K, t, 1.0, 0.0)
            carry(motion, offset, rotation)
            for k in range(na):
                s[k] = number(K, motion.s[k], motion.s_rate[k], 0.0)
            for k in range(3):
                v[k] = motion.velocity[k]
                w[k] = motion.angular_velocity[k]
            slip(self, offset, rotation, v, w, s, time, along)
            for k in range(3):
                v[k] = seed(K, 0.0, 0.0, k)
                w[k] = seed(K, 0.0, 0.0, 3 + k)
            slip(self, offset, rotation, v, w, s, time, still)
            for j in range(nv):
                i, x = nf + j, still[j]
                rows.residual[i] = 0.0
                rows.drift[i] = value(x)
                rows.bias[i] = rate(along[j])
                for k in range(3):
                    rows.force[i, k] = lane(x, k)
                    rows.moment[i, k] = lane(x, 3 + k)
                for k in range(na):
                    rows.auxiliary[i, k] = 0.0

        velocity = compiled(velocity_rows, jit_options)

    def evaluate(self, motion, t, rows):
        position(self, motion, t, rows)
        velocity(self, motion, t, rows)

    return compiled(evaluate, jit_options)


def compile_coupling(
    residual: Callable | None,
    slip: Callable | None,
    n_position: int,
    n_velocity: int,
    n_arguments: int,
    jit_options: dict[str, Any] | None = None,
    scalars: Scalars = FLOATS,
) -> Callable:
    """Compile ``residual`` and ``slip`` of a coupling to ``evaluate(self, q, u, t, rows)``."""
    n, nf, nv = n_arguments, n_position, n_velocity  # lane n is the lane of time
    K = coupling_width(n)
    _, jet, seed, _, number = scalars

    def nothing(self, q, u, t, rows):
        pass

    position = velocity = compiled(nothing, jit_options)
    if residual is not None:
        residual = compiled(residual, jit_options)

        def position_rows(self, q, u, t, rows):
            coordinates, f = stack_array(jet, K, (n,)), stack_array(jet, K, (nf,))
            for k in range(n):
                coordinates[k] = seed(K, q[k], u[k], k)
            residual(self, coordinates, seed(K, t, 1.0, n), f)
            for i in range(nf):
                x = f[i]
                rows.residual[i] = value(x)
                rows.drift[i] = lane(x, n)
                rows.bias[i] = second(x)
                for k in range(n):
                    rows.partials[i, k] = lane(x, k)

        position = compiled(position_rows, jit_options)
    if slip is not None:
        slip = compiled(slip, jit_options)

        def velocity_rows(self, q, u, t, rows):
            coordinates, speeds = stack_array(jet, K, (n,)), stack_array(jet, K, (n,))
            along, still = stack_array(jet, K, (nv,)), stack_array(jet, K, (nv,))
            time = number(K, t, 1.0, 0.0)
            for k in range(n):
                coordinates[k] = number(K, q[k], u[k], 0.0)
                speeds[k] = u[k]
            slip(self, coordinates, speeds, time, along)
            for k in range(n):
                speeds[k] = seed(K, 0.0, 0.0, k)
            slip(self, coordinates, speeds, time, still)
            for j in range(nv):
                i, x = nf + j, still[j]
                rows.residual[i] = 0.0
                rows.drift[i] = value(x)
                rows.bias[i] = rate(along[j])
                for k in range(n):
                    rows.partials[i, k] = lane(x, k)

        velocity = compiled(velocity_rows, jit_options)

    def evaluate(self, q, u, t, rows):
        position(self, q, u, t, rows)
        velocity(self, q, u, t, rows)

    return compiled(evaluate, jit_options)


# ---------------------------------------------------------------- signals
def compile_signal(
    function: Callable, jit_options: dict[str, Any] | None = None, scalars: Scalars = FLOATS
) -> Callable:
    """Compile ``value(self, t)`` to ``evaluate(self, t, out)``: out = value, rate, acceleration."""
    function = compiled(function, jit_options)
    _, jet, seed, _, _ = scalars

    def evaluate(self, t, out):
        result = stack_array(jet, 2, (1,))
        result[0] = function(self, seed(2, t, 1.0, 0))  # a constant function returns a plain number
        out[0] = value(result[0])
        out[1] = rate(result[0])
        out[2] = second(result[0])

    return compiled(evaluate, jit_options)
