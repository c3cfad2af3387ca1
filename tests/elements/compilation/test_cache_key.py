"""The key of compiled code sees everything that the code depends on, and nothing else."""

import numpy as np
import pytest

import treemech as tm
from treemech.elements.compilation.cache_key import cache_key, constants_of, keepable, sources_of

TABLE = np.array([1.0, 2.0])
FACTOR = 3.0
MANY = [lambda t, k=k: k * t for k in range(3)]
ARRAYS = [lambda t, x=np.full(2, float(k)): x[0] * t for k in range(2)]


def scaled(t):
    return FACTOR * t + TABLE[0]


def plain(t):
    return t


def key(*functions):
    return cache_key("def entry(): pass", tm.Function, set(functions))


def test_the_key_is_always_the_same():
    assert key(scaled, plain) == key(plain, scaled)
    assert len(key(plain)) == 16


@pytest.mark.parametrize("functions", [MANY, ARRAYS, [scaled, plain]], ids=["numbers", "arrays", "lines"])
def test_functions_of_one_file_have_their_own_keys(functions):
    assert len({key(f) for f in functions}) == len(functions)


def test_generated_source_and_class_count():
    keys = {
        cache_key(text, cls, {plain}) for text in ("a = 1", "a = 2") for cls in (tm.Function, tm.Harmonic)
    }
    assert len(keys) == 4


@pytest.mark.parametrize(("name", "value"), [("FACTOR", 4.0), ("TABLE", np.array([1.0, 2.5]))])
def test_constants_of_the_module_count(name, value, monkeypatch):
    before = key(scaled), key(plain)
    monkeypatch.setitem(globals(), name, value)
    assert key(scaled) != before[0]
    assert key(plain) == before[1]


def test_what_is_frozen_is_named():
    found = constants_of({scaled})
    assert "scaled FACTOR: 3.0" in found and "scaled TABLE: (2,)" in found
    assert "def scaled(t):" in sources_of({scaled})


def test_only_functions_of_files_are_kept_on_the_disk():
    scope: dict = {}
    exec("def typed(t): return t", scope)
    amount = 2.0
    assert keepable({scaled, plain, *MANY})
    assert not keepable({scope["typed"]})
    assert not keepable({lambda t: amount * t})  # a closure
