"""The demonstration: a swinging arm with every common hinge in it, simulated, checked, saved, animated."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from treemech.elements import Ball, Harmonic, Prismatic, Revolute
from treemech.topology import solids

from ..system import System


def demo_system() -> System:
    """Make a crane driven by signals, with its load on a ball joint, and a spinning top beside it."""
    system = System("crane", gravity=(0, 0, -9.81))
    steel = 7800.0
    table = system.body("table", **solids.cylinder(radius=0.4, length=0.08, density=steel).properties)
    mast = solids.box((0.08, 0.08, 1.2), density=steel).moved((0, 0, 0.6))
    boom_bar = solids.box((1.4, 0.06, 0.06), density=steel).moved((0.7, 0, 0))
    tower = system.body("tower", **mast.properties)
    boom = system.body("boom", **boom_bar.properties)
    trolley = system.body("trolley", **solids.box((0.15, 0.12, 0.1), density=steel).properties)
    hook = system.body("hook", **(
        solids.rod((0, 0, 0), (0, 0, -0.7), mass=0.5) + solids.sphere(0.07, mass=12.0).moved((0, 0, -0.75))
    ).properties)  # fmt: skip
    top = system.body("top", **(
        solids.cylinder(radius=0.22, length=0.04, mass=3.0).moved((0, 0, 0.45))
        + solids.cylinder(radius=0.015, length=0.6, mass=0.3).moved((0, 0, 0.3))
    ).properties)  # fmt: skip
    system.connect("turn", Revolute("z"), system.ground, table)
    system.connect("foot", Revolute("x"), table, tower)
    system.connect("luff", Revolute("y"), tower.at((0, 0, 1.2)), boom)
    system.connect("run", Prismatic("x"), boom.at((0.9, 0, 0)), trolley)
    system.connect("rope", Ball(), trolley.at((0, 0, -0.05)), hook)
    system.connect("tip", Ball(), system.ground.at((-1.1, 0, 0)), top)
    system.prescribe("turn", Harmonic(amplitude=0.8, frequency=0.9))
    system.prescribe("foot", 0.0)
    system.prescribe("luff", Harmonic(amplitude=0.25, frequency=0.7, offset=-0.2))
    system.prescribe("run", Harmonic(amplitude=0.3, frequency=1.3))
    return system


def run_demo(folder: Path, duration: float = 10.0) -> Iterator[tuple[Path, str]]:
    """Simulate and write; yields (path, what it is)."""
    folder.mkdir(parents=True, exist_ok=True)
    mech = demo_system().build()
    print(f"{mech}\n{mech.draw()}")
    state = mech.state(
        q={"rope": [np.cos(0.2), np.sin(0.2), 0, 0], "tip": [np.cos(0.2), 0, np.sin(0.2), 0]},
        u={"tip": [150 * np.sin(0.4), 0, 150 * np.cos(0.4)]},  # spin about its own axis
    )
    run = mech.simulate(
        (0.0, duration), state, rtol=1e-9, t_eval=np.linspace(0.0, duration, 601), progress=True
    )
    print(run.message)
    page = run.animate(folder / "crane.html")
    yield page, "animation: open it in a browser"
    yield run.save(folder / "crane.npz"), "the whole run: treemech.read() brings it back"
    names = [h.name for h in run._info.hinges if h.nq == 1]
    columns = [run.t, *(run.connection(n).q for n in names), *(run.drive(n) for n in names)]
    table = folder / "crane.csv"
    header = ",".join(["t", *(f"{n}.q" for n in names), *(f"{n}.drive" for n in names)])
    np.savetxt(table, np.column_stack(columns), delimiter=",", header=header, comments="")
    yield table, "coordinates and drive loads over time"
    summary = folder / "crane.json"
    energy = run.energy.total
    content = {
        "success": run.success,
        "message": run.message,
        "hook_end": run.point("hook", (0, 0, -0.75)).position[-1].tolist(),
        "energy_start_end": [float(energy[0]), float(energy[-1])],
        **run.statistics,
    }
    summary.write_text(json.dumps(content, indent=1))
    yield summary, "summary"
    try:
        run.plot(folder / "crane.png")
        yield folder / "crane.png", "curves"
    except Exception as error:  # matplotlib is an extra
        print(f"no curves: {error}")
