"""Names of numbers: what is written is read back, and what has another form is said to have it."""

import pytest

from treemech.results.naming import (
    Comparison,
    Place,
    Quantity,
    as_comparison,
    as_coordinate,
    as_place,
    as_quantity,
    numbered,
)

OWNERS = ["A", "left knee", "leg[0]", "a.b", "x.q", "é", "free rod'", "A > B", "[", "a]"]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("index", [0, 7, 12])
def test_a_place_is_read_as_it_was_written(owner, index):
    place = Place(owner, str(index))
    assert as_place(str(place)) == place
    assert place.number == index == place.selection == place.below(index + 1)
    assert place.below(index) is None
    assert as_place(str(place), known=[str(place)]) == Place(str(place))


@pytest.mark.parametrize("owner", OWNERS)
def test_a_known_name_is_taken_whole(owner):
    place = as_place(owner, known=OWNERS)
    assert place == Place(owner) and str(place) == owner
    assert list("abc")[place.selection] == list("abc") and place.number is None


@pytest.mark.parametrize("text", ["A[]", "A[x]", "A[1.5]", "A[-]", "A[1 2]"])
def test_brackets_without_a_number_choose_nothing(text):
    place = as_place(text)
    assert place.owner == "A" and str(place) == text
    assert place.number is None and place.below(100) is None
    with pytest.raises(ValueError):
        _ = place.selection


@pytest.mark.parametrize("text", ["A[-1]", "A[3]"])
def test_a_number_that_is_not_there_is_not_below_the_count(text):
    assert as_place(text).below(3) is None


@pytest.mark.parametrize("text", ["", "A", "A[1", "A]", "A[", "[1]", "A[1] "])
def test_other_texts_are_names(text):
    assert as_place(text) == Place(text)


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("quantity", ["q", "u", "position"])
@pytest.mark.parametrize("indices", [(), (2,), (1, 0)])
def test_a_quantity_is_read_as_it_was_written(owner, quantity, indices):
    asked = Quantity(owner, quantity, indices)
    assert as_quantity(str(asked)) == asked
    is_coordinate = quantity in ("q", "u") and len(indices) < 2
    assert as_coordinate(str(asked)) == (asked if is_coordinate else None)
    assert asked.place == Place(owner, str(indices[0]) if indices else None)


@pytest.mark.parametrize("text", ["", "A", "A.", ".q", "A.q[", "A.q[]", "A.q[x]", "A.q[-1]", "A.q ", "A q"])
def test_a_text_of_another_form_is_no_quantity(text):
    assert as_quantity(text) is None and as_coordinate(text) is None


@pytest.mark.parametrize("sign", [">", "<", ">=", "<=", "=="])
@pytest.mark.parametrize("gap", ["", " ", "  "])
@pytest.mark.parametrize("left, right", [("A.q", "1.2"), ("left knee.u[1]", "B.q"), ("1", "height")])
def test_a_comparison_is_read_as_it_was_written(left, right, sign, gap):
    assert as_comparison(f"{left}{gap}{sign}{gap}{right}") == Comparison(left, sign, right)


@pytest.mark.parametrize("text", ["", "A.q", "A.q >", "> 1", "A.q > 1 > 2", "A.q => 1 < 2", "A.q = 1"])
def test_a_text_of_another_form_is_no_comparison(text):
    assert as_comparison(text) is None


def test_numbers_of_an_owner_have_names_that_are_read_back():
    assert numbered("A", 0) == [] and numbered("A", 1) == ["A"]
    assert [as_place(name) for name in numbered("A", 3)] == [Place("A", str(k)) for k in range(3)]
