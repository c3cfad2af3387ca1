"""Statistics of Kelem's lens polisher over 2.5 s, as he tabulates them: least, largest, mean and RMS of 251 samples.

The model and start are those of `lens_polisher`, with the stated torque from rest. Of the printed numbers only those that
do not depend on the (unstated) initial speed can be compared: stroke, and mean speeds over the mean speed of the crank.
Peaks are narrow next to the dead point: 251 samples miss up to 3 % of them, so they are given from 25001 samples too.
"""

import numpy as np

import treemech as tm

from . import lens_polisher as polisher

DURATION = 2.5
SIMULATE = {"rtol": 1e-11, "t_eval": np.linspace(0.0, DURATION, 25001)}
PLOTS = [("crank.u",), ("slider.u",), ("lower force",)]
SAMPLES = slice(None, None, 100)  # the 251 of the thesis


def system() -> tm.System:
    return polisher.system()


def state(mech: tm.Mechanism) -> tm.State:
    return polisher.state(mech)


def statistics(values: np.ndarray) -> list[float]:
    """Return least, largest, mean and RMS of samples."""
    return [float(f) for f in (values.min(), values.max(), values.mean(), np.sqrt(np.mean(values**2)))]


def table(run: tm.Run) -> dict[str, list[float]]:
    """Return the statistics of 251 samples by signal, with centres of mass as in the thesis."""
    speeds = {
        body.name: np.linalg.norm(run.point(body.name, body.com).velocity, axis=1)
        for body in run.info.bodies[1:]
    }
    signals = {
        "slider x": run.body("slider").com[:, 0],
        "slider vx": run.connection("slider").u,
        "crank speed": run.connection("crank").u,
        **{f"speed of {name}": speed for name, speed in speeds.items()},
        **{f"{joint} force": run.measure(f"{joint} force") for joint in ("upper", "lower")},
    }
    return {name: statistics(values[SAMPLES]) for name, values in signals.items()}


def slider_of_a_free_turn(density: float = 7080.0) -> tuple[float, float]:
    """Return mean and RMS of the slider's centre over the time of a turn, so fast that torque and weight do not matter."""
    mech = polisher.system().build().with_parameters(density=density)
    end = tm.Event(lambda t, state: state["crank"][0][0] + 2 * np.pi, terminal=True)
    times = np.linspace(0.0, 0.02, 20001)
    run = mech.simulate((0.0, 0.02), polisher.state(mech, -1000.0), rtol=1e-10, t_eval=times, events=end)
    x = run.body("slider").com[:, 0]
    mean, square = (float(np.trapezoid(values, run.t)) / run.t[-1] for values in (x, x * x))
    return mean, np.sqrt(square)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    rows, crank, slider = table(run), run.connection("crank"), run.connection("slider")
    speed = np.linalg.norm(run.point("coupler", run.info.bodies[2].com).velocity, axis=1)
    return {
        "largest vx of 251 samples": rows["slider vx"][1],
        "mean crank speed of 251 samples": rows["crank speed"][2],
        "largest vx": slider.u.max(),
        "mean crank speed": crank.q[-1] / DURATION,
        "stroke of 251 samples": rows["slider x"][1] - rows["slider x"][0],
        "slider over crank": np.mean(np.abs(slider.u)) / np.mean(crank.u),
        "coupler over crank": np.mean(speed) / np.mean(crank.u),
        "slider in a free turn, crank of 7080 kg/m3: mean and RMS": slider_of_a_free_turn(),
    }


KNOWN = {
    "largest vx of 251 samples": (27.8, 0.05, "recomputed: one freedom, sampled every 0.01 s"),
    "mean crank speed of 251 samples": (57.8, 0.05, "recomputed: one freedom, sampled every 0.01 s"),
    "largest vx": (28.5617, 1e-4, "recomputed: one freedom, continuous"),
    "mean crank speed": (58.7402, 1e-4, "recomputed: one freedom, turned angle over time"),
    "stroke of 251 samples": (
        0.6958,
        0.0025,
        "printed: -0.0278 and -0.7236; which samples come next to the ends is chance",
    ),
    "slider over crank": (11.22 / 50.4, 0.002, "printed: mean speeds; 1 %, since the turns are not whole"),
    "coupler over crank": (10.62 / 50.4, 0.002, "printed: mean speeds; 1 %, since the turns are not whole"),
    "slider in a free turn, crank of 7080 kg/m3: mean and RMS": (
        (-0.37460, 0.43094),
        3e-5,
        "recomputed: one freedom; printed -0.3746, 0.4322",
    ),
}
