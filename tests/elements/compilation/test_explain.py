"""An author learns which line cannot be compiled, and why."""

from contextlib import nullcontext
from dataclasses import dataclass

import pytest

import treemech as tm
from treemech.elements.compilation.explain import ElementCompileWarning, cannot_compile, explain


def with_a_set(t):
    found = {t}
    return sum(found, start=0.0)


class Error(Exception):
    """Stand-in for numba's: its text names files and lines."""


def error_at(line, text="Invalid use of a set", file=__file__):
    return Error(f'Failed in nopython mode pipeline\n{text}\nFile "{file}", line {line}:\n    <source>')


FIRST = with_a_set.__code__.co_firstlineno


def test_line_and_cause_are_found():
    assert explain(with_a_set, error_at(FIRST + 1)) == (FIRST + 1, "Invalid use of a set")


@pytest.mark.parametrize("error", [error_at(FIRST + 500), error_at(FIRST + 1, file="elsewhere.py")])
def test_a_line_elsewhere_is_not_the_authors(error):
    assert explain(with_a_set, error)[0] is None


def test_colours_and_origins_are_left_out_of_the_cause():
    _, cause = explain(with_a_set, error_at(FIRST + 1, "\x1b[1mCannot unify int and str. Raised from a.py:3"))
    assert cause == "Cannot unify int and str"


def test_functions_without_a_source_are_explained_by_the_error():
    assert explain(len, Error("no source")) == (None, "no source")


@dataclass(frozen=True)
class Force(tm.Load):
    size: float = 1.0

    def evaluate(self, end, t, load):
        load.force[0] = self.size
        load.force[1] = self.sizes


LINE = Force.evaluate.__code__.co_firstlineno + 2


def test_a_field_that_is_not_there_is_refused_with_those_that_are():
    error = error_at(LINE, "Unknown attribute 'sizes' of type Self(float64)")
    with pytest.raises(
        tm.ElementError, match=rf"test_explain.py, line {LINE}: .*The numeric fields are: size\."
    ):
        cannot_compile(Force(), error)


def test_the_warning_is_given_once_per_class():
    @dataclass(frozen=True)
    class Slow(Force):
        def evaluate(self, end, t, load):
            load.force[0] = len({t})

    error = error_at(Slow.evaluate.__code__.co_firstlineno + 1)
    with pytest.warns(
        ElementCompileWarning, match=r"Slow.evaluate cannot be compiled: .*runs as a Python callback"
    ):
        cannot_compile(Slow(), error)
    cannot_compile(Slow(), error)  # silent now; a warning would be an error here


def test_an_error_that_is_not_the_authors_is_raised_again():
    with pytest.raises(Error):
        cannot_compile(Force(), error_at(1, file="elsewhere.py"))


def held(x):
    with nullcontext(2.0) as factor:
        return factor * x


@dataclass(frozen=True)
class Held(tm.Energetic):
    """Numba refuses `with ... as` without saying where it stands."""

    stiffness: float = 3.0
    n_ends, n_coordinates, n_deformations = 0, 1, 1

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * held(now.deformation[0])
        out.energy[0] = self.stiffness * now.deformation[0] ** 2


def test_a_with_statement_is_found_in_a_helper_and_the_element_runs_as_python():
    line = held.__code__.co_firstlineno + 1
    with pytest.warns(
        ElementCompileWarning,
        match=rf"Held.effort cannot be compiled: test_explain.py, line {line}: `with nullcontext",
    ):
        assert tm.check(Held()).way == "python"


def test_a_with_statement_in_a_pose_is_refused_with_its_line():
    @dataclass(frozen=True)
    class Slide(tm.Hinge):
        n_coordinates = 1

        def pose(self, q, t, offset, rotation):
            with nullcontext(1.0) as one:
                offset[0] = one * q[0]

    line = Slide.pose.__code__.co_firstlineno + 1
    with pytest.raises(
        tm.ElementError, match=rf"Slide.pose cannot be compiled: test_explain.py, line {line}: `with"
    ):
        tm.check(Slide())


def test_a_generator_is_refused():
    @dataclass(frozen=True)
    class Slide(tm.Hinge):
        n_coordinates = 1

        def pose(self, q, t, offset, rotation):
            offset[0] = q[0]
            yield

    with pytest.raises(tm.ElementError, match="has a yield or is async: it would never run"):
        tm.check(Slide())
