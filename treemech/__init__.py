"""treemech: kinematics and dynamics of multibody systems with arbitrary connections, after E. J. Sol (1983)."""

from importlib import import_module
from pathlib import Path as _Path
from sys import modules
from typing import TYPE_CHECKING, Any

_here = _Path(__file__).parent
if not (_here / "topology").is_dir():  # a checkout without links: the folders stand beside this one
    __path__.append(str(_here.parent))

__version__ = "0.1.0"

# name -> module it comes from, loaded on first use, so that the import itself costs nothing; all others are elements
_NAMES = {
    "System": "system",
    "Mechanism": "mechanism",
    "State": "state",
    "Run": "run",
    "Event": "events",
    "Impact": "impact",
    "Composite": "composite",
    "read": "files",
    "Parameter": "topology.parameter",
    "Experiment": "experiment",
    "Objective": "objective",
    "design_study": "designs",
    "check": "elements.check",
    "solids": "topology.solids",
    "TreemechError": "topology",
    "TopologyError": "topology",
    "ElementError": "topology",
    "SingularError": "topology",
    "ConvergenceError": "topology",
    "ElementCompileWarning": "elements.entry",
}
if TYPE_CHECKING:
    from .composite import Composite as Composite
    from .designs import design_study as design_study
    from .elements import *  # noqa: F403
    from .elements.check import check as check
    from .elements.entry import ElementCompileWarning as ElementCompileWarning
    from .events import Event as Event
    from .experiment import Experiment as Experiment
    from .files import read as read
    from .impact import Impact as Impact
    from .mechanism import Mechanism as Mechanism
    from .objective import Objective as Objective
    from .run import Run as Run
    from .state import State as State
    from .system import System as System
    from .topology import ConvergenceError as ConvergenceError
    from .topology import ElementError as ElementError
    from .topology import SingularError as SingularError
    from .topology import TopologyError as TopologyError
    from .topology import TreemechError as TreemechError
    from .topology import solids as solids
    from .topology.parameter import Parameter as Parameter


def _elements() -> list[str]:
    return [name for name in import_module(".elements", __name__).__all__ if not name.isupper()]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted([*_NAMES, *_elements(), "__version__"])
    if name not in _NAMES and (name.startswith("_") or name not in _elements()):
        raise AttributeError(f"module 'treemech' has no attribute {name!r}", name=name, obj=modules[__name__])
    source = _NAMES.get(name, "elements")
    module = import_module(f".{source}", __name__)
    value = module if source.endswith("." + name) and not hasattr(module, name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_elements()})
