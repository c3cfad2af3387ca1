"""Check of a coupling: its rows against differences along random motions of its coordinates."""

import numpy as np

from ..coupling import Coupling, CouplingRows, coupling_views
from .equations import Block, Quantities, Subject, check_equations
from .report import Report, shown


def check_coupling(coupling: Coupling, samples: int, rng: np.random.Generator, report: Report) -> None:
    """Check a coupling; broken duties raise an ElementError."""
    n, k = coupling.n_rows, coupling.n_arguments or 0

    def gathered(rows: CouplingRows) -> Quantities:
        return Quantities(*rows)

    subject = Subject(
        coupling,
        (Block("partials", slice(0, k), "q", "u", "u"),),
        lambda place, rates, t: gathered(coupling.rows(place[0], rates, t)),
        lambda record: gathered(coupling_views(record, n, k)),
        lambda place, rates: (place[0].copy(), rates.copy()),
        lambda place, step: (place[0] + step,),
        lambda place, rates, t: f"at q = {shown(place[0])}, u = {shown(rates)}, t = {t:.6g}",
        lambda sample, name: "",
    )
    check_equations(subject, samples, rng, report)
