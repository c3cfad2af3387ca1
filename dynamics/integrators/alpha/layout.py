"""Layout of the memory that generalized-alpha needs besides that of all methods (../layout.py).

(Does not import numba.)
"""

# the table (int64): address of the workspace; sizes of q, u, x; number of constraint rows; entry point of the
# residual with chords (0: none); for each speed the coordinate it moves, or EULER, or PRESCRIBED; number of
# triples of angular speeds, and their table: first Euler parameter, first speed, whether the speeds are in
# the base of end a; for each row whether it restricts rates only; table of the Jacobian groups
# (dynamics/simulation/jacobian_groups.py); whether elements depend on multipliers
WORKSPACE, NQ, NU, NX, N_ROWS, RESIDUAL, MOVES, N_TURNS, TURNS, NONHOLONOMIC, GROUPS, REACTION_DEPENDENT = (
    range(12)
)
N_TABLE = 12
EULER, PRESCRIBED = -1, -2
# control, in place of the past of Adams: alpha_m, alpha_f, beta, gamma of second-order equations; alpha_m,
# gamma of first-order equations; factors of the local errors of q, u, x; whether all steps have the same
# size; index of the last step
ALPHA_M, ALPHA_F, BETA, GAMMA, ALPHA_X, GAMMA_X, ERROR_Q, ERROR_U, ERROR_X, FIXED, LAST_INDEX = range(13, 24)
# count, in place of the order of Adams: steps that were solved with index 2 because of rounding with index 3
N_LOWERED = 12
# workspace, rows of `row_size` numbers: auxiliary accelerations a of the last step, the same scaled to this
# step size, new ones; their rate of change in the step before; multipliers of the derivatives and of the
# first iterate, new multipliers; right-hand side; shift of the position, displacement; result of the entry
# point; residual, residual at the state of the Jacobian; pivots, sizes of rows; speeds for this step size;
# rates P u + P0 at which the chains open at the start and at the end of the step; multipliers of the last
# step; copies of the rates at the start, the auxiliary accelerations, the speeds and the shift while
# derivatives are made at an iterate; gaps; part of the unknowns due to the shift; rates of the speeds by
# `loop_rhs` at the start and at the end, and their rate of change. Then the matrices, column by column:
# residual by q, u, x; A; P, row by row; factors; Jacobian of a tree; residual by the multipliers, if elements
# depend on them
(
    AUXILIARY,
    SCALED,
    NEW_AUXILIARY,
    SLOPE,
    MULTIPLIERS,
    NEW_MULTIPLIERS,
    RIGHT,
    SHIFT,
    MOVE,
    FOUND,
    RESIDUALS,
    START,
) = range(12)
PIVOTS, SIZES, SPEEDS, OPENING, NEW_OPENING, LAST_MULTIPLIERS = range(12, 18)
KEPT_RATES, KEPT_SCALED, KEPT_SPEEDS, KEPT_SHIFT, GAPS, SHIFTED = range(18, 24)
TRUE_RATES, NEW_TRUE_RATES, TRUE_SLOPE, MATRICES = range(24, 28)


def row_size(n: int, nu: int, nx: int, rows: int) -> int:
    """Return the length of a row of the workspace."""
    return max(n, nu + nx + rows) + 1


def workspace_size(n: int, nu: int, nx: int, rows: int) -> int:
    """Return the number of values in the workspace."""
    size = nu + nx + rows
    return (
        MATRICES * row_size(n, nu, nx, rows)
        + (2 * nu + nx) * size
        + nu * nu
        + rows * nu
        + size * size
        + n * n
        + rows * size
    )


def coefficients(rho: float) -> dict[int, float]:
    """Return the coefficients for the spectral radius rho at infinity.

    (Chung and Hulbert 1993; Jansen, Whiting and Hulbert 2000.)

    Weights as in Arnold and Bruels (2007):
    (1 - alpha_m) a_new + alpha_m a = (1 - alpha_f) u'_new + alpha_f u'.
    The auxiliary a approximates u' at t + (alpha_m - alpha_f) h, up to `noise` h^2 times its second derivative.

    >>> c = coefficients(1.0)  # the trapezoidal rule in both
    >>> c[GAMMA], c[BETA], c[GAMMA_X]
    (0.5, 0.25, 0.5)
    """
    m, f, mx, gx = (2 * rho - 1) / (rho + 1), rho / (rho + 1), (3 * rho - 1) / (2 * rho + 2), 1 / (rho + 1)
    g = 0.5 + f - m
    b = 0.25 * (g + 0.5) ** 2

    def local_error(m: float, g: float) -> float:
        """Return the local error of a number integrated once, divided by h^3 and its third derivative."""
        ahead = m - f
        noise = 0.5 * ((1 - f) - (1 - m) * (1 + ahead) ** 2 - m * ahead**2)
        return 1 / 6 - 0.5 * ((1 - g) * ahead**2 + g * (1 + ahead) ** 2) - noise

    return {
        ALPHA_M: m, ALPHA_F: f, BETA: b, GAMMA: g, ALPHA_X: mx, GAMMA_X: gx,
        ERROR_Q: 1 / 6 - b - 0.5 * (m - f), ERROR_U: local_error(m, g), ERROR_X: local_error(mx, gx),
    }  # fmt: skip
