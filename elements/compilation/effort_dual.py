# mypy: ignore-errors
"""Differentiate an effort along one direction of deformation, rate, states, inputs and parameters.

An ``effort`` is run on dual numbers (``Dual(1)``). An implicit law f(F, eps, ...) = 0 is solved for plain
numbers first; then the derivative of (3.4.5) gives::

    (df/dF) F* = -f*        f*: the derivative of f for constant F

If the author gives d effort/d deformation (``stiffness_matrix``) or d effort/d rate (``damping_matrix``),
they replace the effort's own derivatives.

In the place of `self` all functions here get `both`: the element with dual parameters, and with plain ones.
"""

from typing import Any, NamedTuple

from ..dual.numbers import dual_number, dual_seed, lane, stack_array, value_of
from ..energetic import Deformed, Effort
from .effort import gauss, plain_answer, solve_law
from .motion import compiled, jet_width


class Both(NamedTuple):
    """Element with its parameters as dual numbers (own) and as plain numbers (plain)."""

    own: Any
    plain: Any


def dual_answer(methods, sizes, jit_options, held):
    """Compile effort or law, and the derivatives the author gives, to ``answer(both, now, t, out)`` on Dual(1).

    With `held` the parameters are plain numbers.
    """
    stiffness, damping = methods.get("stiffness_matrix"), methods.get("damping_matrix")
    nd, ns, ni = sizes.deformations, sizes.states, sizes.inputs
    whole = stiffness is not None and damping is not None and ns + ni == 0
    if whole and held:  # all derivatives are given: the effort itself need not be differentiable
        return _given(
            _flat(plain_answer(methods, sizes, jit_options), sizes, jit_options),
            stiffness,
            damping,
            sizes,
            jit_options,
        )
    if "effort" in methods:
        effort = compiled(methods["effort"], jit_options)
        answer = compiled(lambda both, now, t, out: effort(both.own, now, t, out), jit_options)
    else:
        answer = _dual_law(methods["law"], methods.get("balance"), sizes, jit_options)
    if stiffness is None and damping is None:
        return answer
    return _given(
        _held(answer, stiffness is not None, damping is not None, nd, ns, jit_options),
        stiffness,
        damping,
        sizes,
        jit_options,
    )


def _values(sizes, jit_options):
    """Compile ``values(now, eps, rate, x, inputs, memory)``, which copies the plain values of `now`."""
    nd, ns, ni, nm = sizes.deformations, sizes.states, sizes.inputs, sizes.memory

    def values(now, eps, rate, x, inputs, memory):
        for k in range(nd):
            eps[k] = value_of(now.deformation[k])
            rate[k] = value_of(now.rate[k])
        for k in range(ns):
            x[k] = value_of(now.x[k])
        for k in range(ni):
            inputs[k] = value_of(now.inputs[k])
        for k in range(nm):
            memory[k] = value_of(now.memory[k])

    return compiled(values, jit_options)


def _flat(effort, sizes, jit_options):
    """Compile an effort of plain numbers to an answer on dual numbers whose derivatives are zero."""
    nd, ns, ni, nm = sizes.deformations, sizes.states, sizes.inputs, sizes.memory
    values = _values(sizes, jit_options)

    def answer(both, now, t, out):
        eps, rate = stack_array("float", 1, (nd,)), stack_array("float", 1, (nd,))
        x, inputs, memory = (
            stack_array("float", 1, (ns,)),
            stack_array("float", 1, (ni,)),
            stack_array("float", 1, (nm,)),
        )
        F, rates = stack_array("float", 1, (nd,)), stack_array("float", 1, (ns,))
        energy, dissipated, supplied = (
            stack_array("float", 1, (1,)),
            stack_array("float", 1, (1,)),
            stack_array("float", 1, (1,)),
        )
        values(now, eps, rate, x, inputs, memory)
        for k in range(nd):
            F[k] = value_of(out.effort[k])
        seen = Deformed(eps, rate, x, inputs, memory)
        effort(both.plain, seen, t, Effort(F, rates, energy, dissipated, supplied))
        for k in range(nd):
            out.effort[k] = F[k]
        for k in range(ns):
            out.rates[k] = rates[k]

    return compiled(answer, jit_options)


