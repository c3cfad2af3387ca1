"""Curves of Hill-type muscles: forces in units of the largest isometric force, lengths in optimal lengths."""

from math import exp, sqrt


def force_length(length: float, width: float) -> float:
    """Return the isometric force at full activation: a bell curve, 1 at the optimal length."""
    x = (length - 1.0) / width
    return exp(-x * x)


def force_velocity(speed: float, curvature: float, eccentric: float) -> float:
    """Return the force on Hill's hyperbola: 1 at rest, 0 at the speed -1.

    The speed is relative to the largest shortening speed; lengthening is positive. For lengthening, a second
    hyperbola with the same slope at rest approaches `eccentric`.
    """
    if speed <= 0.0:
        return (1.0 + speed) / (1.0 - speed / curvature)
    return 1.0 + (eccentric - 1.0) * speed / (speed + half_speed(curvature, eccentric))


def half_speed(curvature: float, eccentric: float) -> float:
    """Return the lengthening speed at which the force is half-way between 1 and `eccentric`."""
    return (eccentric - 1.0) / (1.0 + 1.0 / curvature)


def fibre_speed(force: float, active: float, damping: float, curvature: float, eccentric: float) -> float:
    """Return the speed with active force_velocity(speed) + damping speed = force: the root of a quadratic."""
    over = force - active
    if over <= 0.0:
        return -positive_root(damping / curvature, force / curvature + active + damping, -over)
    half = half_speed(curvature, eccentric)
    return positive_root(damping, active * eccentric + damping * half - force, half * over)


def positive_root(a: float, b: float, c: float) -> float:
    """Return the root x >= 0 of a x^2 + b x = c, for a > 0, c >= 0, without cancellation."""
    root = sqrt(b * b + 4.0 * a * c)
    return 2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a)


def activation_rate(activation: float, excitation: float, rise: float, fall: float) -> float:
    """Return the rate of activation (calcium): the larger the excitation (0 to 1), the faster (Zajac)."""
    e = min(max(excitation, 0.0), 1.0)
    return (e - activation) * (e / rise + (1.0 - e) / fall)


def toe(stretch: float, force: float, size: float) -> float:
    """Return the tension of collagen: 0 if slack, else quadratic; `force` at the stretch `size`."""
    if stretch <= 0.0:
        return 0.0
    return force * (stretch / size) * (stretch / size)
