"""Curves of Hill-type muscles: forces in units of the largest isometric force, lengths in optimal lengths."""

from math import exp, sqrt


def force_length(length: float, width: float) -> float:
    """Isometric force of the contractile element at full activation: a bell, 1 at the optimal length."""
    x = (length - 1.0) / width
    return exp(-x * x)


def force_velocity(speed: float, curvature: float, eccentric: float) -> float:
    """Hill's hyperbola: speed in largest shortening speeds, lengthening positive; 1 at rest, 0 at -1.

    Lengthening is a second hyperbola with the same slope at rest, which approaches `eccentric`.
    """
    if speed <= 0.0:
        return (1.0 + speed) / (1.0 - speed / curvature)
    return 1.0 + (eccentric - 1.0) * speed / (speed + half_speed(curvature, eccentric))


def half_speed(curvature: float, eccentric: float) -> float:
    """Lengthening speed at which half of what `eccentric` adds is there."""
    return (eccentric - 1.0) / (1.0 + 1.0 / curvature)


def fibre_speed(force: float, active: float, damping: float, curvature: float, eccentric: float) -> float:
    """The speed at which active force_velocity(speed) + damping speed = force: the root of a quadratic."""
    over = force - active
    if over <= 0.0:
        return -positive_root(damping / curvature, force / curvature + active + damping, -over)
    half = half_speed(curvature, eccentric)
    return positive_root(damping, active * eccentric + damping * half - force, half * over)


def positive_root(a: float, b: float, c: float) -> float:
    """The root x >= 0 of a x^2 + b x = c, for a > 0, c >= 0, without cancellation."""
    root = sqrt(b * b + 4.0 * a * c)
    return 2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a)


def activation_rate(activation: float, excitation: float, rise: float, fall: float) -> float:
    """Calcium: activation follows excitation (between 0 and 1), the faster the larger it is (Zajac)."""
    e = min(max(excitation, 0.0), 1.0)
    return (e - activation) * (e / rise + (1.0 - e) / fall)


def toe(stretch: float, force: float, size: float) -> float:
    """Tension of collagen: slack, then with the square of the stretch; `force` at the stretch `size`."""
    if stretch <= 0.0:
        return 0.0
    return force * (stretch / size) * (stretch / size)
