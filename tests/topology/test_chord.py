"""Which hinges are cut: most coordinates, then the shallowest tree, then the last declared (4.2)."""

from itertools import combinations
from time import process_time

import networkx as nx
import numpy as np
import pytest

from treemech.topology import (
    TopologyError,
    choose_chords,
    closed_subgraphs,
    connection_graph,
    isolated_subgraphs,
)


def cut(model):
    return {model.connections[i].name for i in choose_chords(model.bodies, model.connections)}


def four_bar(new_model, **coordinates):
    model = new_model("crank", "coupler", "rocker")
    for name, a, b in (("A", "ground", "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker")):
        model.hinge(name, a, b, coordinates.get(name, 1))
    model.hinge("D", "ground", "rocker", coordinates.get("D", 1))
    return model


def ladder(new_model, n):
    """The N-four-bar of IFToMM A02: bars on the ground, rods from top to top."""
    model = new_model(*(f"bar{i}" for i in range(n + 1)), *(f"rod{i}" for i in range(n)))
    for i in range(n + 1):
        model.hinge(f"G{i}", "ground", f"bar{i}")
    for i in range(n):
        model.hinge(f"L{i}", f"bar{i}", f"rod{i}")
        model.hinge(f"R{i}", f"rod{i}", f"bar{i + 1}")
    return model


@pytest.mark.parametrize("name", "ABCD")
def test_the_hinge_with_most_coordinates_is_cut(new_model, name):
    assert cut(four_bar(new_model, **{name: 3})) == {name}


def test_equal_hinges_are_cut_where_the_tree_stays_shallow_and_then_at_the_last_declared(new_model):
    assert cut(four_bar(new_model)) == {"C"}  # B would do as well; A or D would make a chain of three


def test_the_last_of_two_parallel_hinges_is_cut(new_model):
    model = new_model("a")
    for name in "ABC":
        model.hinge(name, "ground", "a")
    assert cut(model) == {"B", "C"}


def test_roles_override_the_rule(new_model):
    model = new_model("a", "b")
    model.hinge("A", "ground", "a", 3, role="branch")
    model.hinge("B", "a", "b", 3, stays_branch=True)
    model.hinge("C", "b", "ground", 1)
    assert cut(model) == {"C"}
    model = new_model("a", "b")
    model.hinge("A", "ground", "a", 1, role="chord")
    model.hinge("B", "a", "b", 3)
    model.hinge("C", "b", "ground", 3)
    assert cut(model) == {"A"}


def test_constraints_are_always_chords_and_energetic_connections_never(new_model):
    model = new_model("a", "b")
    model.hinge("A", "ground", "a")
    model.hinge("B", "a", "b")
    model.constraint("rod", "ground", "b")
    model.spring("spring", "ground", "b")
    assert cut(model) == {"rod"}


def test_branches_by_force_that_close_a_chain_are_all_named(new_model):
    model = new_model("a", "b", "c")
    model.hinge("A", "ground", "a", role="branch")
    model.hinge("tail", "b", "c", role="branch")
    model.hinge("B", "b", "a", stays_branch=True)
    model.hinge("C", "b", "ground", role="branch")
    with pytest.raises(TopologyError) as caught:
        cut(model)
    message = str(caught.value)
    for words in ("'A' (role='branch')", "'B' (prescribed or coupled)", "'C' (role='branch')"):
        assert words in message
    assert "tail" not in message


def test_two_parallel_branches_by_force_are_refused(new_model):
    model = new_model("a")
    model.hinge("A", "ground", "a", stays_branch=True)
    model.hinge("B", "ground", "a", stays_branch=True)
    with pytest.raises(TopologyError, match="'A'.*'B'"):
        cut(model)


def test_a_body_cut_off_by_role_chord_is_refused_by_name(new_model):
    model = new_model("crank", "rocker", "tip")
    model.hinge("A", "ground", "crank")
    model.hinge("B", "crank", "rocker", role="chord")
    model.hinge("C", "rocker", "tip")
    model.hinge("D", "rocker", "ground", role="chord")
    with pytest.raises(TopologyError, match="body 'rocker' cannot be reached from 'ground': .*'B', 'D'"):
        cut(model)


def test_names_used_twice_and_foreign_bodies_are_refused(new_model):
    model = new_model("crank", "rod", "slider")
    model.hinge("pin", "crank", "rod")
    model.hinge("pin", "rod", "slider")
    with pytest.raises(TopologyError, match="two connections are named 'pin': crank-rod and rod-slider"):
        cut(model)
    with pytest.raises(TopologyError, match="two bodies are named 'a'"):
        cut(new_model("a", "a"))
    model, other = new_model("a"), new_model("a")
    other.hinge("pin", "ground", "a")
    with pytest.raises(
        TopologyError, match="hinge 'pin' ends on body 'ground', which is not one of this system"
    ):
        choose_chords(model.bodies, other.connections)


def test_every_cut_hinge_is_a_heaviest_one_of_its_chain(random_graph):
    chords = set(choose_chords(random_graph.bodies, random_graph.connections))
    branches = nx.Graph()
    for i, c in enumerate(random_graph.connections):
        if i not in chords:
            branches.add_edge(c.body_a.number, c.body_b.number, weight=c.n_coordinates)
    assert nx.is_tree(branches)
    for i in chords:
        c = random_graph.connections[i]
        path = nx.shortest_path(branches, c.body_a.number, c.body_b.number)
        assert c.n_coordinates >= max(branches.edges[edge]["weight"] for edge in nx.utils.pairwise(path))


