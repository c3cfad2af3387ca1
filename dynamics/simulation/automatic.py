"""method="auto": explicit or implicit, whichever gets further for an evaluation.

A problem is stiff where an implicit method gets further; so from time to time the other one takes a few steps, which count like
all others, and goes on if it was better. If not, the next trial waits twice as long: trials stay a small part
of the whole, and a motion that becomes stiff is noticed before it has cost twice as much.
"""

from typing import Any, Protocol

from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    NOT_CONVERGED,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
    split,
)

from ..integrators import layout as m

_PATIENCE = 100  # steps before the first trial
_TRIAL = 8  # steps in which the other method finds its step size, and as many that are compared
_LOST = (CHAIN_OPEN, NOT_CONVERGED, SINGULAR_POSITION, STEP_TOO_SMALL)


class Memory(Protocol):
    """What this needs of a running integration."""

    control: Any
    count: Any

    @property
    def t(self) -> float: ...
    def use(self, method: str) -> None: ...
    def advance(self, *buffers: Any) -> int: ...


class Automatic:
    """Drives an integration with two methods; `advance` takes the place of its own."""

    def __init__(self, run: Memory, methods: tuple[str, str] = ("DOP853", "Radau")) -> None:
        self.run, self.methods = run, methods
        self.now, self.trial, self.patience = 0, False, _PATIENCE
        self.switched: list[tuple[float, str]] = []
        self.rate = 0.0  # time per evaluation of the method on trial against
        self.steps = [0.0, 0.0]  # size of the last step of each
        run.use(methods[0])
        self._mark(0, _PATIENCE)

    def place(self) -> dict[str, Any]:
        """Where it stands, as JSON can hold it."""
        return {
            "now": self.now, "trial": self.trial, "patience": self.patience, "rate": self.rate,
            "switched": [list(s) for s in self.switched], "steps": list(self.steps), "settle": self.settle,
            "left": self.left, "t": self.t, "evaluations": self.evaluations,
        }  # fmt: skip

    def resume(self, place: dict[str, Any]) -> None:
        """Go on from there."""
        vars(self).update(place)
        self.steps = list(place["steps"])
        self.switched = [(float(t), str(name)) for t, name in place["switched"]]

    def _mark(self, settle: int, count: int) -> None:
        """Compare `count` steps after `settle` more."""
        self.settle, self.left = settle, count
        self.t, self.evaluations = self.run.t, int(self.run.count[m.EVALUATIONS])

    def _use(self, other: int) -> None:
        control = self.run.control
        self.steps[self.now] = float(control[m.STEP])
        self.now = other
        self.run.use(self.methods[other])
        if self.methods[other] != "Radau" and self.steps[other] * control[m.STEP] > 0.0:
            control[m.STEP] = self.steps[other]

    def advance(self, *buffers: Any) -> int:
        """As the integration's own, up to the next decision; the last of the arguments is the budget of steps."""
        before = int(self.run.count[m.STEPS])
        status = self.run.advance(*buffers[:-1], min(buffers[-1], self.settle or self.left))
        done = int(self.run.count[m.STEPS]) - before
        if split(status)[0] in _LOST and (self.trial or self.methods[self.now] == "Radau"):
            self._back()
            return PAUSED
        if self.settle:
            self.settle -= done
            if self.settle <= 0:
                self._mark(0, self.left)
        else:
            self.left -= done
            if self.left <= 0 and status == PAUSED:
                self._decide()
        return status

    def _back(self) -> None:
        """The method at work cannot go on here: the other one goes on, for longer."""
        if not self.trial:
            self.switched.append((self.run.t, self.methods[1 - self.now]))
        self.trial, self.patience = False, 2 * self.patience
        self._use(1 - self.now)
        self._mark(self.patience - min(self.patience, _PATIENCE), _PATIENCE)

    def _decide(self) -> None:
        rate = abs(self.run.t - self.t) / max(int(self.run.count[m.EVALUATIONS]) - self.evaluations, 1)
        if not self.trial:
            self.trial, self.rate = True, rate
            self._use(1 - self.now)
            self._mark(_TRIAL, _TRIAL)
        elif rate > self.rate:
            self.trial, self.patience = False, _PATIENCE
            self.switched.append((self.run.t, self.methods[self.now]))
            self._mark(0, _PATIENCE)
        else:
            self._back()
