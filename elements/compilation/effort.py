# mypy: ignore-errors
"""Compute the loads on the bodies from a deformation and an effort, by running them on dual numbers.

With a lane for each displacement and turn of an end and one for time (3.2.13-20)::

    G = deps/dz        eps' = G z' + deps/dt        loads on the bodies = -G^T F

An implicit law f(F, eps, ...) = 0 (3.4.5) is solved by Newton's method with a lane for each effort. An
element that depends on the load of a hinge is evaluated with a lane for each of its six components: the core
solves for both at once.
"""

from math import nan

from numba import njit

from ..dual import functions as elementary  # noqa: F401  teaches numba sin, exp, ... of jets
from ..dual.numbers import dual_seed, lane, rate, stack_array, value, with_partial
from ..energetic import Deformed, Effort, EndsLoad, EndsMotion
from .motion import FLOATS, JIT_OPTIONS, compiled, jet_width

_ITERATIONS = 200


def effort_width(n_ends):
    """Return K of the jets for a deformation: six lanes for each end and one for time."""
    return jet_width(6 * n_ends, "deformation", 64)


def compile_effort(deformation, answer, sizes, jit_options, scalars=FLOATS):
    """Compile a deformation and its answer to ``evaluate(self, jets, motion, t, out)``.

    The answer is a compiled ``effort(self, now, t, out)``.
    The argument `jets` is `self` with its signals as jets. Without a deformation, eps are the hinge
    coordinates.
    """
    n, nd, nc = sizes.ends, sizes.deformations, sizes.coordinates
    if deformation is None:

        def on_coordinates(self, jets, motion, t, out):
            for k in range(nc):
                out.deformation[k] = motion.q[k]
            now = Deformed(out.deformation, motion.u, motion.x, motion.inputs, motion.memory)
            answer(self, now, t, Effort(out.effort, out.rates, out.energy, out.dissipated, out.supplied))
            for k in range(nc):
                out.load[k] = -out.effort[k]

        return compiled(on_coordinates, jit_options)

    deformation = compiled(deformation, jit_options)
    K, N = effort_width(n), 6 * n  # N: the lane of time
    given, jet, seed, _, number = scalars

    def on_ends(self, jets, motion, t, out):
        position, rotation = stack_array(jet, K, (n, 3)), stack_array(jet, K, (n, 3, 3))
        eps, rates = stack_array(jet, K, (nd,)), stack_array(given, 1, (nd,))
        for e in range(n):
            R, w = motion.rotation[e], motion.angular_velocity[e]
            for i in range(3):
                k, m = (i + 1) % 3, (i + 2) % 3
                position[e, i] = seed(K, motion.position[e, i], motion.velocity[e, i], 6 * e + i)
                for j in range(3):
                    # R' = [w x] R; partial to a turn about the world axis l: [e_l x] R
                    x = number(K, R[i, j], w[k] * R[m, j] - w[m] * R[k, j], 0.0)
                    x = with_partial(x, 6 * e + 3 + k, R[m, j])
                    rotation[e, i, j] = with_partial(x, 6 * e + 3 + m, -R[k, j])
        deformation(jets, position, rotation, seed(K, t, 1.0, N), eps)
        for d in range(nd):
            out.deformation[d] = value(eps[d])
            rates[d] = rate(eps[d])
        now = Deformed(out.deformation, rates, motion.x, motion.inputs, motion.memory)
        answer(self, now, t, Effort(out.effort, out.rates, out.energy, out.dissipated, out.supplied))
        for d in range(nd):
            F = out.effort[d]
            for e in range(n):
                for i in range(3):
                    out.force[e, i] -= F * lane(eps[d], 6 * e + i)
                    out.moment[e, i] -= F * lane(eps[d], 6 * e + 3 + i)

    return compiled(on_ends, jit_options)


def plain_answer(methods, sizes, jit_options):
    """Compile the effort, or the implicit law solved for it."""
    if "effort" in methods:
        return compiled(methods["effort"], jit_options)
    return solve_law(methods["law"], methods.get("balance"), sizes.deformations, jit_options)


