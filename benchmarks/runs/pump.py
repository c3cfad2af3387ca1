"""Sol's fuel injection pump: our numbers beside the printed ones, its figures, and its time against scipy's Radau.

`python -m treemech.benchmarks pump` prints the tables of docs/pump.md; `--figures FOLDER` draws figures 9.6, 9.7, 9.10 and 9.11.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology.arrays import Floats

from ..problems.machines import pump
from ..problems.machines.pump_results import dynamic, film, shape
from ..timing import cpu_seconds

CLEARANCES = (6e-6, 12e-6)
SPINS = (0.5, 1.0, 1.3, 2.0, 5.0, 20.0, 60.0)  # factors of the roller's moment of inertia
PRESSURES = (0.0, 4.7e6, 20e6, 40e6, 80e6)
LINES = {"color": "#b3401f", "linestyle": "--", "linewidth": 0.8}  # what is printed


def simulate(revolutions: float = 3.0, per_turn: int = 1440, rtol: float = 1e-7, **options: Any) -> tm.Run:
    """Return a run of the dynamic model; `options` go to its system."""
    mech, end = pump.system(**options).build(), revolutions * 60.0 / options.get("rpm", 1000.0)
    times = np.linspace(0.0, end, round(revolutions * per_turn) + 1)
    run = mech.simulate((0.0, end), pump.state(mech), "Radau", rtol, t_eval=times)
    if not run.success:
        raise RuntimeError(run.message)
    return run


def kinematic_run(points: int = 1601) -> tuple[Floats, tm.Run]:
    """Return the turn of the shaft from 100 to 260 degrees, and the kinematic model there."""
    mech, turn = pump.system(films=False).build(), np.linspace(100.0, 260.0, points)
    return turn, mech.kinematics(np.radians(turn - 100.0) / (1000 * np.pi / 30), pump.state(mech))


# ---------------------------------------------------------------- tables
def slip_row(run: tm.Run) -> dict[str, float]:
    """Return slip of the last revolution, in parts of the film's speed, at places on the cam [degrees]."""
    f, s = film(run), shape()
    last = f.turn > f.turn[-1] - 360.0
    order = np.argsort(f.turn[last] % 360.0)
    turn, ratio = (f.turn[last] % 360.0)[order], (f.slip / f.mean)[last][order]
    places = {
        "line ends": np.degrees(s.line_ends) - 0.1, "top begins": np.degrees(s.top_begins) + 0.1, "180": 180.0,
        "line begins (down)": 360 - np.degrees(s.line_ends) + 0.1, "line ends (down)": 360 - np.degrees(pump.LINE) - 0.1,
    }  # fmt: skip
    row = {name: float(np.interp(at, turn, ratio)) for name, at in places.items()}
    down = (turn > 202.0) & (turn < 259.0)
    return row | {"most backwards": float(np.min(ratio[down]))}


def slip_table() -> list[str]:
    """Return the slip for rollers of other moments of inertia, as text."""
    lines = ["roller inertia   changes sign   " + "   ".join(slip_row(simulate(1.0, 360)))]
    for spin in SPINS:
        run = simulate(3.0 if spin < 5 else 5.0, 720, spin=spin)
        at, row = dynamic(run)["slip changes its sign at [degrees]"], slip_row(run)
        lines.append(
            f"{spin:14g}   {at:12.1f}   " + "   ".join(f"{100 * x:{len(n)}.1f}" for n, x in row.items())
        )
    return lines


def measure(
    ours: Sequence[float] = (1e-5, 1e-6, 1e-7), scipy: Sequence[float] = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10), repeats: int = 3
) -> list[dict[str, float]]:  # fmt: skip
    """Measure three revolutions by our Radau and by scipy's on the same compiled right-hand side, per tolerance.

    The error is the largest of the eccentricity of the bearing, in parts of its clearance. `ratio` is the time of scipy's
    coarsest run that is at least as accurate (of the finest, if none is), in parts of ours, `ratio at this rtol` that of its run at
    the same tolerance. The first step is given: scipy's own first guess leaves the bearing.
    """
    mech = pump.system(lifts=False).build()  # methods of other libraries cannot let a contact go
    end, clearance = pump.DURATION, 6e-6
    start, times = pump.state(mech), np.linspace(0.0, end, 361)
    fixed: dict[str, Any] = {"t_eval": times, "first_step": 1e-7}

    def eccentricity(run: tm.Run) -> Floats:
        if not run.success:
            raise RuntimeError(run.message)
        offset = run.body("plunger").position - run.body("roller").position
        return np.asarray(offset[:, :2] / clearance)

    fine = eccentricity(mech.simulate((0.0, end), start, "Radau", 1e-10, **fixed))

    def row(method: str, rtol: float, times: int) -> dict[str, float]:
        runs: list[tm.Run] = []

        def work() -> None:
            runs[:] = [mech.simulate((0.0, end), start, method, rtol, **fixed)]

        seconds = min(cpu_seconds(work) for _ in range(times))
        error = float(np.max(np.linalg.norm(eccentricity(runs[0]) - fine, axis=1)))
        return {
            "rtol": rtol,
            "seconds": seconds,
            "error": error,
            "evaluations": runs[0].statistics["evaluations"],
        }

    theirs = [row("scipy:Radau", rtol, 1) for rtol in scipy]
    rows = []
    for mine in (row("Radau", rtol, 3 * repeats) for rtol in ours):
        other = next((r for r in theirs if r["error"] <= mine["error"]), theirs[-1])
        named = {f"scipy's {name}": x for name, x in other.items()}
        ratios = {"ratio": other["seconds"] / mine["seconds"]}
        for same in (r for r in theirs if r["rtol"] == mine["rtol"]):
            ratios["ratio at this rtol"] = same["seconds"] / mine["seconds"]
        rows.append(mine | named | ratios)
    return rows


