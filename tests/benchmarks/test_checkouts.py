"""Two checkouts are compared by the least time of every row and by their bits."""

import pytest

from tests.support.places import ROOT
from treemech.benchmarks import checkouts
from treemech.elements.native.library import open_library


def test_a_row_that_is_slower_and_other_bits_are_seen():
    old = checkouts.least([{"a": (2.0, "x"), "b": (1.0, "y")}, {"a": (1.0, "x"), "b": (1.5, "y")}])
    assert old == {"a": (1.0, "x"), "b": (1.0, "y")}
    text, good = checkouts.compared(old, {"a": (1.01, "x"), "b": (0.99, "z")})
    assert good and "same" in text and "differ" in text
    text, good = checkouts.compared(old, {"a": (1.06, "x"), "b": (0.9, "y")})
    assert not good and "slowest row a: 1.060" in text
    assert not checkouts.compared(old, {"a": (1.04, "x"), "b": (1.04, "y")})[1]


def test_results_that_change_between_processes_are_refused():
    with pytest.raises(SystemExit, match="process to process: a"):
        checkouts.least([{"a": (1.0, "x")}, {"a": (1.0, "y")}])


def test_a_folder_that_is_no_checkout_is_named(tmp_path):
    with pytest.raises(SystemExit, match="is it a checkout"):
        checkouts.measured(tmp_path, ["none"], [], 1)


@pytest.mark.slow
def test_a_checkout_equals_itself(capsys):
    if open_library() is None:
        pytest.skip("no library was built for these sources")
    rows = checkouts.measured(ROOT, ["chain 7"], [2], 3)
    again = checkouts.measured(ROOT, ["chain 7"], [2], 3)
    assert len(rows) == 5 and {n: d for n, (_, d) in rows.items()} == {n: d for n, (_, d) in again.items()}
