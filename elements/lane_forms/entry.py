"""Compile an element for lanes: the author's methods once more, on numbers of several states at once.

The C function is::

    int32 element(double *a, double *b, double *t, double *parameters, int64 stride, double *out)

A number is a row of LANES doubles. The record of parameters of the next lane stands `stride` bytes further; 0: all lanes have one in common.
It returns 1, or PARTED where the lanes want different branches (or have different tables): then it is called lane by
lane in its form for one state (elements.lanes.calls). Built-in elements are in the library; others are compiled when somebody first asks for lanes and
are kept on the disk. What cannot be compiled for lanes is called lane by lane, with the same numbers.
"""

import os
import time
from typing import Any

from ..compilation.cache_key import cache_key, keepable
from ..compilation.callback import Entry
from ..compilation.entry import library_address, load_entry, make_entry
from ..compilation.methods import form_of, members_of, methods_of
from ..element import Element, kinds
from ..energetic import Energetic
from ..native.cache import compiling, log, numba_cache
from .probe import agrees

LANE_PART = "lanes"
_compiled: dict[tuple[Any, ...], Any] = {}


def may_go_on_lanes(element: Element) -> bool:
    """Tell whether there is a form for lanes: not of assembled elements, of implicit laws, and of those that depend on a reaction."""
    if members_of(element) or (isinstance(element, Energetic) and element.n.reactions > 0):
        return False
    if getattr(element, "n_auxiliary", 0):  # its rows are made in one lane after the other
        return False
    return "law" not in methods_of(element)


def make_lane_entry(element: Element) -> Entry | None:
    """Return the entry of the element for lanes, or None if it is called lane by lane."""
    built = library_address(element, LANE_PART)
    if built is not None:
        return Entry(built, "library", None)
    if not may_go_on_lanes(element) or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return None
    if make_entry(element).way != "numba":  # in Python, or built in without a form for lanes
        return None
    form = (type(element), *methods_of(element).values(), kinds(element), form_of(element))
    if form not in _compiled:
        with compiling:
            if form not in _compiled:  # another thread may have compiled it meanwhile
                _compiled[form] = _compile(element)
    compiled = _compiled[form]
    return None if compiled is None else Entry(compiled.address, "numba", compiled)


def _checked(element: Element, compiled: Any) -> Any:
    """Return the compiled form, or None if its numbers are not those of the form for one state."""
    try:
        good = agrees(element, make_entry(element).address, compiled.address)
    except Exception as error:  # an author's sample may raise anything
        log.info("%s is called lane by lane, as it cannot be tried: %s", element.kind, error)
        return None
    if not good:
        log.info("%s is called lane by lane: other digits on lanes", element.kind)
    return compiled if good else None


def _compile(element: Element) -> Any:
    """Return the element's method for lanes as a numba cfunc, from the disk if its source has not changed, or None."""
    with numba_cache():
        from . import numba_side

        started = time.process_time()
        source, (scope, functions) = numba_side.lane_source(element), numba_side.lane_globals(element)
        try:
            if keepable(functions):
                key = cache_key(source, type(element), functions)
                module = load_entry(f"{element.kind}_lanes_{key}", source, scope)
                compiled = numba_side.as_cfunc(module, key)
            else:
                exec(compile(source, f"<entry of {element.kind} on lanes>", "exec"), scope)
                compiled = numba_side.as_cfunc(scope["entry"])
        except Exception as error:  # numba raises many kinds
            log.info("%s is called lane by lane: %s", element.kind, str(error).splitlines()[0])
            return None
        if not getattr(compiled, "cache_hits", 0):
            log.info("compiled %s for lanes in %.1f s", element.kind, time.process_time() - started)
    return _checked(element, compiled)
