"""Check of a load: finite, repeatable, compiled equal to Python."""

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.callback import python_self
from ..compilation.entry import call, make_entry
from ..load import EndLoad, EndMotion, Load
from .blame import blame
from .report import ROUND, TINY, Report, Row, check_guard, guarded, locked, random_time, shown


def check_load(load: Load, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check that a load is finite, repeatable and the same compiled as in Python."""

    def says(a: Floats, b: Floats, t: float) -> Floats:
        out = np.zeros(6)
        end = EndMotion(a[:3], a[3:].reshape(3, 3), b[:3], b[3:])
        try:
            type(load).evaluate(python_self(load, t), end, t, EndLoad(out[:3], out[3:]))
        except Exception as error:
            raise ElementError(f"check: {blame(load, error)} Met {place(a, b, t)}.") from error
        if not np.all(np.isfinite(out)):
            raise ElementError(f"check: {load.kind} gives force {shown(out[:3])}, moment {shown(out[3:])} "
                               f"{place(a, b, t)}.")  # fmt: skip
        return out

    def place(a: Floats, b: Floats, t: float) -> str:
        return f"at position {shown(a[:3])}, velocity {shown(b[:3])}, t = {t:.6g}"

    taken = []
    for k in range(samples):
        turn, r = np.linalg.qr(rng.normal(size=(3, 3)))
        turn = turn * np.sign(np.diag(r))
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        a = locked(np.concatenate((rng.normal(size=3), turn.ravel())))
        b = locked(rng.normal(size=6) * (k > 0))
        t = random_time(load, rng)
        taken.append((a, b, t, says(a, b, t)))
    report.way = make_entry(load).way
    largest = 0.0
    for a, b, t, before in taken:
        if says(a, b, t).tobytes() != before.tobytes():
            raise ElementError(f"check: {load.kind} is not the same when asked twice {place(a, b, t)}. "
                               "A load must depend on its arguments and fields only.")  # fmt: skip
        buffer, out = guarded(6)
        call(load, "load", a, b, t, out)
        check_guard(load, buffer, place(a, b, t))
        gap = float(np.max(np.abs(out - before))) / (float(np.max(np.abs(before))) + TINY)
        if gap > ROUND:
            raise ElementError(
                f"check: compiled, {load.kind} differs from Python by {gap:.2g} {place(a, b, t)}."
            )
        largest = max(largest, gap)
    report.rows.append(Row("finite; same arguments, same result", 0.0, 0.0))
    report.rows.append(Row("through its address: equal to Python, writes inside its arrays", largest, ROUND))
