"""Sol's pump a second time, by hand: three coordinates, Newton's equations in world axes, films of its own, scipy.

The roller's centre runs on its path around the cam, so the contact needs no multiplier: along the path the films push, across it
the load of the contact follows from the acceleration. That load is known before the traction, which acts along the path.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from treemech.benchmarks.problems.machines.pump_results import radius

NODES, WEIGHTS = (0.5 * np.pi * x for x in np.polynomial.legendre.leggauss(200))


def film_force(e, v, clearance, pin, length, viscosity):
    """Return the force of the half film on the pin at eccentricity e that moves with v, relative to a film at rest.

    Ritz' method: pressure is a sum of cos/H^3, cos/H^2 and sin cos/H^2 around the pin, times 1 - cosh(m z)/cosh(m) along it.
    """
    speed = np.hypot(*v)
    if speed == 0.0:
        return np.zeros(2)
    ahead = np.array(v) / speed
    aside = np.array([-ahead[1], ahead[0]])
    along, across = (e @ ahead) / clearance, (e @ aside) / clearance
    eps, slender = np.hypot(along, across), 0.5 * length / pin
    thin = 1.0 - eps if along >= 0.0 else 1.0 - abs(across)
    m = max(0.95 * slender * thin ** (-2 / 3), 0.3)
    mean, square = 1 - np.tanh(m) / m, 1 - 1.5 * np.tanh(m) / m + 0.5 / np.cosh(m) ** 2
    slope = 0.5 * m**2 * (np.tanh(m) / m - 1 / np.cosh(m) ** 2) / slender**2
    c, s = np.cos(NODES), np.sin(NODES)
    H, dH = 1 - along * c - across * s, along * s - across * c
    f = np.array([c / H**3, c / H**2, s * c / H**2])
    df = np.array(
        [
            -s / H**3 - 3 * c * dH / H**4,
            -s / H**2 - 2 * c * dH / H**3,
            (c * c - s * s) / H**2 - 2 * s * c * dH / H**3,
        ]
    )
    K = (df * (square * WEIGHTS * H**3)) @ df.T + (f * (slope * WEIGHTS * H**3)) @ f.T
    K[1, 1] *= 1 + 1e-9  # at eps = 0 the first two functions coincide
    f = f * WEIGHTS
    weights = np.linalg.solve(K, f @ c)
    total = 12 * mean**2 * viscosity * speed * length * (pin / clearance) ** 3
    return -total * (weights @ f @ c * ahead + weights @ f @ s * aside)


def traction(slip, mean, load, curvature, pump, modulus=1.154e11, roughness=1e-8):
    """Return the force of the film that holds the roller's surface back."""
    oil, w, R = pump.OIL, load / pump.WIDTH, 1 / (1 / pump.ROLLER + curvature)
    b = np.sqrt(4 * w * R / (np.pi * modulus))
    G, U, W = 2 * oil["alpha"] * modulus, oil["viscosity"] * mean / (2 * modulus * R), w / (2 * modulus * R)
    thick = roughness + 2.65 * R * G**0.54 * U**0.7 * W**-0.13
    eta = oil["viscosity"] * np.exp(oil["alpha"] * w / (2 * b))
    return 2 * b * pump.WIDTH * oil["tau_0"] * np.arcsinh(eta * slip / (oil["tau_0"] * thick))


class Pump:
    """The pump with films: y = phi_1, phi_2, z and their rates."""

    def __init__(self, pump, pressure=4.7e6, clearance=6e-6, rpm=1000.0, density=7800.0):
        self.pump, self.pressure, self.clearance, self.rate = pump, pressure, clearance, rpm * np.pi / 30
        out, inner, length = pump.ROLLER, pump.PIN, 25e-3
        self.m2 = density * np.pi * (out**2 - inner**2) * length
        self.J2, self.m3 = 0.5 * self.m2 * (out**2 + inner**2), 0.25
        turns = np.linspace(0.0, 2 * np.pi, 721)  # the table of the fuel's force
        pulse = np.sin(np.pi * np.clip((turns - pump.PULSE[0]) / np.diff(pump.PULSE), 0.0, 1.0)) ** 2
        pulse[-1] = pulse[0] = 0.0
        self.fuel = CubicSpline(turns, pressure * np.pi * 5e-3**2 * pulse, bc_type="periodic")

    def loads(self, t, y, distance=None):
        """Return accelerations of phi_1, phi_2, z, and the loads that act, by name.

        The distance of the roller's centre may be given: to the last digit, which the film feels.
        """
        pump, turn = self.pump, self.pump.START + self.rate * t
        phi, _, z, dphi, dphi2, dz = y
        r = radius(phi - np.pi / 2)
        r = r if distance is None else r._replace(value=distance)
        s = np.hypot(r.value, r.slope)
        theta, swing = phi - turn, dphi - self.rate
        er, ep = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
        along, normal = (r.slope * er + r.value * ep) / s, (r.value * er - r.slope * ep) / s
        velocity = r.slope * dphi * er + r.value * swing * ep
        e = np.array([0.0, pump.BASE + pump.ROLLER + z]) - r.value * er
        spin = dphi2 - self.rate
        v = np.array([0.0, dz]) - velocity - 0.5 * spin * np.array([-e[1], e[0]])
        hd = film_force(e, v, self.clearance, pump.PIN, pump.BEARING, pump.OIL["viscosity"])  # on the pin
        drag = 2 * np.pi * pump.OIL["viscosity"] * pump.PIN**3 * pump.BEARING
        drag /= self.clearance * np.sqrt(1 - (e @ e) / self.clearance**2)
        known = (
            r.bend * dphi**2 - r.value * swing**2
        ) * er + 2 * r.slope * dphi * swing * ep  # a less the part with phi''
        load = self.m2 * known @ normal + hd @ normal
        slip = s * dphi - pump.ROLLER * dphi2
        mean = abs(s * dphi / (1 + pump.ROLLER * r.curvature) - 0.5 * slip)
        F = traction(slip, mean, load, r.curvature, pump)
        moment = -drag * spin - 0.5 * (e[0] * hd[1] - e[1] * hd[0])
        elastic = -30e3 * (z + 300.0 / 30e3)
        fuel = float(self.fuel(turn))
        ud = np.array([
            ((-hd @ along - F) / self.m2 - known @ along) / s,
            (pump.ROLLER * F + moment) / self.J2,
            (hd[1] + elastic - fuel) / self.m3,
        ])  # fmt: skip
        return ud, {
            "contact": load,
            "traction": F,
            "hd": hd,
            "moment": moment,
            "spring": elastic,
            "fuel": -fuel,
            "e": e,
        }

    def simulate(self, start, times, rtol):
        """Return y at the times, from the state of the library's model."""
        y0 = np.array([start.q[1], start.q[3], start.q[4], start.u[1], start.u[3], start.u[4]])
        run = solve_ivp(
            lambda t, y: np.concatenate((y[3:], self.loads(t, y)[0])), (times[0], times[-1]), y0, "Radau", times, rtol=rtol,
            atol=1e-3 * rtol * np.array([1, 1, 1e-3, 100, 100, 1]),
        )  # fmt: skip
        assert run.success, run.message
        return run.y.T
