"""The regular-numbered tree structure (4.2)."""

import subprocess
import sys

import numpy as np
import pytest

from treemech.topology import TopologyError, build_tree, draw


def four_bar(new_model):
    model = new_model("crank", "coupler", "rocker")
    model.hinge("A", "ground", "crank")
    model.hinge("B", "coupler", "crank")
    model.hinge("C", "coupler", "rocker")
    model.hinge("D", "ground", "rocker")
    return model


def test_numbers_are_regular(random_graph):
    tree = random_graph.tree()
    assert tree.bodies[0].name == "ground" and tree.parent[0] == -1
    for k in range(1, len(tree.bodies)):
        assert 0 <= tree.parent[k] < k
        assert tree.depth[k] == tree.depth[tree.parent[k]] + 1 == len(tree.path(k))
    assert all(tree.bodies[k].name == name for name, k in tree.numbers.items())
    assert sorted(tree.numbers.values()) == list(range(len(random_graph.bodies)))


def test_descendants_are_consecutive(random_graph):
    tree = random_graph.tree()
    for k in range(len(tree.bodies)):
        descendants = [i for i in range(len(tree.bodies)) if k == 0 or k in tree.path(i)]
        assert descendants == list(range(k, tree.subtree_end[k]))


def test_children_come_in_the_order_of_declaration(random_graph):
    tree = random_graph.tree()
    place = {id(c): i for i, c in enumerate(random_graph.connections)}
    for k in range(len(tree.bodies)):
        children = np.flatnonzero(tree.parent == k)
        places = [place[id(tree.branches[c - 1].connection)] for c in children]
        assert places == sorted(places)


def test_branch_k_joins_parent_and_body_k_in_the_direction_it_says(random_graph):
    tree = random_graph.tree()
    for k, branch in enumerate(tree.branches, start=1):
        inner, outer = tree.bodies[tree.parent[k]], tree.bodies[k]
        a, b = branch.connection.body_a, branch.connection.body_b
        assert (a, b) == ((inner, outer) if branch.forward else (outer, inner))
    assert {branch.forward for branch in tree.branches} == {True, False}


def test_every_hinge_is_a_branch_or_a_chord_and_chords_count_the_loops(random_graph):
    tree = random_graph.tree()
    branches = [branch.connection for branch in tree.branches]
    assert set(branches) | set(tree.chords) == set(random_graph.connections)
    assert len(branches) + len(tree.chords) == len(random_graph.connections)
    assert len(branches) == len(random_graph.bodies) - 1
    cyclomatic = len(random_graph.connections) - len(random_graph.bodies) + 1
    assert len(tree.chords) == cyclomatic
    places = [random_graph.connections.index(chord) for chord in tree.chords]
    assert places == sorted(places)


def test_flipping_hinges_changes_nothing_but_the_flags(new_model, random_graph):
    flipped = new_model(*(body.name for body in random_graph.bodies[1:]))
    for c in random_graph.connections:
        flipped.hinge(c.name, c.body_b.name, c.body_a.name, c.n_coordinates)
    one, other = random_graph.tree(), flipped.tree()
    assert one.numbers == other.numbers
    assert [b.forward for b in one.branches] == [not b.forward for b in other.branches]
    assert [c.name for c in one.chords] == [c.name for c in other.chords]


def test_isolated_bodies_get_a_free_hinge_at_the_first_declared(new_model):
    model = new_model("loose", "arm", "tip", "held")
    model.hinge("A", "arm", "ground")
    model.hinge("B", "tip", "loose")
    model.constraint("rod", "held", "arm")
    model.spring("spring", "loose", "ground")
    tree = model.tree()
    assert tree.free_bodies == ("loose", "held")
    assert tree.numbers == {"ground": 0, "arm": 1, "loose": 2, "tip": 3, "held": 4}
    assert tree.parent.tolist() == [-1, 0, 0, 2, 0]
    assert [branch.connection.name for branch in tree.branches] == ["A", "free loose", "B", "free held"]
    assert [branch.forward for branch in tree.branches] == [False, True, False, True]
    assert [chord.name for chord in tree.chords] == ["rod"]


def test_isolated_bodies_are_refused_when_asked(new_model):
    model = new_model("crank", "coupler", "rocker")
    model.hinge("A", "ground", "crank")
    model.hinge("C", "coupler", "rocker")
    wanted = (
        "body 'rocker' cannot be reached from 'ground': nothing joins {'coupler', 'rocker'} to it. "
        "Add a hinge, or build with free_isolated=True (the default) to give 'coupler' six coordinates "
        "of its own."
    )
    with pytest.raises(TopologyError) as caught:
        model.tree(free=False)
    assert str(caught.value) == wanted
    model.constraint("rod", "crank", "rocker")
    with pytest.raises(TopologyError, match="no hinge joins {'coupler', 'rocker'} to it"):
        model.tree(free=False)


def test_a_wrong_free_hinge_is_refused_by_name(new_model):
    model = new_model("a", "b")
    model.hinge("A", "ground", "a")
    with pytest.raises(TopologyError, match="free hinge made for body 'b'.*ground-a"):
        build_tree(model.bodies, model.connections, lambda body: model.connections[0])


def test_the_ground_alone_is_a_tree(new_model):
    tree = new_model().tree()
    assert tree.branches == () and tree.parent.tolist() == [-1] and tree.subtree_end.tolist() == [1]
    assert draw(tree) == "ground"


def test_bodies_out_of_order_are_refused(new_model):
    model = new_model("a", "b")
    with pytest.raises(TopologyError, match="body 'b' has number 2; wanted 1"):
        build_tree([model.bodies[0], model.bodies[2]], [])
    with pytest.raises(TopologyError, match="no bodies"):
        build_tree([], [])


def test_paths_by_number_and_name(new_model):
    tree = four_bar(new_model).tree()
    assert tree.path("coupler") == tree.path(tree.numbers["coupler"]) == (1, 2)
    assert tree.path("ground") == ()
    with pytest.raises(TopologyError, match="no body 'copler': did you mean 'coupler'"):
        tree.path("copler")
    with pytest.raises(TopologyError, match="no body 9"):
        tree.path(9)


def test_the_picture_shows_branches_chords_and_reversed_hinges(new_model):
    assert draw(four_bar(new_model).tree()).splitlines() == [
        "ground",
        "├── crank  [A: Pin]",
        "│   └── coupler  [B: Pin, reversed]",
        "└── rocker  [D: Pin]",
        "chords",
        "    coupler ┄┄ [C: Pin] ┄┄ rocker",
    ]


def test_the_picture_of_a_large_tree_is_cut_short(new_model):
    model = new_model(*(f"b{i}" for i in range(10)))
    for i in range(10):
        model.hinge(f"h{i}", "ground", f"b{i}")
    rows = draw(model.tree(), max_bodies=4).splitlines()
    assert len(rows) == 5 and rows[-1] == "... and 7 bodies more"


def test_arrays_are_read_only(new_model):
    tree = four_bar(new_model).tree()
    for array in (tree.parent, tree.depth, tree.subtree_end):
        with pytest.raises(ValueError):
            array[0] = 0


def test_neither_scipy_nor_networkx_is_imported_before_it_is_needed():
    code = "import sys, treemech.topology; print(sorted({'scipy', 'networkx'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