def solve_law(law, balance, nd, jit_options):
    """Compile an implicit law to ``effort(self, now, t, out)``: Newton's method from no effort."""

    def nothing(self, now, t, out):
        pass

    law, balance = compiled(law, jit_options), compiled(balance or nothing, jit_options)
    K, columns = jet_width(nd - 1, "law", 16), nd + 1

    def effort(self, now, t, out):
        F, f = stack_array("dual", K, (nd,)), stack_array("dual", K, (nd,))
        M = stack_array("float", 0, (nd, columns))
        last = 1e300
        for _ in range(_ITERATIONS):
            for i in range(nd):
                F[i] = dual_seed(K, out.effort[i], i)
                f[i] = 0.0
            law(self, now, F, t, f)
            for i in range(nd):
                M[i, nd] = -f[i].v
                for j in range(nd):
                    M[i, j] = lane(f[i], j)
            gauss(M, nd)
            step, size = 0.0, 1.0
            for i in range(nd):
                step = max(step, abs(M[i, nd]))
                size = max(size, abs(out.effort[i]))
                out.effort[i] += M[i, nd]
            if not step > 4e-16 * size or (step < 1e-9 * size and step >= last):  # down to rounding
                balance(self, now, t, out)
                return
            last = step
        for i in range(nd):
            out.effort[i] = nan

    return compiled(effort, jit_options)


@njit(**JIT_OPTIONS)
def gauss(M, n):
    """Solve M[:, :n] x = M[:, n] in place, with row exchanges."""
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[p, k]):
                p = i
        for j in range(k, n + 1):
            M[k, j], M[p, j] = M[p, j], M[k, j]
        for i in range(k + 1, n):
            factor = M[i, k] / M[k, k]
            for j in range(k + 1, n + 1):
                M[i, j] -= factor * M[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            M[k, n] -= M[k, j] * M[j, n]
        M[k, n] /= M[k, k]


def compile_reaction(evaluate, sizes, jit_options):
    """Compile ``evaluate(self, motion, t, out)`` to a form that adds the partials of all loads to the reaction.

    The partials follow the load record: ``derivatives`` (6 n + nc, 6), rows in the order force, moment, load.
    """
    n, nc, ns, nd = sizes.ends, sizes.coordinates, sizes.states, sizes.deformations
    evaluate = compiled(evaluate, jit_options)

    def with_derivatives(self, motion, t, out, derivatives):
        reaction = stack_array("dual", 8, (1, 6))
        force, moment = stack_array("dual", 8, (n, 3)), stack_array("dual", 8, (n, 3))
        load, rates = stack_array("dual", 8, (nc,)), stack_array("dual", 8, (ns,))
        energy, dissipated, supplied = (
            stack_array("dual", 8, (1,)),
            stack_array("dual", 8, (1,)),
            stack_array("dual", 8, (1,)),
        )
        deformation, effort = stack_array("dual", 8, (nd,)), stack_array("dual", 8, (nd,))
        for k in range(6):
            reaction[0, k] = dual_seed(8, motion.reaction[0, k], k)
        seen = EndsMotion(
            motion.position, motion.rotation, motion.velocity, motion.angular_velocity, motion.q, motion.u, motion.x,
            motion.inputs, motion.memory, reaction,
        )  # fmt: skip
        evaluate(
            self,
            seen,
            t,
            EndsLoad(force, moment, load, rates, energy, dissipated, supplied, deformation, effort),
        )
        for e in range(n):
            for i in range(3):
                out.force[e, i] = force[e, i].v
                out.moment[e, i] = moment[e, i].v
                for k in range(6):
                    derivatives[3 * e + i, k] = lane(force[e, i], k)
                    derivatives[3 * n + 3 * e + i, k] = lane(moment[e, i], k)
        for c in range(nc):
            out.load[c] = load[c].v
            for k in range(6):
                derivatives[6 * n + c, k] = lane(load[c], k)
        for s in range(ns):
            out.rates[s] = rates[s].v
        out.energy[0] = energy[0].v
        out.dissipated[0] = dissipated[0].v
        out.supplied[0] = supplied[0].v
        for d in range(nd):
            out.deformation[d] = deformation[d].v
            out.effort[d] = effort[d].v

    return compiled(with_derivatives, jit_options)
