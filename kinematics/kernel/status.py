"""Status codes of entry points of the core: an int32, 1 = ok, else code + 16 (index of the element)."""

ONLY_POINTS, OK = 0, 1  # of the entry point `remember`: nothing changes the rates
HINGE_FAILED, LOAD_FAILED, SIGNAL_FAILED = 2, 3, 4
STEP_TOO_SMALL, NOT_FINITE, PAUSED = 5, 6, 7
CHORD_FAILED, SINGULAR_POSITION, CHAIN_OPEN, CHORD_SWITCHED = 8, 9, 10, 11
EFFORT_NOT_FINITE, POINT_LOST, REACTION_LOST, NOT_CONVERGED = 12, 13, 14, 15
ELEMENT_FAILURES = (
    HINGE_FAILED, LOAD_FAILED, SIGNAL_FAILED, CHORD_FAILED, EFFORT_NOT_FINITE, POINT_LOST, REACTION_LOST,
)  # fmt: skip


def split(status: int) -> tuple[int, int]:
    """Return (code, index) of a status."""
    return status % 16, status // 16
