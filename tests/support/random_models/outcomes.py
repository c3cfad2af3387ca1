"""How a law ends that does not hold."""


class Wrong(AssertionError):
    """A law is broken, without a word from the library."""


class Stopped(Exception):
    """A run told that it could not go on."""


def check(what, gap, bound):
    """Raise Wrong if a gap is larger than its bound, or no number."""
    if not gap <= bound:
        raise Wrong(f"{what}: {gap:.3g}, allowed {bound:.3g}")