def _dual_law(law, balance, sizes, jit_options):
    """Compile an implicit law to an answer on dual numbers."""
    nd, ns, ni, nm = sizes.deformations, sizes.states, sizes.inputs, sizes.memory

    def nothing(self, now, t, out):
        pass

    law, balance = compiled(law, jit_options), compiled(balance or nothing, jit_options)
    solve, values = (
        _flat(solve_law(law, None, nd, jit_options), sizes, jit_options),
        _values(sizes, jit_options),
    )
    K, columns = jet_width(nd - 1, "law", 16), nd + 1

    def answer(both, now, t, out):
        solve(both, now, t, out)
        eps, rate = stack_array("float", 1, (nd,)), stack_array("float", 1, (nd,))
        x, inputs, memory = (
            stack_array("float", 1, (ns,)),
            stack_array("float", 1, (ni,)),
            stack_array("float", 1, (nm,)),
        )
        F, f = stack_array("dual", K, (nd,)), stack_array("dual", K, (nd,))
        held, change = stack_array("dual", 1, (nd,)), stack_array("dual", 1, (nd,))
        M = stack_array("float", 1, (nd, columns))
        values(now, eps, rate, x, inputs, memory)
        for i in range(nd):
            F[i] = dual_seed(K, value_of(out.effort[i]), i)
            held[i] = value_of(out.effort[i])
        law(both.plain, Deformed(eps, rate, x, inputs, memory), F, t, f)
        law(both.own, now, held, t, change)
        for i in range(nd):
            M[i, nd] = -lane(change[i], 0)
            for j in range(nd):
                M[i, j] = lane(f[i], j)
        gauss(M, nd)
        for i in range(nd):
            out.effort[i] = dual_number(value_of(out.effort[i]), M[i, nd])
        balance(both.own, now, t, out)

    return compiled(answer, jit_options)


def _held(answer, hold_deformation, hold_rate, nd, ns, jit_options):
    """Compile an answer to one whose effort ignores changes of deformation or rate that have given derivatives."""

    def held(both, now, t, out):
        answer(both, now, t, out)  # states and powers see everything
        eps, rate = stack_array("dual", 1, (nd,)), stack_array("dual", 1, (nd,))
        F, rates = stack_array("dual", 1, (nd,)), stack_array("dual", 1, (ns,))
        energy, dissipated, supplied = (
            stack_array("dual", 1, (1,)),
            stack_array("dual", 1, (1,)),
            stack_array("dual", 1, (1,)),
        )
        for k in range(nd):
            eps[k], rate[k] = now.deformation[k], now.rate[k]
            if hold_deformation:
                eps[k] = value_of(now.deformation[k])
            if hold_rate:
                rate[k] = value_of(now.rate[k])
            F[k] = value_of(out.effort[k])
        answer(
            both,
            Deformed(eps, rate, now.x, now.inputs, now.memory),
            t,
            Effort(F, rates, energy, dissipated, supplied),
        )
        for k in range(nd):
            out.effort[k] = F[k]

    return compiled(held, jit_options)


def _given(answer, stiffness, damping, sizes, jit_options):
    """Compile an answer to one that adds the given derivatives to its effort."""
    nd, ns, ni, nm = sizes.deformations, sizes.states, sizes.inputs, sizes.memory

    def none(self, now, t, out):
        pass

    stiffness, damping = compiled(stiffness or none, jit_options), compiled(damping or none, jit_options)
    values = _values(sizes, jit_options)

    def with_derivatives(both, now, t, out):
        answer(both, now, t, out)
        eps, rate = stack_array("float", 1, (nd,)), stack_array("float", 1, (nd,))
        x, inputs, memory = (
            stack_array("float", 1, (ns,)),
            stack_array("float", 1, (ni,)),
            stack_array("float", 1, (nm,)),
        )
        K, D = stack_array("float", 1, (nd, nd)), stack_array("float", 1, (nd, nd))
        values(now, eps, rate, x, inputs, memory)
        plain = Deformed(eps, rate, x, inputs, memory)
        stiffness(both.plain, plain, t, K)
        damping(both.plain, plain, t, D)
        for i in range(nd):
            change = lane(out.effort[i], 0)
            for j in range(nd):
                change += K[i, j] * lane(now.deformation[j], 0) + D[i, j] * lane(now.rate[j], 0)
            out.effort[i] = dual_number(value_of(out.effort[i]), change)

    return compiled(with_derivatives, jit_options)
