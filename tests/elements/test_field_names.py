"""Names of fields: every name works, or is refused by name (the contract of no role may be damaged by a field)."""

from dataclasses import dataclass

import pytest

import treemech as tm
from treemech.topology.errors import ElementError

HINGE = """
class Mine(tm.Hinge):
    {name}: float{default}
    radius: float{default}
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[0] = self.{name} * q[0]
        motion.translation_partials[0, 0] = self.{name}
"""
ROLES = ("Hinge", "Constraint", "Coupling", "Energetic", "Load", "Signal")
# Names that the counts and flags of a contract use: as a field they are that count, of the right kind
COUNTS = {"euler_parameters", "input_names", "one_sided", "remembers_every", "settled", "unilateral", "world"}


def names_of(role):
    contract = getattr(tm, role)
    own = [name for name in dir(contract) if not name.startswith("__")]
    return [
        n
        for n in (*own, *contract.author_methods, "declared")
        if not n.startswith("n_") or n in ("n_rows", "n_speeds")
    ]


def make(role, name, default=" = 0.5"):
    scope = {"tm": tm}
    exec(f"class Mine(tm.{role}):\n    {name}: float{default}\n    radius: float{default}\n", scope)
    return dataclass(frozen=True)(scope["Mine"])


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("default", ["", " = 0.5"])
def test_a_field_with_the_name_of_a_method_of_the_contract_is_refused_by_name(role, default):
    refused = [name for name in names_of(role) if name not in COUNTS]
    assert len(refused) > 2
    for name in refused:
        with pytest.raises(ElementError, match=f"Mine has a field named '{name}', a name that is taken"):
            make(role, name, default)


@pytest.mark.parametrize("name", ["base", "evaluate", "pose"])
def test_a_class_attribute_in_place_of_a_method_is_refused_by_name(name):
    with pytest.raises(ElementError, match=f"Mine has a class attribute named '{name}'"):
        type("Mine", (tm.Hinge,), {name: 0.016})


def test_names_of_methods_of_other_roles_are_free():
    assert make("Constraint", "base")(0.1).base == 0.1
    assert make("Hinge", "effort")(0.2).effort == 0.2
    assert make("Load", "residual")(0.3).residual == 0.3


@pytest.mark.parametrize(
    "name", ["count", "index", "self", "q", "t", "example", "kind_", "function", "name", "declare"]
)
def test_a_free_name_reaches_the_compiled_method(name):
    scope = {"tm": tm}
    exec(HINGE.format(name=name, default=" = 0.25"), scope)
    Mine = dataclass(frozen=True)(scope["Mine"])
    assert tm.check(Mine()).way == "numba"
    system = tm.System("one")
    body = system.body("b", 2.0, (1, 1, 1))
    system.connect("A", Mine(0.5), system.ground, body)
    mech = system.build()
    assert mech.mass_matrix(mech.state(q=[3.0]))[0, 0] == pytest.approx(2.0 * 0.5**2)


def test_a_field_of_numbers_with_an_underscore_is_refused_by_name():
    with pytest.raises(ElementError, match="'_gain'.*underscore; call it 'gain'"):
        tm.check(_with_underscore()())


def _with_underscore():
    scope = {"tm": tm}
    exec(HINGE.format(name="_gain", default=" = 0.5"), scope)
    return dataclass(frozen=True)(scope["Mine"])


@pytest.mark.parametrize(
    "role, name", [("Constraint", "unilateral"), ("Energetic", "world"), ("Energetic", "settled")]
)
def test_a_flag_of_the_contract_that_is_a_number_is_refused_by_name(role, name):
    """A field `world: float = 9.81` would silently declare that the element acts against the world."""
    methods = {"Constraint": "n_holonomic = 1", "Energetic": "n_ends = 0; n_coordinates = 1"}[role]
    scope = {"tm": tm}
    exec(
        f"class Mine(tm.{role}):\n    {name}: float = 9.81\n    {methods}\n    def evaluate(self, a, t, b):\n        pass\n",
        scope,
    )
    with pytest.raises(ElementError, match=rf"Mine.{name} is 9.81; wanted"):
        tm.check(dataclass(frozen=True)(scope["Mine"])())


def test_a_hinge_without_a_number_of_coordinates_is_told_what_to_write():
    @dataclass(frozen=True)
    class Mine(tm.Hinge):
        radius: float = 1.0

        def pose(self, q, t, offset, rotation):
            offset[0] = self.radius * q[0]

    with pytest.raises(
        ElementError, match="Mine does not say how many coordinates q it has: write n_coordinates = 1"
    ):
        tm.check(Mine())
    system = tm.System("one")
    body = system.body("b", 1.0, (1, 1, 1))
    with pytest.raises(ElementError, match="n_coordinates = 1"):
        system.connect("A", Mine(), system.ground, body)
        system.build()
