"""Fit parameters of a model to measurements: `tm.fit`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from ..design.inputs import with_inputs
from .inertia import part_names, with_inertial_parameters
from .known_motion import KnownMotion
from .measurement import Measurement, as_measurements
from .motion import MeasuredMotion, Options, with_still
from .problem import Problem
from .result import Fit
from .unknowns import Unknowns

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
_ROUNDS = 8  # of finding unknown standard deviations
_GAPS = (1e-1, 1e-3, 1e-6)  # allowed between segments, relative to the size of a state


def fit(
    mech: "Mechanism",
    measurements: Measurement | Sequence[Measurement],
    parameters: Sequence[str] | str | None = None,
    *,
    bodies: Sequence[str] | str = (),
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    loss: str = "linear",
    loss_scale: float = 1.0,
    segments: int = 1,
    confidence: float = 0.95,
    method: str = "DOP853",
    rtol: float = 1e-8,
    atol: Any = None,
    max_iterations: int = 100,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """Find parameters of a mechanism, start values and offsets from measurements, and how well they are known.

    The sum of the squares of (prediction - measured) / sigma over all experiments is minimised, with exact derivatives, by
    `scipy.optimize.least_squares`. Along known motions predictions that are linear in the parameters (loads, by masses,
    inertias, friction) are evaluated once: the regressor. Motions are simulated (single shooting), or cut into segments
    (multiple shooting), which helps where a guess is far off or the motion is unstable.

    Parameters
    ----------
    measurements : Measurement, or list of them
    parameters : names
        Default: all parameters of the mechanism, none if `bodies` are given.
    bodies : names
        Bodies whose ten inertial parameters are to be found: NAME_m, NAME_hx, ... (`tm.inertial_parameters`). They stay
        physical, all ten together; combinations that were not excited stay as near to their start as the others allow.
    bounds : dict
        (lowest, highest) by name, None for an open side.
    priors : dict
        (value, standard deviation) by name: what was known before.
    loss, loss_scale : str, float
        "linear", or for data with outliers "soft_l1", "huber", "cauchy", "arctan"; residuals beyond `loss_scale`
        standard deviations count less.
    segments : int
        Of multiple shooting, in every experiment; 1 is single shooting.
    confidence : float
        Of the intervals of the result.
    method, rtol, atol
        As in `Mechanism.simulate`.

    Returns
    -------
    Fit
        ``print(found)`` shows values with intervals, and what cannot be told apart.

    Examples
    --------
    >>> import numpy as np, treemech as tm
    >>> system, k = tm.System("oscillator"), tm.Parameter("k", 30.0)
    >>> mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    >>> _ = system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    >>> _ = system.connect("spring", tm.Spring(k, length=0.5), system.ground.at((-1, 0, 0)), mass)
    >>> mech = system.build()
    >>> t = np.linspace(0, 2, 101)
    >>> seen = mech.with_parameters(k=40.0).simulate((0, 2), mech.state(), t_eval=t).connection("slide").q
    >>> noise = 1e-3 * np.random.default_rng(1).normal(size=101)
    >>> found = tm.fit(mech, tm.Measurement({"slide.q": seen + noise}, t, start=mech.state()))
    >>> low, high = found.intervals["k"]
    >>> low < 40.0 < high
    True
    """
    origin_of(mech)
    given, problem_name = as_measurements(measurements), mech.name
    chosen = [bodies] if isinstance(bodies, str) else list(bodies)
    mech = with_inertial_parameters(mech, chosen)
    names = _names(mech, parameters, chosen)
    _check_options(loss, loss_scale, confidence)
    _check_counts(segments=segments, max_iterations=max_iterations)
    mech = with_still(mech)
    mechanisms = [with_inputs(mech, one.inputs) for one in given]
    options = Options(method, rtol, atol)
    experiments = [
        _experiment(own, one, one.name or f"experiment {k + 1}", options)
        for k, (own, one) in enumerate(zip(mechanisms, given, strict=True))
    ]
    unknowns, offsets = _unknowns(mech, names, experiments)
    unknowns.bound(bounds or {})
    problem = Problem(
        mech, mechanisms, experiments, unknowns, offsets, _priors(priors or {}, unknowns), progress
    )
    values = problem.unknowns.start
    if segments > 1 and any(isinstance(e, MeasuredMotion) for e in experiments):
        values = _multiple(problem, segments, loss, loss_scale, max_iterations)
    for experiment in experiments:
        experiment.cut(experiment.first, 1)
    try:
        problem.prepare(values)
    except TreemechError as error:
        raise type(error)(f"fit: the model cannot be evaluated at its start values: {error}") from error
    problem.refuse_idle(values, bool(chosen) or bool(unknowns.groups))
    search = problem.search(values, loss, loss_scale, max_iterations)
    for _ in range(_ROUNDS):
        if not problem.reweigh(search, loss):
            break
        search = problem.search(search.values, loss, loss_scale, max_iterations)
    search = problem.back_to_start(search, loss, loss_scale, max_iterations)
    return Fit.of(problem, search, problem_name, confidence, loss, float(loss_scale))


def _experiment(mech: "Mechanism", given: Measurement, what: str, options: Options) -> Any:
    """Return what predicts one experiment: a motion that is simulated, or a known one."""
    channels = given.channels(mech, what)
    if given.motion is not None:
        return KnownMotion(mech, given, channels, what)
    for channel in channels:
        if channel.signal.endswith(".drive"):
            raise ElementError(
                f"{what}: {channel.signal!r} needs motion=, the known motion along which it was measured."
            )
    return MeasuredMotion(mech, given, channels, what, options)


def _unknowns(
    mech: "Mechanism", names: list[str], experiments: Sequence[Any]
) -> tuple[Unknowns, dict[tuple[int, int], int]]:
    """Return parameters, start values and offsets, and the places of offsets by experiment and channel."""
    unknowns = Unknowns(names, np.array([mech.parameters[n] for n in names]), names)
    for experiment in experiments:
        own_names, own_values = experiment.own_unknowns()
        experiment.first = len(unknowns.names)
        unknowns = unknowns.more(own_names, own_values)
    offsets: dict[tuple[int, int], int] = {}
    for e, experiment in enumerate(experiments):
        for c, channel in enumerate(experiment.channels):
            if channel.offset:
                offsets[e, c] = len(unknowns.names)
                unknowns = unknowns.more([f"{experiment.what}: offset of {channel.label}"], [0.0])
    return unknowns, offsets


def _names(mech: "Mechanism", parameters: Sequence[str] | str | None, bodies: Sequence[str]) -> list[str]:
    """Return the names of the parameters to be found; with those of bodies."""
    own = [name for body in bodies for name in part_names(body)]
    if parameters is None:
        wanted = [] if bodies else list(mech.parameters)
    else:
        wanted = [parameters] if isinstance(parameters, str) else list(parameters)
    origin_of(mech, wanted)
    names = list(dict.fromkeys([*wanted, *own]))
    if not names:
        raise TreemechError(
            f"fit: {mech.name!r} has no parameters to find: make numbers of it tm.Parameter, or name bodies=[...]."
        )
    return names


def _check_options(loss: str, loss_scale: float, confidence: float) -> None:
    if loss not in _LOSSES:
        raise ElementError(f"fit: loss is {loss!r}; wanted one of {', '.join(_LOSSES)}.")
    if not (isinstance(loss_scale, (int, float)) and np.isfinite(loss_scale) and loss_scale > 0.0):
        raise ElementError(f"fit: loss_scale is {loss_scale!r}; wanted a positive number.")
    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ElementError(
            f"fit: confidence is {confidence!r}; wanted a number between 0 and 1, such as 0.95."
        )


def _check_counts(**given: int) -> None:
    for name, count in given.items():
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ElementError(f"fit: {name} is {count!r}; wanted a whole number, 1 or more.")


def _priors(given: Mapping[str, tuple[float, float]], unknowns: Unknowns) -> list[tuple[int, float, float]]:
    found = []
    for name, pair in given.items():
        if name not in unknowns.names:
            from treemech.topology import unknown

            raise ElementError(f"priors: {unknown('unknown', name, unknowns.names)}")
        try:
            value, sigma = (float(x) for x in pair)
        except (TypeError, ValueError):
            raise ElementError(
                f"priors: {name!r} has {pair!r}; wanted (value, standard deviation)."
            ) from None
        if not (np.isfinite(value) and np.isfinite(sigma) and sigma > 0.0):
            raise ElementError(
                f"priors: {name!r} has {pair!r}; wanted a finite value and a positive deviation."
            )
        found.append((unknowns.names.index(name), value, sigma))
    return found


def _multiple(problem: Problem, segments: int, loss: str, loss_scale: float, iterations: int) -> Floats:
    """Return values found by multiple shooting, with gaps that are closed more and more."""
    whole, values, extra = problem.unknowns, problem.unknowns.start, 0
    for experiment in problem.experiments:
        if isinstance(experiment, MeasuredMotion):
            own = len(experiment.own_unknowns()[0])
            names, first = experiment.cut(experiment.first, segments)
            at = len(whole.names) + extra  # unknowns between segments stand behind all others
            for segment in experiment.segments[1:]:
                segment.unknowns[:] = [k - experiment.first - own + at for k in segment.unknowns]
            problem.unknowns = problem.unknowns.more(names, first)
            values = np.concatenate((values, first))
            extra += len(names)
        else:
            experiment.cut(experiment.first, 1)
    for allowed in _GAPS:
        problem.gap = allowed
        problem.prepare(values)
        values = problem.search(values, loss, loss_scale, iterations).values
    problem.unknowns, problem.gap = whole, None
    return values[: len(whole.names)]
