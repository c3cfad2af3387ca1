"""Fuel injection pump of a diesel engine (Sol 1983, chapter 9): cam, roller on oil films, spring-loaded plunger.

Our x, y is the thesis' x, z plane; angles turn from x to y. Where the numbers come from:

- printed: 1000 rpm; lift 10 mm; profile of base circle, two tangent lines, two transition circles and top circle; clearance 6 um of a
  pin 1000 times as thick; oil at 90 C; the shaft angles of the pressure pulse; roller 245 rad/s on the base circle, 332 at the top, 360 at most;
- recomputed from these: base circle 16 mm, roller 12 mm; the transition circles have the radius at which the roller just reaches 360 rad/s;
- chosen by us, the thesis prints none: masses, spring, contact width 14 mm, bearing length 20 mm, where the tangent line begins (103 degrees), a
  pulse sin^2 with a peak of 4.7 MPa, which brings Hertz's stress near the printed 975 N/mm2 (80 MPa are usual, and run too: `pressure=80e6`).

`films=True` is the dynamic model (9.3), `films=False` the kinematic one (9.2): rolling without slip, roller and plunger joined by a pin.
With films the roller leaves the cam where it would have to pull, from 1330 rpm on (`rpm=1500`), and lands again.
docs/pump.md tells which of the printed results hold.
"""

from typing import Any

import numpy as np

import treemech as tm

BASE, ROLLER, LIFT = 16e-3, 12e-3, 10e-3  # [m] radii of base circle and roller, lift of the plunger
FASTEST = 360.0  # [rad/s] of the roller, at the end of the tangent line, at 1000 rpm
LINE = np.radians(
    103.0
)  # turn of the shaft where the tangent line meets the roller; the cam is symmetric about 180 degrees
PIN, BEARING, WIDTH = 6e-3, 20e-3, 14e-3  # [m] radius of the pin, length of the bearing, width of the contact
OIL: dict[str, Any] = {"viscosity": 1.7e-2, "alpha": 1.85e-8, "tau_0": 5.0e6}  # at 90 C
HARD: dict[str, Any] = {
    "viscosity_law": "roelands",
    "limit": 0.07,
    "creep": True,
}  # of the film, from 10 MPa of fuel or 1200 rpm: 1 GPa in the contact
STEEL = 7800.0  # [kg/m3]
PULSE = np.radians([148.0, 154.5])  # turn of the shaft between which fuel is injected
START = np.radians(100.0)  # turn of the shaft at t = 0, just before the tangent line
HANGS = (
    1.2e-6,
    -0.1e-6,
)  # [m] of the pin in the roller on the base circle, where the film carries the preload

DURATION = 0.18  # three revolutions
SIMULATE = {"method": "Radau", "rtol": 1e-8, "t_eval": np.linspace(0.0, DURATION, 1081)}
PLOTS = [("roller.u[2]",), ("plunger.q",), ("hd.deformation[0]", "hd.deformation[1]")]


def cam() -> tm.Profile:
    """Return the outline of the cam, in the axes of the shaft; its top lies on the negative y axis."""
    turn = 1000 * np.pi / 30
    centre_speed = FASTEST * ROLLER / turn  # of the roller on the cam per rad: r^2 + r'^2 = 28 mm (1 + tan^2)
    small = (LIFT * (2 * BASE + LIFT) - (BASE + ROLLER) * (centre_speed - BASE - ROLLER)) / (2 * LIFT)
    middle = BASE + LIFT - small  # distance of the transition circle's centre from the axis
    slope = np.arccos((BASE - small) / middle)
    length = np.sqrt(middle**2 - (BASE - small) ** 2)
    first, top = LINE + np.pi / 2, 1.5 * np.pi
    last, peak = 2 * top - first, first + slope

    def at(radius: float, angle: float, along: float = 0.0) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array((radius * c - along * s, radius * s + along * c))

    return (
        tm.Profile.arc((0, 0), BASE, last - 2 * np.pi, first)
        + tm.Profile.line(at(BASE, first), at(BASE, first, length))
        + tm.Profile.arc(at(middle, peak), small, first, peak)
        + tm.Profile.arc((0, 0), BASE + LIFT, peak, 2 * top - peak)
        + tm.Profile.arc(at(middle, 2 * top - peak), small, 2 * top - peak, last)
        + tm.Profile.line(at(BASE, last, -length), at(BASE, last))
    ).closed()


