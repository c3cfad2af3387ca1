"""What the pieces of the core cost to build, beside what they cost when that was last written down (record.json).

Seconds are CPU seconds of the worker; `unit` is what a fixed piece of work took in the same process, so that figures
of different machines, or of a busy one, can be compared: cost = seconds / unit.
"""

import json
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record.json")
ALLOWED = 1.10  # of the record: more has to be recorded on purpose, with the reason in the commit
_UNKNOWN = 1.5  # CPU seconds of a piece that was never recorded


def unit() -> float:
    """Return the CPU seconds of a fixed piece of work of the kind that compilers do: small objects and dictionaries."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        table: dict[str, tuple[int, str]] = {}
        for k in range(8000):
            table[f"name {k % 500}"] = k, f"%{k} = add i64 %{k - 1}, {k}"
        best = min(best, time.process_time() - started)
    return best


@cache
def record() -> dict[str, Any]:
    """Return what was written down: totals by library, and CPU seconds by piece."""
    try:
        content: dict[str, Any] = json.loads(RECORD.read_text())
    except (OSError, ValueError):
        return {"totals": {}, "seconds": {}}
    return content


def expected(names: Iterable[str]) -> float:
    """Return the CPU seconds that compiling these pieces took when they were recorded."""
    seconds = record()["seconds"]
    return float(sum(seconds.get(name, _UNKNOWN) for name in names))


def library_of(name: str) -> str:
    """Return the library that holds a piece."""
    if name.endswith("+lanes") or name in ("dynamics/entries/lanes", "dynamics/entries/lane_loops"):
        return "lanes"
    aside = name.endswith("+dual") or name in ("dynamics/entries/derivatives", "dynamics/entries/duals")
    return "derivatives" if aside else "core"


def seconds_of(figures: Mapping[str, Any]) -> float:
    """Return the CPU seconds of one piece, for all targets."""
    return float(sum(figures.get("seconds", {}).values()))


def totals(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the sums by library: CPU seconds, cost in units, bytes of lowered and of machine code."""
    found: dict[str, dict[str, float]] = {}
    for name, piece in figures.items():
        total = found.setdefault(library_of(name), {"seconds": 0.0, "cost": 0.0, "lowered": 0, "machine": 0})
        total["seconds"] += seconds_of(piece)
        total["cost"] += seconds_of(piece) / piece.get("unit", float("nan"))
        sizes = piece.get("sizes", {})
        total["lowered"] += sizes.get("lowered", 0)
        total["machine"] += sum(size for target, size in sizes.items() if target != "lowered")
    return found


def excess(figures: Mapping[str, Any], what: Iterable[str]) -> list[str]:
    """Say which sums are above what is allowed of the record."""
    wrong = []
    for library, now in totals(figures).items():
        kept = record()["totals"].get(library)
        if kept is None:
            continue  # never recorded
        wrong += [
            f"{name} of {library}: {now[name]:.4g}, recorded {kept[name]:.4g}"
            for name in what
            if now[name] > ALLOWED * kept[name]
        ]
    return wrong


def write_record(figures: Mapping[str, Any]) -> None:
    """Write down what a build cost, all of it compiled anew."""
    seconds = {name: round(seconds_of(piece), 2) for name, piece in sorted(figures.items())}
    sums = {
        library: {name: round(x, 1) for name, x in total.items()}
        for library, total in totals(figures).items()
    }
    RECORD.write_text(json.dumps({"totals": sums, "seconds": seconds}, indent=1) + "\n")


def table(figures: Mapping[str, Any]) -> str:
    """Return lines of what each piece cost, and the sums beside the record."""
    lines = [f"{'piece':44s}{'CPU s':>8s}{'kB':>8s}"]
    for name, piece in sorted(figures.items(), key=lambda item: -seconds_of(item[1])):
        size = sum(s for t, s in piece.get("sizes", {}).items() if t != "lowered")
        lines.append(f"{name:44s}{seconds_of(piece):8.1f}{size / 1e3:8.0f}")
    for library, total in totals(figures).items():
        kept = record()["totals"].get(library, {})
        lines.append(
            f"{library}: {total['seconds']:.0f} CPU s, {total['machine'] / 1e3:.0f} kB; "
            f"recorded {kept.get('seconds', 0):.0f} CPU s, {kept.get('machine', 0) / 1e3:.0f} kB"
        )
    return "\n".join(lines)