# ---------------------------------------------------------------- figures
def figures(folder: Path, run: tm.Run | None = None) -> list[Path]:
    """Draw figures 9.6, 9.7, 9.10 and 9.11 of the thesis, the printed numbers as dashed lines; return the files.

    They show `run`, three revolutions of the dynamic model, by default one of their own.
    """
    from treemech.plots.pictures import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    plt = pyplot()
    turned, films, found = kinematic_run(), simulate() if run is None else run, []
    pictures: dict[str, Callable[[Any], None]] = {
        "9-6": lambda axes: _roller(axes, *turned),
        "9-7": lambda axes: _plunger(axes, *turned),
        "9-10": lambda axes: _three_revolutions(axes, films),
        "9-11": lambda axes: _one_lift(axes, films),
    }
    for name, draw in pictures.items():
        figure, axes = plt.subplots(1, 3, figsize=(12, 3.3), layout="constrained")
        draw(axes)
        found.append(folder / f"pump-{name}.png")
        figure.savefig(found[-1], dpi=100)
        plt.close(figure)
    return found


def _curve(
    axes: Any,
    x: Floats,
    y: Floats,
    title: str,
    printed: Sequence[float] = (),
    below: str = "turn of the shaft [degrees]",
) -> None:
    axes.plot(x, y, color="#2b5d8a", linewidth=1.2)
    for level in printed:
        axes.axhline(level, **LINES)
        axes.annotate(
            f"{level:g}",
            (1.0, level),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            color=LINES["color"],
            ha="right",
            va="bottom",
        )
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(below, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)


def _roller(axes: Any, turn: Floats, run: tm.Run) -> None:
    roller = run.connection("roller")
    _curve(axes[0], turn, roller.q[:, 2], "figure 9.6: roller, q4 [rad]")
    _curve(axes[1], turn, roller.u[:, 2], "q4' [rad/s]", (245.0, 332.0, 360.0))
    _curve(axes[2], turn, 1e-3 * roller.ud[:, 2], "q4'' [1000 rad/s2]")


def _plunger(axes: Any, turn: Floats, run: tm.Run) -> None:
    plunger = run.connection("plunger")
    _curve(axes[0], turn, 1e3 * plunger.q, "figure 9.7: plunger, q5 [mm]", (10.0,))
    _curve(axes[1], turn, plunger.u, "q5' [m/s]")
    _curve(axes[2], turn, plunger.ud, "q5'' [m/s2]")


def _three_revolutions(axes: Any, run: tm.Run) -> None:
    turn = -np.degrees(run.connection("shaft").q)
    roller, gap = run.connection("roller"), 6e-6 - np.hypot(*run.element("hd").deformation.T)
    _curve(axes[0], turn, roller.u[:, 0], "figure 9.10: q2' [rad/s]")
    _curve(axes[1], turn, roller.u[:, 2], "q4' [rad/s]", (245.0, 332.0, 360.0))
    _curve(axes[2], turn, 1e6 * gap, "h_min of the HD bearing [um]", (3.0, 5.4))  # eccentricity 50 % and 10 %


def _one_lift(axes: Any, run: tm.Run) -> None:
    f = film(run)
    shown = (f.turn > 820.0) & (f.turn < 980.0)
    turn, rising = f.turn[shown] - 720.0, (f.turn > 820.0) & (f.turn < 900.0)
    _curve(axes[0], turn, run.drive("shaft")[shown], "figure 9.11: Q1, load on the shaft [N m]")
    _curve(axes[1], turn, 1e6 * f.thickness[shown], "h_min of the EHD film [um]", (0.06, 0.26))
    _curve(axes[2], f.turn[rising] - 720.0, 1e-6 * f.stress[rising], "Hertz stress [N/mm2]", (975.0,))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="treemech.benchmarks pump", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER", help="draw the figures into a folder, and nothing else"
    )
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(argv)
    if given.figures is not None:
        for path in figures(given.figures):
            print(path)
        return 0
    print(tm.examples.find("pump").table())
    print("\nclearance [um]: eccentricity ratio, least and largest [%] (printed: 10..50 and 50..75)")
    for clearance in CLEARANCES:
        found = dynamic(simulate(clearance=clearance), clearance)
        print(
            f"{1e6 * clearance:5g}: {', '.join(f'{x:.1f}' for name, x in found.items() if name.startswith('HD'))}"
        )
    print("\nfuel pressure [MPa]: Hertz stress, peak [N/mm2]; steps of three revolutions")
    for pressure in PRESSURES:
        run = simulate(pressure=pressure)
        print(
            f"{1e-6 * pressure:5g}: {dynamic(run)['Hertz stress, peak [N/mm2]']:.0f}; {run.statistics['steps']}"
        )
    print("\nslip [% of the film's speed], positive while the roller is too slow, by the roller's inertia")
    print("\n".join(slip_table()))
    print(
        "\nthree revolutions, against the run of scipy's Radau on the same compiled right-hand side that is as accurate"
    )
    for row in measure(repeats=given.repeats):
        print("; ".join(f"{name} {x:.3g}" for name, x in row.items()))
    return 0