def system(
    films: bool = True, pressure: float = 4.7e6, clearance: float = 6e-6, rpm: float = 1000.0, spin: float = 1.0,
    lifts: bool = True,
) -> tm.System:  # fmt: skip
    """Return the pump; `spin` multiplies the roller's moment of inertia. The cam only pushes, unless `lifts` is False."""
    system = tm.System("pump", gravity=(0, 0, 0))
    outline, rate = cam(), rpm * np.pi / 30
    corners = [outline.point(s)[:2] for s in np.linspace(0.0, outline.length, 121)[:-1]]
    steel = tm.solids.polygon(corners, thickness=WIDTH, density=STEEL)
    ring = tm.solids.cylinder(ROLLER, 25e-3, inner_radius=PIN, density=STEEL)
    rod = tm.solids.cylinder(5e-3, 60e-3, axis="y", mass=0.25).moved((0, 30e-3, 0))
    shaft = system.body("shaft", **steel.properties)
    roller = system.body("roller", ring.mass, spin * ring.inertia, shapes=ring.shapes)
    plunger = system.body("plunger", **rod.properties)

    system.connect("shaft", tm.Revolute("z"), system.ground, shaft)
    system.connect("roller", tm.Polar("z"), shaft, roller)
    system.connect("plunger", tm.Prismatic("y"), system.ground.at((0, BASE + ROLLER, 0)), plunger)
    system.prescribe("shaft", tm.Polynomial([-START, -rate]))
    kind = {"unilateral": lifts} if films else {"rolling": True}
    contact = tm.CamFollower(outline, "roller", radius=ROLLER, start=BASE * np.pi, **kind)
    system.connect("cam", contact, shaft, roller)
    if not films:
        system.connect("pin", tm.InLine("z"), roller, plunger)
        return system
    ehd = tm.EhdTraction(
        ROLLER, WIDTH, profile=outline, **OIL, **(HARD if pressure > 10e6 or rpm > 1200.0 else {})
    )
    system.connect("ehd", ehd, shaft, roller, reaction_of="cam")
    system.connect("hd", tm.JournalBearing(PIN, BEARING, clearance, OIL["viscosity"]), roller, plunger)
    preload = tm.Spring(stiffness=30e3, length=70e-3 + 300.0 / 30e3)  # 300 N on the base circle
    system.connect("spring", preload, system.ground.at((0, BASE + ROLLER + 70e-3, 0)), plunger)
    turns = np.linspace(0.0, 2 * np.pi, 721)
    pulse = np.sin(np.pi * np.clip((turns - PULSE[0]) / np.diff(PULSE), 0.0, 1.0)) ** 2
    force = tm.Spline(
        (turns - START) / rate, -pressure * np.pi * 5e-3**2 * np.round(pulse, 12), ends="periodic"
    )
    system.load("fuel", tm.Force(y=force), plunger)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    """Return the running pump on the base circle; with films the roller hangs where they carry the preload, nearly."""
    rate = -mech.state().u[0]
    x, y = (0.0, 0.0) if "pin" in {c.name for c in mech.tree.chords} else HANGS
    guess = {"roller[0]": np.pi / 2 + START + x / (BASE + ROLLER), "roller[1]": BASE + ROLLER, "plunger": y}
    rates = {"roller[0]": rate, "roller[2]": rate * (BASE + ROLLER) / ROLLER}
    return mech.assemble(guess=guess, rates=rates)


CLOSED, PRINTED = "closed form", "printed (9.3), by order of magnitude: {}"
KNOWN = {
    "roller on the base circle [rad/s]": (244.346095279, 1e-8, f"{CLOSED}; printed 245"),
    "roller at the top [rad/s]": (331.612557879, 1e-8, f"{CLOSED}; printed 332"),
    "roller at the end of the tangent line [rad/s]": (360.0, 1e-4, "printed"),
    "lift [mm]": (10.0, 1e-9, "printed"),
    "plunger, largest speed [m/s]": (2.4485704, 1e-6, CLOSED),
    "plunger, acceleration, tangent line begins [m/s2]": (307.05436, 1e-3, CLOSED),
    "plunger, acceleration, tangent line ends [m/s2]": (725.52019, 1e-3, CLOSED),
    "plunger, deceleration, transition begins [m/s2]": (842.57635, 1e-3, CLOSED),
    "plunger, deceleration, transition ends [m/s2]": (679.46167, 1e-3, CLOSED),
    "slip changes its sign at [degrees]": (-145.0, 1.5, PRINTED.format("-145")),
    "EHD film, average from 100 to 260 degrees [um]": (0.26, 0.03, PRINTED.format("0.26")),
    "EHD film, least [um]": (0.06, 0.02, PRINTED.format("0.06")),
    "Hertz stress, peak [N/mm2]": (975.0, 20.0, "printed; the pressure is chosen for it"),
    "HD eccentricity ratio, least [%]": (10.0, 10.0, PRINTED.format("10")),
    "HD eccentricity ratio, largest [%]": (50.0, 20.0, PRINTED.format("50")),
}


def measured(mech: tm.Mechanism, run: tm.Run) -> dict[str, float]:
    """Return results of both models, of the kinematic one alone if that is what ran."""
    from .pump_results import dynamic, kinematic

    films = any(element.name == "hd" for element in run.info.elements)
    return kinematic(system(films=False).build()) | (dynamic(run) if films else {})
