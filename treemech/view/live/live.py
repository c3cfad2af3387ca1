"""`mech.live()`: a server whose page has sliders, points to drag, a run to play, and parameters."""

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TreemechError

from ..drawings.sketch import sketch
from ..scene.options import Options
from ..scene.posing import at, part_poses
from ..scene.scene import Spot
from .nodes import HIDDEN, Nodes
from .puppet import Puppet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mechanism import Mechanism
    from ...results.run import Run
    from ...results.state import State

FPS = 30.0
FINE = 2000  # places of a slider


def viser() -> Any:
    """Return viser; say what to install if it is missing."""
    try:
        import viser as found
    except ImportError:
        raise TreemechError("the live view needs viser: pip install treemech[view].") from None
    return found


class LiveView:
    """A page of a server on this machine that shows a mechanism, and moves it as its controls say.

    What the controls do can be done from Python too: `move`, `drag`, `change`, `play`, `seek`. The state shown is `state`.
    """

    def __init__(
        self, mech: "Mechanism", state: "State | None", run: "Run | None", host: str, port: int, **given: Any
    ) -> None:
        library = viser()
        options = Options.of(given, "mech.live")
        if run is not None and run._info.name != mech._info.name:
            raise ElementError(
                f"mech.live: the run is one of {run._info.name!r}, not of {mech._info.name!r}."
            )
        self.puppet, self.run = Puppet(mech, state), run
        self.server = library.ViserServer(host=host, port=port, label=mech._info.name, verbose=False)
        self.nodes = Nodes(self.server, options)
        self.sliders: dict[str, Any] = {}
        self.knobs: dict[str, Any] = {}
        self._lock, self._stop, self._playing, self._dragging = (
            threading.RLock(),
            threading.Event(),
            False,
            False,
        )
        self._thread: threading.Thread | None = None
        self.gizmo: Any = None
        self.nodes.build(self.puppet.view())
        self._look()
        self._controls()

    # ------------------------------------------------------------ what a user sees
    @property
    def state(self) -> "State":
        """Return the state shown."""
        return self.puppet.state

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return f"http://localhost:{self.server.get_port()}"

    @property
    def message(self) -> str:
        """Return what the last change could not reach, or an empty text."""
        return self.puppet.message

    def move(self, coordinate: str, value: float) -> bool:
        """Bring a coordinate to a value; the loops stay closed. Return whether it was reached."""
        with self._changing():
            return self.puppet.move(coordinate, value)

    def drag(self, end: Any, position: Any) -> bool:
        """Bring a point to a position, or as near as possible; return whether it is there."""
        with self._changing():
            return self.puppet.drag(end, position)

    def change(self, **values: float) -> bool:
        """Give parameters other values; return whether the mechanism closes with them."""
        with self._lock:
            found = self.puppet.change(**values)
            self.nodes.build(self.puppet.view())
            self._add_gizmo()
            self._update()
            return found

    def play(self, run: "Run | None" = None) -> None:
        """Play a run, by default the last one; the slider of time follows."""
        with self._lock:
            self._take_run(run)
            self._playing = self.run is not None
            if self._thread is None and self._playing:
                self._thread = threading.Thread(target=self._animate, daemon=True)
                self._thread.start()

    def pause(self) -> None:
        """Stop playing."""
        self._playing = False

    def seek(self, t: float) -> None:
        """Show the run at a time."""
        if self.run is None:
            raise TreemechError("there is no run to show: mech.live(run=...), or press Simulate.")
        with self._changing():
            k = int(np.argmin(np.abs(self.run.t - t)))
            self.puppet.hold(self.run.state(k))
            if self.time is not None:
                self.time.value = float(self.run.t[k])

    def simulate(self, duration: float) -> None:
        """Simulate from the state shown, and play it."""
        with self._lock:
            state, times = self.state, np.linspace(0.0, duration, max(2, round(duration * FPS) + 1))
            try:
                run = self.puppet.mech.simulate((state.t, state.t + duration), state, t_eval=state.t + times)
            except TreemechError as error:
                self.puppet.message = str(error)
                self._update()
                return
            self.play(run)
            self.puppet.message = "" if run.success else run.message

    def wait(self) -> None:
        """Keep the page alive until Ctrl-C, in a script that would end here."""
        print(f"{self.puppet.mech._info.name} at {self.url}; Ctrl-C ends it")
        try:
            while not self._stop.wait(1.0):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop the server."""
        self._playing = False
        self._stop.set()
        self.server.stop()

    def __repr__(self) -> str:
        return f"LiveView of {self.puppet.mech._info.name!r} at {self.url}"

    # ------------------------------------------------------------ the page
    def _look(self) -> None:
        """Place the camera so that the whole mechanism is seen, and light the scene."""
        assert self.nodes.scene is not None
        scene = self.nodes.scene
        poses = part_poses(scene, scene.frames.t[:1])
        points = np.array(
            [at(poses, Spot(i.part, i.offset))[0] for i in scene.items if i.layer not in HIDDEN]
        )
        centre = 0.5 * (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) if len(points) else np.zeros(3)
        # plane mechanisms in x, y are looked at along z, all others from a corner
        away = np.array([0.6, 0.6, 2.4]) if abs(scene.up[1]) > 0.5 else np.array([1.0, -2.2, 0.8])
        camera = self.server.initial_camera
        camera.look_at, camera.up = tuple(centre), tuple(scene.up)
        camera.position = tuple(centre + 1.25 * scene.size * away / np.linalg.norm(away) * 1.7)

    def _controls(self) -> None:
        gui, puppet = self.server.gui, self.puppet
        self.text = gui.add_markdown("")
        limits = getattr(puppet.mech._wiring, "limits", {})
        with gui.add_folder("Coordinates"):
            for name in puppet.coordinates:
                low, high = self._range(name, limits)
                slider = gui.add_slider(
                    f"{name} [{puppet.unit(name)}]",
                    low,
                    high,
                    (high - low) / FINE,
                    initial_value=puppet.value(name),
                )
                slider.on_update(self._on(partial(self._slid, name)))
                self.sliders[name] = slider
        with gui.add_folder("Drag a point"):
            self.ends = self._ends()
            self.point = gui.add_dropdown("point", ("none", *self.ends), initial_value="none")
            self.point.on_update(self._on(lambda event: self._add_gizmo()))
        if puppet.mech.parameters:
            with gui.add_folder("Parameters"):
                for name, value in puppet.mech.parameters.items():
                    low, high = sorted((value / 3.0, 3.0 * value)) if value else (-1.0, 1.0)
                    knob = gui.add_slider(name, low, high, (high - low) / FINE, initial_value=float(value))
                    knob.on_update(self._on(partial(self._turned, name)))
                    self.knobs[name] = knob
        with gui.add_folder("Run"):
            self.duration = gui.add_number("seconds", 5.0, min=0.01, max=1e4, step=0.1)
            gui.add_button("Simulate").on_click(self._on(lambda event: self.simulate(self.duration.value)))
            self.time: Any = None
            self.playing = gui.add_button("Play / pause")
            self.playing.on_click(self._on(lambda event: self.pause() if self._playing else self.play()))
        self.folder = gui.add_folder("Time")
        self._take_run(self.run)

    def _range(self, name: str, limits: Any) -> tuple[float, float]:
        """Return the ends of a slider: limits of the system, a turn to both sides, or the room of the mechanism."""
        value = self.puppet.value(name)
        hinge, _, rest = name.partition("[")
        known = limits.get((hinge, int(rest[:-1]) if rest else 0))
        assert self.nodes.scene is not None
        reach = np.pi if self.puppet.unit(name) == "rad" else 2.0 * self.nodes.scene.size
        low, high = (-reach, reach) if abs(value) <= reach else (value - reach, value + reach)
        if known is not None:
            low = low if known.lower is None else float(known.lower)
            high = high if known.upper is None else float(known.upper)
        return float(min(low, value)), float(max(high, value))

    def _ends(self) -> dict[str, Any]:
        """Return the points that can be dragged: centres of mass and attachments of the bodies, by name."""
        model, _ = sketch(self.puppet.view())
        found: dict[str, Any] = {}
        bodies = {b.name: b for b in self.puppet.mech.tree.bodies}
        for k, body in enumerate(self.puppet.mech._info.bodies):
            if k == 0:
                continue
            own = bodies[body.name]
            for offset in [*model.attachments[k], *([np.array(body.com)] if body.mass > 0.0 else [])]:
                label = f"{body.name} ({', '.join(f'{x:.3g}' for x in offset)})"
                found.setdefault(label, own.at(tuple(float(x) for x in offset)))
        return found

    # ------------------------------------------------------------ changes by the page
    def _on(self, action: Callable[[Any], Any]) -> Callable[[Any], None]:
        """Return a callback for the page. Errors of the mechanism become its message."""

        def called(event: Any) -> None:
            with self._lock:
                try:
                    action(event)
                except TreemechError as error:
                    self.puppet.message = str(error)
                    self._update()

        return called

    def _slid(self, name: str, event: Any) -> None:
        value = float(event.target.value)
        if value != self.puppet.value(name):  # else it was moved by this view
            self._playing = False
            self.move(name, value)

    def _turned(self, name: str, event: Any) -> None:
        value = float(event.target.value)
        if value != self.puppet.mech.parameters[name]:
            self._playing = False
            self.change(**{name: value})

    def _add_gizmo(self) -> None:
        """Put the handle of the chosen point where the point is."""
        self.gizmo = None
        self.server.scene.remove_by_name("/handle")
        if self.point.value == "none":
            return
        assert self.nodes.scene is not None
        self.gizmo = self.server.scene.add_transform_controls(
            "/handle",
            scale=0.4 * self.nodes.scene.size,
            disable_rotations=True,
            position=tuple(self._grip()),
            depth_test=False,
        )
        self.gizmo.on_update(self._on(lambda event: self._dragged(event.target.position)))

    def _grip(self) -> Any:
        """Return where the chosen point is."""
        return self.puppet.mech.pose(self.ends[self.point.value], self.state).position

    def _dragged(self, position: Any) -> None:
        if np.allclose(position, self._grip(), rtol=0.0, atol=1e-9):
            return  # the handle was moved by this view
        self._playing, self._dragging = False, True  # the handle stays under the pointer, also out of reach
        try:
            self.drag(self.ends[self.point.value], tuple(float(x) for x in position))
        finally:
            self._dragging = False

    # ------------------------------------------------------------ what follows
    @contextmanager
    def _changing(self) -> "Iterator[None]":
        with self._lock:
            yield
            self.nodes.move(self.puppet.view())
            self._update()

    def _update(self) -> None:
        """Show the values of the state in all controls, and the message."""
        for name, slider in self.sliders.items():
            value = self.puppet.value(name)
            if not slider.min <= value <= slider.max:
                slider.min, slider.max = min(slider.min, value), max(slider.max, value)
            slider.value = value
        for name, knob in self.knobs.items():
            knob.value = float(self.puppet.mech.parameters[name])
        if self.gizmo is not None and not self._dragging:
            self.gizmo.position = tuple(self._grip())
        self.text.content = self.puppet.message

    def _take_run(self, run: "Run | None") -> None:
        """Make a run the one that the slider of time shows."""
        if run is not None and (run is not self.run or self.time is None):
            self.run = run
            if self.time is not None:
                self.time.remove()
            start, end = sorted((float(run.t[0]), float(run.t[-1])))
            with self.folder:
                self.time = self.server.gui.add_slider(
                    "t [s]", start, end if end > start else start + 1.0, (end - start) / FINE or 1.0, start
                )
            self.time.on_update(self._on(lambda event: self._timed(event.target.value)))

    def _timed(self, t: float) -> None:
        if t != self.state.t:
            self.seek(t)

    def _animate(self) -> None:
        """Play the run in real time, round and round, until the view is closed."""
        started = time.perf_counter()
        while not self._stop.wait(1.0 / FPS):
            run = self.run
            if not self._playing or run is None:
                started = time.perf_counter() - (0.0 if run is None else self.state.t - float(run.t[0]))
                continue
            span = abs(float(run.t[-1] - run.t[0])) or 1.0
            self.seek(float(min(run.t[0], run.t[-1])) + (time.perf_counter() - started) % span)


def open_live(
    mech: "Mechanism", state: "State | None", run: "Run | None", host: str, port: int, **given: Any
) -> LiveView:
    """Start the server of a live view."""
    return LiveView(mech, state, run, host, port, **given)
