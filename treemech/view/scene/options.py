"""Options of `run.animate`, `run.show` and `mech.show`, checked by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from treemech.topology import TreemechError, unknown

SHOWN = ("forces", "moments", "loads", "com", "velocity", "frames", "names", "traces")
SHORTEST = 1.5  # seconds that a motion is shown, at least
VIEWS = ("auto", "front", "back", "left", "right", "top", "bottom", "corner")


@dataclass(frozen=True)
class Options:
    """What a page or a film shows.

    Parameters
    ----------
    show : names out of forces, moments (of the connections), loads (of elements), com, velocity, frames, names, traces
        What is shown from the start; a page offers all of them.
    traces : bodies, attachments, or pairs (body, offset)
        Points whose paths are shown.
    signals : names, "A.q", "spring.effort", "energy.total", or of measures
        Curves of the strip chart; a page offers the usual ones.
    colors : {body: "#rrggbb"}
    view : "auto", "front", "back", "left", "right", "top", "bottom" or "corner"
    follow : name of a body that the camera follows
    theme : "auto" (that of the browser), "light" or "dark"
    floor : height of the floor against gravity [m], False for none, None: where the model says, or below everything
    speed : seconds of the motion per second; None: 1, less for motions that would be over at once
    size, fps : of a film: pixels (width, height), frames per second
    max_frames : frames of a page, at most
    """

    show: Sequence[str] = ()
    traces: Sequence[Any] = ()
    signals: Sequence[str] = ()
    colors: Mapping[str, str] = field(default_factory=dict)
    view: str = "auto"
    follow: str | None = None
    theme: str = "auto"
    floor: float | bool | None = None
    speed: float | None = None
    size: tuple[int, int] = (960, 640)
    fps: float = 25.0
    max_frames: int = 2000

    @classmethod
    def of(cls, given: Mapping[str, Any], what: str) -> "Options":
        """Return options from keyword arguments; `what` starts messages: "run.animate"."""
        names = [f.name for f in fields(cls)]
        for name in given:
            if name not in names:
                raise TreemechError(f"{what}: {unknown('option', name, names)}")
        values = dict(given)
        for name in ("show", "signals"):
            if isinstance(values.get(name), str):
                values[name] = (values[name],)
        if isinstance(values.get("traces"), str) or hasattr(values.get("traces"), "offset"):
            values["traces"] = (values["traces"],)
        options = cls(**values)
        options.check(what)
        return options

    def pace(self, duration: float) -> float:
        """Return how fast a motion is shown: the given speed, or 1 unless it would last less than `SHORTEST`.

        >>> Options().pace(10.0), Options().pace(0.18), Options(speed=2.0).pace(0.18)
        (1.0, 0.1, 2.0)
        """
        if self.speed is not None:
            return float(self.speed)
        steps = (k * 10.0**-n for n in range(1, 7) for k in (5.0, 2.0, 1.0))
        return next((s for s in (1.0, *steps) if not 0.0 < duration < s * SHORTEST), 1.0)

    def check(self, what: str) -> None:
        for name in self.show:
            if name not in SHOWN:
                raise TreemechError(
                    f"{what}: show={list(self.show)}: {unknown('kind of picture', name, SHOWN)}"
                )
        if self.view not in VIEWS:
            raise TreemechError(f"{what}: {unknown('view', self.view, VIEWS)}")
        if self.theme not in ("auto", "light", "dark"):
            raise TreemechError(f"{what}: {unknown('theme', self.theme, ('auto', 'light', 'dark'))}")
        for body, colour in self.colors.items():
            if not (isinstance(colour, str) and re.fullmatch("#[0-9a-fA-F]{6}", colour)):
                raise TreemechError(f"{what}: the colour of {body!r} is {colour!r}; wanted '#rrggbb'.")
        for name in ("speed", "fps"):
            value = getattr(self, name)
            if value is None and name == "speed":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < 1e4:
                raise TreemechError(f"{what}: {name} is {value!r}; wanted a positive number.")
        if len(self.size) != 2 or not all(16 <= int(x) <= 8192 for x in self.size):
            raise TreemechError(
                f"{what}: size is {self.size!r}; wanted (width, height) in pixels, 16 to 8192."
            )
        if not isinstance(self.max_frames, int) or self.max_frames < 2:
            raise TreemechError(
                f"{what}: max_frames is {self.max_frames!r}; wanted a whole number, 2 or more."
            )
