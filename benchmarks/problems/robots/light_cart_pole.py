"""A cart-pole with a light cart (proposed to the IFToMM library by N. Parsons): 1 kg on a pole of 1 m, on a cart of 1e-6 kg.

The bob falls nearly straight down and the cart darts below it: at every passage of the vertical the pole turns at 4429 rad/s for a
microsecond. Data are the proposal's; its measure e is the root of the mean square error at 1001 times, and e <= 1e-6 passes. The
reference here is our own quadrature: momentum and energy leave t as an integral over the angle, by Gauss's rule to 14 digits.
"""

import numpy as np

import treemech as tm

CART, G = 1e-6, 9.81
DURATION = 10.0
SIMULATE = {"rtol": 1e-10, "t_eval": np.linspace(0.0, DURATION, 1001)}
PLOTS = [("track.q", "pin.q"), ("pole.com[0]", "pole.com[2]")]
KNOWN = {
    "error e of the proposal": (0.0, 1e-6, "quadrature; the threshold of the proposal"),
    "quarter period": (0.4515245357, 2e-10, "printed, 30-digit quadrature"),
    "peak of the angular velocity": (np.sqrt(2 * G * (1 + 1 / CART)), 0.05, "closed form; printed 4429"),
    "passages of the vertical": (11, 0.1, "printed"),
}


def system(cart: float = CART) -> tm.System:
    system = tm.System("light cart-pole", gravity=(0, 0, -G))
    base = system.body("cart", cart, (0, 0, 0), shapes=tm.solids.box((0.2, 0.1, 0.08), mass=1).shapes)
    bob = tm.solids.point(1.0, at=(0, 0, -1))
    pole = system.body(
        "pole", bob.mass, bob.inertia, com=bob.com, shapes=tm.solids.rod((0, 0, 0), (0, 0, -1), mass=1).shapes
    )
    system.connect("track", tm.Prismatic("x"), system.ground, base)
    system.connect("pin", tm.Revolute((0, -1, 0)), base, pole)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"pin": np.pi / 2})


# ---------------------------------------------------------------- the quadrature
def rate(angle):
    """Return the angular speed at an angle, from rest at a right angle, without horizontal momentum."""
    return np.sqrt(2 * G * (1 + CART) * np.cos(angle) / (CART + np.sin(angle) ** 2))


def time_to(angle, nodes: int = 80):
    """Return the time from the vertical to angles in [0, pi / 2]: substitutions take the peak and the turning point away."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    narrow, near = np.sqrt(CART), np.minimum(angle, 0.5)

    def integral(f, a, b):
        at = 0.5 * ((b - a)[:, None] * x + (a + b)[:, None])
        return 0.5 * (b - a) * (f(at) @ w)

    peak = integral(
        lambda s: narrow * np.cosh(s) / rate(narrow * np.sinh(s)), 0 * near, np.arcsinh(near / narrow)
    )
    far = np.sqrt(np.pi / 2 - np.maximum(angle, 0.5))
    return peak + integral(
        lambda r: 2 * r / rate(np.pi / 2 - r * r), far, np.full_like(far, np.sqrt(np.pi / 2 - 0.5))
    )


def reference(t):
    """Return cart positions and angles at times: time folded into a quarter of the swing, inverted by bisection."""
    quarter = time_to(np.array([np.pi / 2]))[0]
    phase = np.mod(t, 4 * quarter)
    left = np.abs(np.mod(phase, 2 * quarter) - quarter)  # time from the vertical
    low, high = np.zeros_like(t), np.full_like(t, np.pi / 2)
    for _ in range(52):
        middle = 0.5 * (low + high)
        early = time_to(middle) < left
        low, high = np.where(early, middle, low), np.where(early, high, middle)
    angle = low * np.where((phase < quarter) | (phase > 3 * quarter), 1.0, -1.0)
    return (1.0 - np.sin(angle)) / (1.0 + CART), angle


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    cart, angle = reference(run.t)
    gap = np.hypot(run.connection("track").q - cart, run.connection("pin").q - angle)
    passages = mech.simulate((0, DURATION), state(mech), rtol=1e-11, events="pin.q == 0").events[0]
    return {
        "error e of the proposal": np.sqrt(np.mean(gap**2)),
        "quarter period": passages.t[0],
        "peak of the angular velocity": np.max(np.abs([s["pin"][1][0] for s in passages.states])),
        "passages of the vertical": len(passages.t),
    }