def test_equal_hinges_give_every_body_its_least_depth(make_random_graph):
    for seed in range(5):
        model = make_random_graph(seed, choices=(1,))
        tree = model.tree()
        least = nx.single_source_shortest_path_length(connection_graph(model.bodies, model.connections), 0)
        assert {name: least[i] for i, name in enumerate(b.name for b in model.bodies)} == {
            name: tree.depth[k] for name, k in tree.numbers.items()
        }


def by_force(model):
    """The best cut of a small graph, by trying all: coordinates kept, sum of depths, last declared."""
    pairs = [(c.body_a.number, c.body_b.number) for c in model.connections]
    weights = [c.n_coordinates for c in model.connections]
    n = len(model.bodies)
    best = None
    for kept in combinations(range(len(pairs)), n - 1):
        graph = nx.Graph([pairs[i] for i in kept])
        if len(graph) == n and nx.is_tree(graph):
            depths = sum(nx.single_source_shortest_path_length(graph, 0).values())
            key = (sum(weights[i] for i in kept), depths, sum(kept))
            best = min(best or (key, kept), (key, kept))
    return {model.connections[i].name for i in range(len(pairs)) if i not in best[1]}, best[0]


def test_a_single_chain_is_cut_at_the_best_place(make_random_graph):
    for seed in range(40):
        model = make_random_graph(seed, n=9, extra=1, choices=(1, 3))
        assert cut(model) == by_force(model)[0], seed


def test_several_chains_are_cut_at_the_best_places_nearly_always(make_random_graph):
    """Exchanges find a local optimum: in most small graphs the global one, and never far from it."""
    excess = []
    for seed in range(40):
        model = make_random_graph(seed, n=6, extra=3, choices=(1, 2))
        chosen, (coordinates, depths, _) = cut(model), by_force(model)[1]
        kept = [c for c in model.connections if c.name not in chosen]
        assert sum(c.n_coordinates for c in kept) == coordinates
        excess.append(int(model.tree().depth.sum()) - depths)
    assert max(excess) <= 2 and np.count_nonzero(excess) <= 4


def test_a_group_of_light_hinges_is_entered_where_the_tree_stays_shallow(new_model):
    """Light chain a-b-c-d with three twigs at d and a ball at each end: cut the ball at a."""
    model = new_model("a", "b", "c", "d", "t1", "t2", "t3")
    model.hinge("ball a", "ground", "a", 3)
    for i, (a, b) in enumerate(("ab", "bc", "cd", ("d", "t1"), ("d", "t2"), ("d", "t3"))):
        model.hinge(f"pin {i}", a, b)
    model.hinge("ball d", "d", "ground", 3)
    assert cut(model) == {"ball a"}


def test_order_of_declaration_does_not_matter_where_the_rule_has_no_ties(make_random_graph, new_model):
    rng = np.random.default_rng(5)
    for seed in range(5):
        model = make_random_graph(seed)
        weights = rng.permutation(len(model.connections))
        edges = [(c.name, c.body_a.name, c.body_b.name, int(w)) for c, w in zip(model.connections, weights)]
        cuts = []
        for _ in range(3):
            other = new_model(*rng.permutation([body.name for body in model.bodies[1:]]).tolist())
            for i in rng.permutation(len(edges)):
                name, a, b, n = edges[i]
                other.hinge(name, *((a, b) if rng.random() < 0.5 else (b, a)), n)
            tree = other.tree()
            parents = {b.name: tree.bodies[p].name for b, p in zip(tree.bodies[1:], tree.parent[1:])}
            cuts.append((cut(other), parents))
        assert cuts[0] == cuts[1] == cuts[2]


def cpu(work):
    """Least CPU time of three."""
    times = []
    for _ in range(3):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def yardstick():
    """CPU time of a hundred thousand steps of plain Python on this machine, now."""
    return cpu(lambda: sum(k * k % 7 for k in range(100_000)))


def test_the_ladder_hangs_all_bars_on_the_ground(new_model):
    model = ladder(new_model, 200)
    tree = model.tree()
    assert cpu(model.tree) < 5 * yardstick()
    assert len(tree.chords) == 200
    assert {chord.name for chord in tree.chords} == {f"R{i}" for i in range(200)}
    assert all(tree.depth[k] == (1 if name.startswith("bar") else 2) for name, k in tree.numbers.items() if k)


def test_a_long_chain_is_quick(new_model):
    model = new_model(*(f"link{i}" for i in range(5000)))
    for i in range(5000):
        model.hinge(f"h{i}", model.bodies[i].name, model.bodies[i + 1].name)
    tree = model.tree()
    assert cpu(model.tree) < 50 * yardstick()
    assert tree.depth[-1] == 5000
    assert len(tree.path(5000)) == 5000


def test_mixed_weights_stay_quick(new_model):
    """A heavier hinge across the whole ladder, so that the exchanges have work to do."""
    model = ladder(new_model, 200)
    model.hinge("across", "rod0", "rod199", 2)
    assert "across" in cut(model)
    assert cpu(lambda: cut(model)) < 5 * yardstick()


def test_closed_and_isolated_subgraphs(new_model):
    model = four_bar(new_model)
    model.body("loose"), model.body("pair"), model.body("held"), model.body("twin")
    model.hinge("E", "pair", "loose")
    model.constraint("F", "held", "ground")
    model.hinge("G", "ground", "twin")
    model.hinge("H", "twin", "ground")
    model.spring("S", "ground", "held")
    graph = connection_graph(model.bodies, model.connections)
    assert isolated_subgraphs(graph) == ((4, 5), (6,))
    assert closed_subgraphs(graph) == ((0, 1, 2, 3), (6, 7))
    assert graph.edges[0, 6, 5]["kind"] == "constraint"
    assert graph.number_of_edges() == 8
    assert graph.nodes[1]["name"] == "crank"
