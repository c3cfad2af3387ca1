"""A small model builder with stand-in elements, so that topology is tested without the elements folder."""

from dataclasses import dataclass

import numpy as np
import pytest

from treemech.topology import Connection, build_tree, make_body


@dataclass(frozen=True)
class StandIn:
    """An element of which topology may know nothing but its number of coordinates."""

    n_coordinates: int = 1


class Pin(StandIn):
    pass


class Rod(StandIn):
    pass


class Model:
    """Bodies and connections by name, in the order of declaration; "ground" is there from the start."""

    def __init__(self, *names):
        self.bodies = [make_body("ground", 0.0, (0, 0, 0))]
        self.by_name = {"ground": self.bodies[0]}
        self.connections = []
        for name in names:
            self.body(name)

    def body(self, name):
        self.bodies.append(make_body(name, 1.0, (1, 1, 1), number=len(self.bodies)))
        self.by_name[name] = self.bodies[-1]
        return self.bodies[-1]

    def hinge(self, name, a, b, n=1, **options):
        return self._join(name, Pin(n), (a, b), n_coordinates=n, is_hinge=True, **options)

    def constraint(self, name, a, b):
        return self._join(name, Rod(0), (a, b), is_constraint=True)

    def spring(self, name, *ends):
        return self._join(name, StandIn(0), ends)

    def _join(self, name, element, ends, **options):
        ends = tuple(self.by_name[end].at() for end in ends)
        self.connections.append(Connection(name, element, ends, **options))
        return self.connections[-1]

    def free_hinge(self, body):
        ends = (self.bodies[0].at(), body.at())
        return Connection(f"free {body.name}", Pin(6), ends, n_coordinates=6, is_hinge=True)

    def tree(self, free=True):
        return build_tree(self.bodies, self.connections, self.free_hinge if free else None)


def random_model(seed, n=30, extra=15, choices=(0, 1, 1, 2, 3)):
    """A connected random multigraph: a random tree with hinges either way round, and extra edges anywhere."""
    rng = np.random.default_rng(seed)
    model = Model(*(f"b{i}" for i in rng.permutation(np.arange(1, n + 1))))
    names = [body.name for body in model.bodies]
    joined = [(i, int(rng.integers(i))) for i in range(1, n + 1)]
    while len(joined) < n + extra:
        i, j = (int(x) for x in rng.integers(n + 1, size=2))
        if i != j:
            joined.append((i, j))
    for k in rng.permutation(len(joined)):
        a, b = joined[k] if rng.random() < 0.5 else joined[k][::-1]
        model.hinge(f"h{k}", names[a], names[b], int(rng.choice(choices)))
    return model


@pytest.fixture
def new_model():
    return Model


@pytest.fixture(params=range(8))
def random_graph(request):
    return random_model(request.param)


@pytest.fixture
def make_random_graph():
    return random_model
