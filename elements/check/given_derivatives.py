"""Check of given derivatives of an effort against differences: duty 9 of an energetic element."""

from functools import partial

import numpy as np

from treemech.topology.arrays import Floats

from ..compilation.callback import python_self
from ..compilation.methods import DUAL_PART, methods_of
from ..energetic import Deformed, Effort
from .energetic_subject import Finding, Sample, Subject, slope
from .python_forms import deformed, python_eps
from .report import FIRST, TINY, Report, Row, locked

GIVEN = {"stiffness_matrix": "deformation", "damping_matrix": "rate"}


def check_given_derivatives(subject: Subject, taken: list[Sample], report: Report) -> list[Finding]:
    """Check the given derivatives of F by eps and by its rate.

    With them, F - effort(eps) (or the law f(F, eps)) does not change along eps, nor along its rate.
    """
    found = list[Finding]()
    methods = methods_of(subject.element, DUAL_PART)
    for name, along in GIVEN.items():
        if name not in methods:
            continue
        worst, text = 0.0, ""
        for s in taken:
            now = _now(subject, s)
            matrix = np.zeros((subject.n.deformations,) * 2)
            methods[name](python_self(subject.element, s.t), now, s.t, matrix)
            F = subject.load(s.out).effort
            for k, column in enumerate(matrix.T):
                still, groups = np.zeros(len(F)), (1,) * len(F)
                by_eps = slope(partial(_missing, subject, s, now, along, k, 1.0, F, still), groups)
                by_effort = slope(partial(_missing, subject, s, now, along, k, 0.0, F, column), groups)
                if by_eps is None or by_effort is None:  # a corner: trust the author
                    continue
                gap = np.abs(by_eps[0] + by_effort[0]) / (by_eps[1] + by_effort[1] + TINY)
                i = int(np.argmax(gap))
                if gap[i] > max(worst, FIRST):
                    text = (
                        f"{name}[{i}, {k}] of {subject.kind} is {column[i]:.6g} {subject.at(s.record, s.t)}"
                    )
                worst = max(worst, float(gap[i]))
        report.rows.append(Row(f"{name}: the effort by its {along}", worst, FIRST))
        if text:
            found.append(
                Finding(3, f"{text}: not the derivative of effort {'of its law ' if 'law' in methods else ''}by {along}; "
                        f"it is {worst:.2g} of the largest term away", name)
            )  # fmt: skip
    return found


def _now(subject: Subject, s: Sample) -> Deformed:
    rate = subject.rate(s.record, s.t) if "deformation" in subject.methods else None
    return deformed(subject.element, s.record, python_eps(subject.element, s.record, s.t), rate)


def _missing(
    subject: Subject,
    s: Sample,
    now: Deformed,
    along: str,
    k: int,
    step: float,
    F: Floats,
    column: Floats,
    h: float,
) -> Floats:
    """Return the residual of the law, or effort - F, after h steps.

    A step changes F by the column and number k of `along` by `step`.
    """
    n, me = subject.n, python_self(subject.element, s.t)
    moved = getattr(now, along).copy()
    moved[k] += h * step
    there, F = now._replace(**{along: locked(moved)}), F + h * column
    if "law" in subject.methods:
        f = np.zeros(n.deformations)
        subject.methods["law"](me, there, locked(F), s.t, f)
        return f
    out = Effort(np.zeros(n.deformations), np.zeros(n.states), np.zeros(1), np.zeros(1), np.zeros(1))
    subject.methods["effort"](me, there, s.t, out)
    return np.asarray(F - out.effort)
