"""method="auto": explicit or implicit, whichever gets further per evaluation.

A problem is stiff where an implicit method gets further. So from time to time the other method takes a few
steps, which count like all others, and continues if it was better. If not, the next trial waits twice as
long: trials stay a small part of the whole, and a motion that becomes stiff is noticed before it has cost
twice as much.
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
_TRIAL = 8  # steps in which the other method finds its step size, then as many that are compared
_LOST = (CHAIN_OPEN, NOT_CONVERGED, SINGULAR_POSITION, STEP_TOO_SMALL)


class Memory(Protocol):
    """Part of a running integration that is needed here."""

    control: Any
    count: Any

    @property
    def t(self) -> float: ...
    def use(self, method: str) -> None: ...
    def advance(self, *buffers: Any) -> int: ...


class Automatic:
    """Integration with two methods; `advance` replaces that of the integrator."""

    def __init__(self, run: Memory, methods: tuple[str, str] = ("DOP853", "Radau")) -> None:
        self.run, self.methods = run, methods
        self.now, self.trial, self.patience = 0, False, _PATIENCE
        self.switched: list[tuple[float, str]] = []
        self.rate = 0.0  # time per evaluation of the method that the trial is compared with
        self.steps = [0.0, 0.0]  # last step size of each method
        run.use(methods[0])
        self._mark(0, _PATIENCE)

    def place(self) -> dict[str, Any]:
        """Return its state in a form for JSON."""
        return {
            "now": self.now, "trial": self.trial, "patience": self.patience, "rate": self.rate,
            "switched": [list(s) for s in self.switched], "steps": list(self.steps), "settle": self.settle,
            "left": self.left, "t": self.t, "evaluations": self.evaluations,
        }  # fmt: skip

    def resume(self, place: dict[str, Any]) -> None:
        """Continue from a state of `place`."""
        vars(self).update(place)
        self.steps = list(place["steps"])
        self.switched = [(float(t), str(name)) for t, name in place["switched"]]

    def _mark(self, settle: int, count: int) -> None:
        """Start a comparison: `settle` steps to find the step size, then `count` steps that are compared."""
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
        """Advance as the integrator does, up to the next decision.

        The last argument is the budget of steps.
        """
        before = int(self.run.count[m.STEPS])
        status = self.run.advance(*buffers[:-1], min(buffers[-1], self.settle or self.left))
        done = int(self.run.count[m.STEPS]) - before
        if split(status)[0] in _LOST and (self.trial or self.methods[self.now] == "Radau"):
            self._back()
            self.run.count[m.STARTED] = 0  # rates and pivots are those of the step that failed
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
        """Return to the other method, for longer: the present one failed or was not better."""
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
