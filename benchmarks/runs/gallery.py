"""The gallery against what is known of it: every example with known values, at the settings of its file.

Part of `python -m treemech.benchmarks reference`.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from treemech import examples

from ..problems.catalogue import catalogue


@dataclass
class Held:
    """How one example stands to its known values; deviations are parts of what is allowed."""

    example: str
    group: str
    quantities: int = 0
    worst: float = math.inf
    worst_quantity: str = ""
    source: str = ""
    imbalance: float = math.nan
    cpu_seconds: float = math.nan
    failure: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure and self.worst <= 1.0


def gallery() -> list[str]:
    """Return the names of the examples with known values of their own.

    >>> "car_axis" in gallery()
    True
    """
    return [name for name, entry in catalogue().items() if hasattr(entry.module(), "KNOWN")]


def hold(name: str) -> Held:
    """Run an example and compare; a failure is told in `failure`. CPU time includes the comparison and what is compiled."""
    example = examples.find(name)
    result, began = Held(name, example.group), time.process_time()
    try:
        run = example.run()
        if not run.success:
            result.failure = run.message
            return result
        deviations = example.deviations()
        missing = set(example.known) - set(deviations)
        if missing or not deviations:
            result.failure = (
                f"measured() offers nothing for {', '.join(sorted(missing)) or 'the known values'}"
            )
            return result
        result.worst_quantity = max(deviations, key=lambda key: deviations[key])
        result.worst, result.quantities = deviations[result.worst_quantity], len(deviations)
        result.source, result.imbalance = example.known[result.worst_quantity].source, example.imbalance()
    except Exception as error:
        result.failure = f"{type(error).__name__}: {error}"
    result.cpu_seconds = time.process_time() - began
    return result


def table(results: Sequence[Held]) -> str:
    """Return the results, one line each."""
    head = f"{'example':34} {'quantities':>10} {'deviation/allowed':>17} {'balance':>8} {'CPU s':>6}  nearest to its limit"
    lines = [head, "-" * len(head)]
    for r in results:
        if r.failure:
            lines.append(f"{r.example:34} FAILED: {r.failure}")
            continue
        balance = "" if math.isnan(r.imbalance) else f"{r.imbalance:.0e}"
        lines.append(
            f"{r.example:34} {r.quantities:10d} {r.worst:17.3f} {balance:>8} {r.cpu_seconds:6.2f}  {r.worst_quantity}"
            + ("" if r.passed else "  MISSED")
        )
    return "\n".join(lines)
