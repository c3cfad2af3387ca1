"""Which formulation, integrator and tolerance suit a model: `tm.compare`, and the files that `treemech compare` reads."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import TreemechError, unknown

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .results.comparison import Comparison
    from .results.state import State
    from .system import System

_MOST_POINTS = 10_000


def compare(
    system: "System",
    state: "State | Callable[[Mechanism], State] | None" = None,
    t_span: Sequence[float] = (0.0, 10.0),
    rtols: Sequence[float] | None = None,
    formulations: Sequence[str] | str | None = None,
    integrators: Sequence[str] | str | None = None,
    seconds: float = 60.0,
    points: int = 41,
    progress: bool | Callable[[float], None] = False,
) -> "Comparison":
    """Compare formulations, coordinates, integrators and tolerances on one model: which is best for it?

    Every candidate, a formulation with an integrator, computes the same motion over a ladder of tolerances. The error is the
    largest deviation of any body, in place (over the distance from the origin, where that is more than 1 m) and attitude, at
    the output times, from a reference motion that a second integrator checks.

    Parameters
    ----------
    system : System
    state : State, or function of a Mechanism that returns one
        The start; its t is replaced by t_span[0]. Default: the closed position next to the reference one, at rest.
    t_span : (float, float)
        Long enough to be typical, short enough that errors do not grow beyond telling.
    rtols : floats
        The ladder; default 1e-3, 1e-4, ... 1e-12. Methods without error control get steps to match.
    formulations : str or list of str
        Only these, or parts of their names; docs/formulations.md lists them.
    integrators : str or list of str
        Of `mech.simulate`, also of other libraries ("scipy:LSODA"). The first also serves the other ways to close chains.
        Default: all of the engine. Other formulations bring their own.
    seconds : float
        CPU time for all runs together, beside building and compiling, which the first call on a machine has to do. Candidates
        that would take longer are stopped or left out; ``.dropped`` says which.
    points : int
        Output times, equally spaced.
    progress : bool or callable
        A bar on stderr, or a function of the fraction done.

    Returns
    -------
    Comparison
        ``print(comparison)`` shows ranking and verdict. A candidate that fails is a row with the reason.

    Examples
    --------
    >>> import treemech as tm
    >>> example = tm.examples.four_bar()
    >>> found = tm.compare(example.system, example.state, (0, 1), [1e-4, 1e-8], "relative-kkt", ["DOP853", "Adams"])
    >>> found.best(error=1e-6).coordinates
    'relative'
    """
    from .mechanism import Mechanism
    from .system import System

    if isinstance(system, Mechanism):
        raise TreemechError(
            "compare: wants the System itself, not a Mechanism, since every formulation builds itself: tm.compare(system, ...)."
        )
    if not isinstance(system, System):
        raise TreemechError(f"compare: the model is {type(system).__name__}; wanted a System.")
    span = _span(t_span)
    ladder = None if rtols is None else _ladder(rtols)
    if not _positive(seconds):
        raise TreemechError(f"compare: seconds is {seconds!r}; wanted a positive number.")
    if not isinstance(points, (int, np.integer)) or not 2 <= points <= _MOST_POINTS:
        raise TreemechError(f"compare: points is {points!r}; wanted a whole number from 2 to {_MOST_POINTS}.")
    from treemech.benchmarks.formulations import formulations as known
    from treemech.benchmarks.runs.compare import chosen
    from treemech.benchmarks.runs.own_model import METHODS, RTOLS, measure

    kinds = chosen("formulation", _names("formulations", formulations), list(known()))
    methods = _methods(_names("integrators", integrators)) or list(METHODS)
    mech = system.build()
    start = _start(mech, state, span[0])
    bar = None
    if progress is True:
        from .simulation.progress import ProgressBar

        bar = ProgressBar(f"compare {system.name}")
    try:
        return measure(
            system, start, span, kinds, methods, ladder or list(RTOLS), float(seconds), int(points),
            bar or (progress if callable(progress) else None),
        )  # fmt: skip
    finally:
        if bar is not None:
            bar.close()


def _span(given: Any) -> tuple[float, float]:
    try:
        begin, end = (float(t) for t in given)
    except (TypeError, ValueError):
        raise TreemechError(f"compare: t_span is {given!r}; wanted (begin, end).") from None
    if not np.isfinite([begin, end]).all() or end <= begin:
        raise TreemechError(f"compare: t_span is {given!r}; wanted two finite times, the second one later.")
    return begin, end


def _positive(value: Any) -> bool:
    try:
        return bool(0.0 < float(value) < np.inf)
    except (TypeError, ValueError):
        return False


def _ladder(given: Any) -> list[float]:
    values = list(np.atleast_1d(np.asarray(given, dtype=object)))
    if not values or not all(_positive(v) and 1e-14 < float(v) < 1.0 for v in values):
        raise TreemechError(f"compare: rtols are {given!r}; wanted numbers between 1e-14 and 1.")
    return sorted({float(v) for v in values}, reverse=True)


def _names(what: str, given: Any) -> list[str] | None:
    """Return names given one by one or in a list."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise TreemechError(f"compare: {what} is {given!r}; wanted names, or None for all.")
    return names


