"""treemech: kinematics and dynamics of multibody systems with arbitrary connections, after E. J. Sol (1983)."""

import os as _os
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

_here = _os.path.dirname(__file__)
if not _os.path.isdir(f"{_here}/topology"):  # a checkout without links: the folders stand beside this one
    __path__.append(_os.path.dirname(_here))

__version__ = "0.1.0"
try:  # what was installed by a wheel knows the tag or commit it was built from (setup.py)
    from ._version import version as __version__  # type: ignore[no-redef]
except ImportError:
    pass

# name -> module it comes from, loaded on first use, so that the import itself costs nothing; all others are elements
_NAMES = {
    "System": "system",
    "Mechanism": "mechanism",
    "State": "results.state",
    "Run": "results.run",
    "Event": "simulation.events",
    "Impact": "simulation.impact",
    "Composite": "description.composite",
    "read": "files.read",
    "Parameter": "topology.parameter",
    "Experiment": "design.experiment",
    "Objective": "design.objective",
    "design_study": "design.study",
    "sample": "design.sampling",
    "sweep": "many.sweep",
    "sobol_indices": "many.sweep",
    "compare": "comparison",
    "fit": "fitting.fit",
    "Measurement": "fitting.measurement",
    "inertial_parameters": "fitting.inertia",
    "Trajectory": "trajectory.problem",
    "check": "elements.check.checks",
    "planar_inertia": "topology.body",
    "solids": "topology.solids",
    "examples": "examples",
    "TreemechError": "topology",
    "TopologyError": "topology",
    "ElementError": "topology",
    "SingularError": "topology",
    "ConvergenceError": "topology",
    "ElementCompileWarning": "elements.compilation.explain",
}
if _typing.TYPE_CHECKING:
    from treemech.elements import *  # noqa: F403
    from treemech.elements.check.checks import check as check
    from treemech.elements.compilation.explain import ElementCompileWarning as ElementCompileWarning
    from treemech.topology import ConvergenceError as ConvergenceError
    from treemech.topology import ElementError as ElementError
    from treemech.topology import SingularError as SingularError
    from treemech.topology import TopologyError as TopologyError
    from treemech.topology import TreemechError as TreemechError
    from treemech.topology import solids as solids
    from treemech.topology.body import planar_inertia as planar_inertia
    from treemech.topology.parameter import Parameter as Parameter

    from . import examples as examples
    from .comparison import compare as compare
    from .description.composite import Composite as Composite
    from .design.experiment import Experiment as Experiment
    from .design.objective import Objective as Objective
    from .design.sampling import sample as sample
    from .design.study import design_study as design_study
    from .files.read import read as read
    from .fitting.fit import fit as fit
    from .fitting.inertia import inertial_parameters as inertial_parameters
    from .fitting.measurement import Measurement as Measurement
    from .many.sweep import sobol_indices as sobol_indices
    from .many.sweep import sweep as sweep
    from .mechanism import Mechanism as Mechanism
    from .results.run import Run as Run
    from .results.state import State as State
    from .simulation.events import Event as Event
    from .simulation.impact import Impact as Impact
    from .system import System as System
    from .trajectory.problem import Trajectory as Trajectory


def _elements() -> list[str]:
    return [name for name in _import_module(".elements", __name__).__all__ if not name.isupper()]


def __getattr__(name: str) -> _typing.Any:
    if name == "__all__":
        return sorted([*_NAMES, *_elements(), "__version__"])
    if name not in _NAMES and (name.startswith("_") or name not in _elements()):
        alike = [n for n in _elements() if n.lower() in name.lower() or name.lower() in n.lower()]
        hint = (
            f"; there {'is' if len(alike) == 1 else 'are'} {', '.join(alike[:6])}"
            if alike and not name.startswith("_")
            else ""
        )
        raise AttributeError(
            f"module 'treemech' has no attribute {name!r}{hint}", name=name, obj=_sys.modules[__name__]
        )
    source = _NAMES.get(name, "elements")
    module = _import_module(f".{source}", __name__)
    value = module if source.split(".")[-1] == name and not hasattr(module, name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names alone: modules that were loaded on the way are not offered."""
    return sorted({*__getattr__("__all__"), *(name for name in globals() if name.startswith("__"))})
