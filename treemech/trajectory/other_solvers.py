"""Solvers of others for the program of a trajectory: trust-constr of scipy, IPOPT through casadi."""

from typing import Any

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize
from scipy.sparse import csr_matrix, triu

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from .interior_point import Program, Solved


def trust_constr(program: Program, x: Floats, tolerance: float, iterations: int) -> Solved:
    """Solve by scipy's trust-constr with sparse derivatives; fixed variables are left out."""
    free = np.flatnonzero(program.upper > program.lower)
    base = np.where(program.upper > program.lower, np.clip(x, program.lower, program.upper), program.lower)

    def whole(v: Floats) -> Floats:
        full = base.copy()
        full[free] = v
        return full

    def of(v: Floats, y: Floats) -> Any:
        return csr_matrix(program.hessian(whole(v), y))[free][:, free]

    m, zero = len(program.constraints(base)), np.zeros(0)
    zero = np.zeros(m)
    rows = NonlinearConstraint(
        lambda v: program.constraints(whole(v)), 0.0, 0.0, jac=lambda v: program.jacobian(whole(v)).tocsr()[:, free],
        hess=lambda v, y: of(v, y) - of(v, zero),
    )  # fmt: skip
    found = minimize(
        lambda v: program.objective(whole(v)), base[free], method="trust-constr", jac=lambda v: program.gradient(whole(v))[free],
        hess=lambda v: of(v, zero), constraints=[rows], bounds=Bounds(program.lower[free], program.upper[free]),
        options={"maxiter": iterations, "gtol": tolerance, "xtol": 1e-12},
    )  # fmt: skip
    feasibility, stationarity = float(found.constr_violation), float(found.optimality)
    success = feasibility <= 10 * tolerance and stationarity <= 10 * tolerance
    return Solved(
        whole(found.x), np.asarray(found.v[0]), success, str(found.message), int(found.nit), stationarity, feasibility,
        float(getattr(found, "barrier_parameter", 0.0)),
    )  # fmt: skip


def ipopt(program: Program, x: Floats, tolerance: float, iterations: int) -> Solved:
    """Solve by IPOPT, which casadi brings along."""
    try:
        import casadi
    except ImportError:
        raise TreemechError("trajectory: IPOPT comes with casadi: pip install treemech[optimal].") from None
    n, m = len(x), len(program.constraints(x))
    J = csr_matrix(program.jacobian(x))
    rng = np.random.default_rng(0)
    H = triu(csr_matrix(program.hessian(x, rng.normal(size=m)))).tocsc()
    J_at = _pattern(casadi, J.tocsc())
    H_at = _pattern(casadi, H)

    class Callback(casadi.Callback):  # type: ignore[misc]
        """A function of numbers: name, sparsities in and out, and what it computes."""

        def __init__(
            self, name: str, ins: list[Any], outs: list[Any], compute: Any, derivative: Any = None
        ) -> None:
            casadi.Callback.__init__(self)
            self.ins, self.outs, self.compute, self.derivative = ins, outs, compute, derivative
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.ins)

        def get_n_out(self) -> int:
            return len(self.outs)

        def get_sparsity_in(self, i: int) -> Any:
            return self.ins[i]

        def get_sparsity_out(self, i: int) -> Any:
            return self.outs[i]

        def eval(self, given: Any) -> Any:
            return [
                casadi.DM(s, v)
                for s, v in zip(
                    self.outs, self.compute(*(np.array(g.full()).ravel() for g in given)), strict=True
                )
            ]

    dense = casadi.Sparsity.dense
    fg = {"x": dense(n, 1), "p": dense(0, 1)}
    one, col = dense(1, 1), dense(m, 1)
    f = Callback("f", [fg["x"], fg["p"]], [one], lambda v, p: [program.objective(v)])
    g = Callback("g", [fg["x"], fg["p"]], [col], lambda v, p: [program.constraints(v)])
    gf = Callback(
        "nlp_grad_f",
        [fg["x"], fg["p"]],
        [one, dense(n, 1)],
        lambda v, p: [program.objective(v), program.gradient(v)],
    )
    jg = Callback(
        "nlp_jac_g", [fg["x"], fg["p"]], [col, J_at[0]],
        lambda v, p: [program.constraints(v), _entries(program.jacobian(v), J_at)],
    )  # fmt: skip

    def second(v: Floats, p: Floats, sigma: Floats, y: Floats) -> list[Floats]:
        plain = program.hessian(v, np.zeros(m))
        return [_entries(triu(program.hessian(v, y) + (float(sigma[0]) - 1.0) * plain), H_at)]

    hess = Callback("nlp_hess_l", [fg["x"], fg["p"], one, col], [H_at[0]], second)
    X, P = casadi.MX.sym("x", n), casadi.MX.sym("p", 0)
    solver = casadi.nlpsol(
        "solver", "ipopt", {"x": X, "p": P, "f": f(X, P), "g": g(X, P)},
        {
            "grad_f": gf, "jac_g": jg, "hess_lag": hess, "print_time": False, "no_nlp_grad": True,
            "calc_lam_p": False, "calc_f": False, "ipopt.print_level": 0, "ipopt.sb": "yes",
            "ipopt.tol": tolerance, "ipopt.max_iter": iterations,
        },
    )  # fmt: skip
    found = solver(x0=x, lbx=program.lower, ubx=program.upper, lbg=0.0, ubg=0.0)
    stats, best, y, z = solver.stats(), *(np.array(found[k].full()).ravel() for k in ("x", "lam_g", "lam_x"))
    left = program.gradient(best) + program.jacobian(best).T @ y + z
    return Solved(
        best, y, bool(stats["success"]), str(stats["return_status"]), int(stats["iter_count"]),
        float(np.max(np.abs(left))), float(np.max(np.abs(program.constraints(best)))), 0.0,
    )  # fmt: skip


def _pattern(casadi: Any, A: Any) -> tuple[Any, Any]:
    """Return a sparsity of casadi and the places of its entries."""
    A.sort_indices()
    rows, starts = A.indices.tolist(), A.indptr.tolist()
    columns = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
    return casadi.Sparsity(A.shape[0], A.shape[1], starts, rows), (A.indices.copy(), columns)


def _entries(A: Any, pattern: tuple[Any, Any]) -> Floats:
    """Return the entries of A at the places of a pattern."""
    return np.asarray(csr_matrix(A)[pattern[1][0], pattern[1][1]]).ravel()
