"""The memory of generalized-alpha besides that of all methods (step_memory): what stands where. (Does not import numba.)"""

# the table (int64): address of the room; sizes of q, u, x, rows that may count; entry point of the residual with chords (0:
# none); per speed the coordinate it moves, or EULER, or PRESCRIBED; number of triples of angular speeds, their table: first
# Euler parameter, first speed, whether they are in the base of end a; per row whether it restricts rates only; the table of
# columns that are moved together for differences (column_groups); whether elements depend on multipliers
WORKSPACE, NQ, NU, NX, N_ROWS, RESIDUAL, MOVES, N_TURNS, TURNS, NONHOLONOMIC, GROUPS, REACTION_DEPENDENT = (
    range(12)
)
N_TABLE = 12
EULER, PRESCRIBED = -1, -2
# control, in the room of Adams' past: of second-order equations alpha_m, alpha_f, beta, gamma; of first-order ones alpha_m,
# gamma; factors of the local errors of q, u, x; whether steps have one size; index
# of the last step
ALPHA_M, ALPHA_F, BETA, GAMMA, ALPHA_X, GAMMA_X, ERROR_Q, ERROR_U, ERROR_X, FIXED, LAST_INDEX = range(13, 24)
# count, in the room of Adams' order: steps of index 3 that rounding left to index 2
N_LOWERED = 12
# room: rows of `row_size` numbers: auxiliary accelerations a as the last step left them, for the size of this step, new;
# their slope in the step before; multipliers the derivatives are made with and the iteration starts with, new ones; right side;
# shift of the position, displacement; what the entry point left; residual, the same at the state of the Jacobian; pivots, sizes
# of rows; speeds for the size of this step, rates P u + P0 at which the chains open at its start, at its end; multipliers of the
# last step; rates at the start, auxiliary accelerations, speeds and shift while derivatives are made at an iterate; gaps;
# what the shift makes of the unknowns; rates of the speeds by `loop_rhs` at the start, at the end, their slope; then matrices, column by column: residual by q, u, x; A; P, row by row; factors; Jacobian
# of a tree; residual by the multipliers, where elements depend on them
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
    """Length of a row of the room."""
    return max(n, nu + nx + rows) + 1


def workspace_size(n: int, nu: int, nx: int, rows: int) -> int:
    """Numbers in the room."""
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
    """Of the method with spectral radius rho at infinity (Chung and Hulbert 1993; Jansen, Whiting and Hulbert 2000).

    Weights as in Arnold and Bruels (2007): (1 - alpha_m) a_new + alpha_m a = (1 - alpha_f) u'_new + alpha_f u'. The auxiliary
    a stands for u' at t + (alpha_m - alpha_f) h, up to `noise` h^2 times its second derivative.

    >>> c = coefficients(1.0)  # the trapezoidal rule in both
    >>> c[GAMMA], c[BETA], c[GAMMA_X]
    (0.5, 0.25, 0.5)
    """
    m, f, mx, gx = (2 * rho - 1) / (rho + 1), rho / (rho + 1), (3 * rho - 1) / (2 * rho + 2), 1 / (rho + 1)
    g = 0.5 + f - m
    b = 0.25 * (g + 0.5) ** 2

    def local_error(m: float, g: float) -> float:
        """Of a number integrated once: times h^3 and its third derivative."""
        ahead = m - f
        noise = 0.5 * ((1 - f) - (1 - m) * (1 + ahead) ** 2 - m * ahead**2)
        return 1 / 6 - 0.5 * ((1 - g) * ahead**2 + g * (1 + ahead) ** 2) - noise

    return {
        ALPHA_M: m, ALPHA_F: f, BETA: b, GAMMA: g, ALPHA_X: mx, GAMMA_X: gx,
        ERROR_Q: 1 / 6 - b - 0.5 * (m - f), ERROR_U: local_error(m, g), ERROR_X: local_error(mx, gx),
    }  # fmt: skip