def _methods(names: list[str] | None) -> list[str] | None:
    from treemech.dynamics.simulation.integrator import NAMES

    for name in names or ():
        if name not in NAMES:
            raise TreemechError(unknown("integrator", name, NAMES))
    return names and list(dict.fromkeys(names))


def _start(mech: "Mechanism", given: Any, t: float) -> "State":
    """Return the start, which must be a state of the mechanism."""
    from .results.state import State

    made = given(mech) if callable(given) else given
    if made is None:
        return mech.assemble(t)
    if not isinstance(made, State):
        what = "the function of the start returned" if callable(given) else "the start is"
        raise TreemechError(f"compare: {what} {type(made).__name__}; wanted a State of system.build().")
    if made.q.ndim != 1:
        raise TreemechError("compare: the start holds many states; wanted one.")
    made.check_sizes(mech.nq, mech.nu, len(mech.state(t).z), {c.name for c in mech._info.chords}, "compare")
    return made


# ---------------------------------------------------------------- files
def model_in(
    path: str | Path,
) -> tuple["System", "Callable[[Mechanism], State] | State | None", float | None]:
    """Return system, start and duration of a file; None for what it does not say.

    A Python file has ``system``, a System or a function that makes it, and may have ``state``, a function of the mechanism
    or a State, and ``DURATION`` [s], as the examples have. Other files are those `tm.read` knows.
    """
    file = Path(path)
    if file.suffix != ".py":
        from .files.read import read
        from .system import System

        found = read(file)
        if not isinstance(found, System):
            raise TreemechError(f"{file.name} holds a {type(found).__name__}; wanted the model of a System.")
        return found, None, None
    return _python_model(file)


def _python_model(file: Path) -> tuple["System", Any, float | None]:
    from .authoring.kit import import_file
    from .system import System

    module = import_file(file)
    made = getattr(module, "system", None)
    if made is None:
        raise TreemechError(
            f"{file.name} has no `system`: wanted a System of this name, or a function system() that makes one."
        )
    if callable(made) and not isinstance(made, System):
        try:
            made = made()
        except Exception as error:
            raise TreemechError(f"{file.name}: system() failed: {type(error).__name__}: {error}") from error
    if not isinstance(made, System):
        raise TreemechError(f"{file.name}: `system` is {type(made).__name__}; wanted a System.")
    duration = getattr(module, "DURATION", None)
    if duration is not None and not _positive(duration):
        raise TreemechError(f"{file.name}: DURATION is {duration!r}; wanted a positive number [s].")
    return made, getattr(module, "state", None), None if duration is None else float(duration)
