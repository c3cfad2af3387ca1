"""What a scene offers on demand: names, traces, arrows of reactions and loads, curves of the strip chart."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import Attachment, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..plots.signals import signals as curves
from ..results.model_info import ChordInfo, HingeInfo
from .drawings.model import Model
from .scene.options import Options
from .scene.scene import Arrow, Label, Scene, Signal, Spot, Trace

if TYPE_CHECKING:
    from ..results.run import Run

MANY = 60  # connections or elements; a page of more has arrows only if they are asked for
OFFERED = 40  # signals
SAMPLES = 600  # of a signal


def add_labels(scene: Scene, model: Model) -> None:
    """Name the bodies and the hinges."""
    for k, body in enumerate(model.info.bodies):
        if k:
            scene.labels.append(Label(body.name, Spot(k, np.asarray(body.com, dtype=np.float64)), "body"))
    for joined in model.joined:
        scene.labels.append(Label(joined.name, joined.b.spot, "hinge"))
    if model.core is None:
        for h in model.info.hinges:
            scene.labels.append(
                Label(h.name, Spot(h.body_b, np.asarray(h.offset_b, dtype=np.float64)), "hinge")
            )


def add_traces(scene: Scene, model: Model, options: Options) -> None:
    """Add the paths that are asked for, and one on demand for every body."""
    names = [b.name for b in model.info.bodies]
    given = []
    for one in options.traces:
        given.append(_trace_point(one, names))
    for name, spot in given:
        scene.traces.append(Trace(name, spot, True))
    for k, body in enumerate(model.info.bodies):
        if k and not any(spot.part == k for _, spot in given):
            shown = "traces" in options.show and not given
            scene.traces.append(Trace(body.name, Spot(k, _far(model, k)), shown))


def _trace_point(one: Any, names: list[str]) -> tuple[str, Spot]:
    """Return name and point of a trace: a body by name or itself, an attachment, or (body, offset)."""
    offset: Any = (0.0, 0.0, 0.0)
    body = one
    if isinstance(one, (tuple, list)) and len(one) == 2:
        body, offset = one
    elif hasattr(one, "body") and hasattr(one, "offset"):
        body, offset = one.body, one.offset
    name = body if isinstance(body, str) else getattr(body, "name", None)
    if name not in names:
        raise TopologyError(f"traces: {unknown('body', str(name if name is not None else one), names)}")
    point = np.asarray(offset, dtype=np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise TreemechError(f"traces: the point of body {name!r} is {offset!r}; wanted three numbers.")
    return str(name), Spot(names.index(str(name)), point)


def _far(model: Model, k: int) -> Floats:
    """Return the point of a body that moves most: the end that is farthest from its first attachment."""
    body = model.info.bodies[k]
    points = list(model.attachments[k])
    if body.mass > 0.0:
        points.append(np.asarray(body.com, dtype=np.float64))
    if k in model.extents and len(points) < 2:
        points += [0.5 * (model.extents[k][0] + model.extents[k][1])]
    if not points:
        return np.zeros(3)
    away = [float(np.linalg.norm(x - points[0])) for x in points]
    return points[int(np.argmax(away))]


def add_arrows(scene: Scene, model: Model, view: "Run", options: Options) -> None:
    """Add the loads of connections on the bodies of their ends b, and of elements at their ends."""
    wanted = set(options.show)
    if len(model.joined) <= MANY or wanted & {"forces", "moments"}:
        for joined in model.joined:
            motion, owner = (
                view.connection(joined.name),
                scene.owner(joined.name, "hinge" if joined.is_hinge else "constraint"),
            )
            spot = joined.b.spot if joined.b.part else joined.a.spot
            sign = 1.0 if joined.b.part else -1.0  # on the body that moves
            _arrow(scene, "force", spot, sign * motion.force, owner)
            _arrow(scene, "moment", spot, sign * motion.moment, owner)
    elements = [a for a in model.applied if a.ends]
    if len(elements) <= MANY or "loads" in wanted:
        places = {label: k for k, label in enumerate(e.name for e in view._info.elements)}
        for applied in elements:
            if applied.name not in places:
                continue
            force = view.element(applied.name).force.reshape(len(view.t), -1, 3)
            owner = scene.owner(applied.name, "element")
            for k, end in enumerate(applied.ends):
                place = model.place(end) if isinstance(end, Attachment) else None
                if place is not None and place.part:
                    _arrow(scene, "load", place.spot, force[:, k], owner)


def _arrow(scene: Scene, kind: str, spot: Spot, vectors: Floats, owner: int) -> None:
    vectors = np.where(np.isfinite(vectors), vectors, 0.0)
    if np.abs(vectors).max(initial=0.0) > 1e-12:
        scene.arrows.append(Arrow(kind, spot, vectors, owner))


def add_signals(scene: Scene, run: "Run", options: Options) -> None:
    """Add the curves that are asked for, and the usual ones: coordinates, efforts, energies."""
    for name in options.signals:
        scene.signals += [signal._replace(shown=True) for signal in signals_of(run, name)]
    named = {s.name for s in scene.signals}
    usual: list[str] = []
    cut = [c for c in run._info.chords if c.nu and not c.joins]
    own: list[HingeInfo | ChordInfo] = [*run._info.hinges, *cut]
    for h in own:
        usual += [f"{h.name}.q"] if h.nq == 1 else [f"{h.name}.q[{k}]" for k in range(h.nq)]
    usual += [f"{h.name}.u" for h in run._info.hinges if h.nu == 1]
    rest = ["energy.total", "energy.kinetic", "energy.potential"]
    rest += [f"{e.name}.effort" for e in run._info.elements if run.element(e.name).effort.size]
    for name in [*usual[: OFFERED - min(len(rest), 10)], *rest[:10]]:
        if len(scene.signals) < OFFERED + len(named):
            for signal in signals_of(run, name):
                if signal.name not in named and len(signal.values) and np.isfinite(signal.values).any():
                    named.add(signal.name)
                    scene.signals.append(signal)


def signals_of(run: "Run", name: str) -> list[Signal]:
    """Return the curves of a name, as in run.plot: "A.q", "A.q[1]", "box.position", "spring.effort", "energy.total", a measure."""
    rows = np.unique(np.round(np.linspace(0, len(run.t) - 1, min(SAMPLES, len(run.t)))).astype(int))
    rows = rows[np.argsort(run.t[rows], kind="stable")]
    return [Signal(s.label, run.t[rows], s.values[rows], s.unit) for s in curves(run, name)]
